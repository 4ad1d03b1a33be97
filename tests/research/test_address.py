"""The address guard: every notation of every closed address, and what stays open."""

from __future__ import annotations

import ipaddress
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from research.address import (
    AddressError,
    checked_addresses,
    checked_target,
    is_public,
    literal_address,
    split_allowed,
)

CLOSED = [
    # loopback, this host, unspecified, in every notation a resolver takes
    "127.0.0.1", "127.1", "127.0.1", "127.255.255.254", "0x7f.0.0.1", "0x7f000001", "2130706433", "0177.0.0.1",
    "017700000001",
    "0x7f.1", "127.0x0.0.01", "0", "0.0.0.0", "0x0", "127.0.0.1.", "１２７.0.0.1", "127。0。0。1",
    # private, shared, link-local, metadata
    "10.0.0.1", "10.1", "167772161", "172.16.0.1", "172.31.255.255", "192.168.0.1", "192.168.257", "0xc0a80001",
    "100.64.0.1",
    "100.127.255.255", "100.100.100.200", "169.254.169.254", "0xa9fea9fe", "2852039166", "168.63.129.16",
    "192.0.0.192",
    # documentation, benchmarks, relays, multicast, reserved, broadcast
    "192.0.2.1", "198.51.100.7", "203.0.113.9", "198.18.0.1", "198.19.255.255", "192.88.99.1", "224.0.0.1",
    "239.1.2.3",
    "240.0.0.1", "255.255.255.255",
    # IPv6
    "[::]", "[::1]", "[0:0:0:0:0:0:0:1]", "[fe80::1]", "[febf::1]", "[fec0::1]", "[fc00::1]", "[fd00:ec2::254]",
    "[ff02::1]",
    "[2001:db8::1]", "[3fff::1]", "[100::1]", "[5f00::1]", "[2001::1]", "[2001:10::1]", "[2001:20::1]",
    # IPv4 inside of IPv6
    "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "[::ffff:10.0.0.1]", "[::ffff:a9fe:a9fe]", "[::127.0.0.1]", "[::7f00:1]",
    "[64:ff9b::127.0.0.1]", "[64:ff9b::a00:1]", "[64:ff9b:1::a00:1]", "[2002:7f00:1::]", "[2002:a00:1::1]",
    "[2002:c0a8:1::1]",
    "[2001:0:4136:e378:8000:63bf:3fff:fdd2]", "[2606:4700::5efe:10.0.0.1]", "[2606:4700::200:5efe:a00:1]",
]  # fmt: skip


@pytest.mark.parametrize("host", CLOSED)
@pytest.mark.parametrize("form", ["http://{}/", "https://{}:8443/x?y=1"])
def test_a_closed_address_is_refused_in_every_notation(host: str, form: str) -> None:
    with pytest.raises(AddressError):
        checked_target(form.format(host))


OPEN = ["8.8.8.8", "1.1.1.1", "172.15.255.255", "172.32.0.1", "192.169.0.1", "100.63.255.255", "100.128.0.1",
        "11.0.0.1", "[2606:4700:4700::1111]", "[2a00:1450:4001::1]", "[::ffff:8.8.8.8]", "[64:ff9b::808:808]",
        "[2002:808:808::1]",
        "www.postfix.org", "bücher.example.org", "a-b.example.com", "xn--bcher-kva.example.org",
        "_dmarc.example.org"]  # fmt: skip


@pytest.mark.parametrize("host", OPEN)
def test_a_public_host_passes_the_first_look(host: str) -> None:
    target = checked_target(f"https://{host}/page")
    assert (target.scheme, target.port, target.allowed) == ("https", 443, False)


@pytest.mark.parametrize(
    "url",
    [
        "ftp://example.org/", "file:///etc/passwd", "gopher://example.org/", "javascript:alert(1)",
        "library:x/y.html",
        "data:text/html,x", "//example.org/", "example.org", "", "http://", "http:///x", "http://?x",
        "HTTP://user@example.org/",
        "http://user:secret@example.org/", "http://@example.org/", "http://example.org:22/",
        "http://example.org:25/x",
        "http://example.org:6379/", "http://example.org:0/", "http://example.org:99999/", "http://example.org:8a/",
        "http://example.org:8081/", "http://localhost/", "http://LOCALHOST:8080/", "http://a.localhost/",
        "http://printer/",
        "http://wiki.local/", "http://srv.firma.lan/", "http://x.corp/", "http://metadata.google.internal/",
        "http://a.intranet/",
        "http://exa mple.org/", "http://example.org/\r\nHost: x", "http://example.org\\@evil.org/",
        "http://example.org/\x00",
        "http://[fe80::1%25eth0]/", "http://[::1/", "http://1.2.3.4.5/", "http://256.1.1.1/",
        "http://0x1ffffffff/", "http://09.1.1.1/", "http://-a.example.org/", "http://a..example.org/",
        "http://" + "a" * 64 + ".org/",
        "http://" + "a." * 140 + "org/", "http://ex%61mple.org/",
        "http://example.org/" + "x" * 9000, "http://\u2024example.org/",
        "http://xn--a.example.org\u0000/", "http://example.123/",
    ],
)  # fmt: skip
def test_what_is_no_public_page_is_refused(url: str) -> None:
    with pytest.raises(AddressError):
        checked_target(url)


def test_allowed_hosts_open_themselves_and_nothing_else() -> None:
    allowed = split_allowed(["wiki.firma.lan", "127.0.0.1:8123", "[::1]:9000", "Bücher.example:81"])
    for url in (
        "http://wiki.firma.lan/x", "https://WIKI.firma.lan./", "http://wiki.firma.lan:8080/",
        "http://127.0.0.1:8123/a",
        "http://127.1:8123/", "http://[::1]:9000/", "http://bücher.example:81/",
    ):  # fmt: skip
        assert checked_target(url, allowed).allowed, url
    for url in (
        "http://wiki.firma.lan:22/", "http://x.wiki.firma.lan/", "http://firma.lan/", "http://127.0.0.1/",
        "http://127.0.0.1:8124/", "http://127.0.0.2:8123/", "http://localhost:8123/", "http://[::1]:9001/",
        "ftp://wiki.firma.lan/", "http://me@wiki.firma.lan/",
    ):  # fmt: skip
        with pytest.raises(AddressError):
            checked_target(url, allowed)


@pytest.mark.parametrize(
    "entry", ["", " ", "http://wiki", "a b", "host:", "host:0", "host:70000", "me@host", "::1", "host:80:90", "a..b"]
)
def test_an_entry_that_is_no_host_is_refused(entry: str) -> None:
    with pytest.raises(ValueError):
        split_allowed([entry])


class Answers:
    """A resolver that gives what it is told, and counts."""

    def __init__(self, *rounds: Sequence[str]) -> None:
        self.rounds = list(rounds)
        self.asked: list[tuple[str, int]] = []

    async def resolve(self, host: str, port: int) -> Sequence[str]:
        self.asked.append((host, port))
        return self.rounds.pop(0)


async def test_a_name_is_resolved_once_and_all_its_addresses_are_looked_at() -> None:
    target = checked_target("https://pages.example.org/x")
    good = Answers(["93.184.216.34", "2606:2800:220:1::1"])
    assert await checked_addresses(target, good) == ("93.184.216.34", "2606:2800:220:1::1")
    assert good.asked == [("pages.example.org", 443)]
    for mixed in (["93.184.216.34", "10.0.0.5"], ["::ffff:127.0.0.1"], ["169.254.169.254"], ["fd00::1", "8.8.8.8"]):
        with pytest.raises(AddressError):
            await checked_addresses(target, Answers(mixed))
    with pytest.raises(OSError):
        await checked_addresses(target, Answers([]))


async def test_a_literal_address_asks_no_resolver_and_an_allowed_name_may_be_private() -> None:
    nobody = Answers()
    assert await checked_addresses(checked_target("http://8.8.8.8/"), nobody) == ("8.8.8.8",)
    assert nobody.asked == []
    wiki = checked_target("http://wiki.firma.lan/", split_allowed(["wiki.firma.lan"]))
    assert await checked_addresses(wiki, Answers(["192.168.3.4"])) == ("192.168.3.4",)


@given(st.integers(0, 2**32 - 1))
def test_every_spelling_of_an_address_is_the_same_address(value: int) -> None:
    address = ipaddress.IPv4Address(value)
    a, b, c, d = address.packed
    spellings = [
        str(address), str(value), hex(value), f"0{value:o}", f"{a}.{value & 0xFFFFFF}", f"{a}.{b}.{value & 0xFFFF}",
        f"0x{a:x}.0{b:o}.{c}.0x{d:02x}",
    ]  # fmt: skip
    assert {literal_address(text) for text in spellings} == {address}


@given(st.ip_addresses(v=4))
def test_open_ipv4_is_what_the_registry_calls_global(address: ipaddress.IPv4Address) -> None:
    if is_public(address):
        assert address.is_global and not address.is_multicast
    for inner in (f"::ffff:{address}", f"64:ff9b::{address}"):
        assert is_public(ipaddress.IPv6Address(inner)) is is_public(address)


@given(st.ip_addresses(v=6))
def test_open_ipv6_is_what_the_registry_calls_global(address: ipaddress.IPv6Address) -> None:
    if is_public(address) and address in ipaddress.ip_network("2000::/3"):
        assert not (address.is_private or address.is_multicast or address.is_link_local or address.is_reserved)


@given(st.text(max_size=60))
def test_any_text_is_a_target_or_a_refusal(text: str) -> None:
    for url in (text, "http://" + text, "http://example.org" + text):
        try:
            target = checked_target(url)
        except AddressError:
            continue
        assert target.scheme in {"http", "https"} and target.host and target.port in {80, 443, 8080, 8443}
