"""A reader who looks for a secret in what was sent, and a writer who hides one; neither knows the guard.

Nothing of the program is imported here: what the guard overlooks must not be overlooked by its judge for the
same reason. Everything is drawn from a `random.Random`, so that a number repeats a case.
"""

from __future__ import annotations

import base64
import html
import ipaddress
import quopri
import re
import string
import unicodedata
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from random import Random
from urllib.parse import quote, unquote_plus

__all__ = ["NAMES", "SUFFIXES", "Secret", "hidden", "pieces", "reveals", "secret"]

NAMES = (
    "Mustermann", "Jörg Großkopf", "Nordlicht", "Müller-Lüdenscheidt", "Çelik", "Nguyễn Văn An", "Łukasz Wójcik",
    "Søren Ærø", "Иванова", "Щербаков", "Παπαδόπουλος", "王小明", "佐藤花子", "김민준", "محمد عبدالله", "שרה לוי",
    "प्रिया", "สมชาย", "გიორგი", "Արամ", "O'Brien", "van der Bellen", "Projekt Kranich",
)  # fmt: skip
SUFFIXES = ("firma.de", "muster.example")
_CROCKFORD = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"


@dataclass(frozen=True)
class Secret:
    kind: str
    text: str


def _word(rng: Random, low: int = 4, high: int = 9) -> str:
    return "".join(
        rng.choice("bcdfghklmnprstvwz") + rng.choice("aeiou") for _ in range(rng.randint(low, high) // 2 + 1)
    )


def _hex(rng: Random, count: int) -> str:
    return (
        "".join(rng.choice("0123456789abcdef") for _ in range(count - 2))
        + rng.choice("abcdef")
        + rng.choice("0123456789")
    )


def _ulid(rng: Random) -> str:
    return "0" + rng.choice("1234567") + "".join(rng.choice(_CROCKFORD) for _ in range(24))


def secret(rng: Random) -> Secret:
    """Return one secret of a kind of spec 04, rules 2 to 4."""
    tld = rng.choice((".de", ".example.com", "-ag.ch", ".co.at"))
    inside = rng.choice(("local", "lan", "corp", "internal", "intranet", *SUFFIXES))
    byte, some = (lambda: rng.randint(1, 254)), (lambda low, high: str(rng.randint(low, high)))
    network = rng.choice((f"10.{byte()}", f"192.168.{byte()}", f"172.{rng.randint(16, 31)}", f"169.254.{byte()}"))
    makers: dict[str, Callable[[], str]] = {
        "node id": lambda: f"{rng.choice('nneat')}_{_ulid(rng)}",
        "hash": lambda: _hex(rng, rng.choice((20, 32, 40, 56, 64))),
        "uuid": lambda: "-".join(_hex(rng, n) for n in (8, 4, 4, 4, 12)),
        "mail": lambda: f"{_word(rng)}.{_word(rng)}@{_word(rng)}{tld}",
        "ipv4": lambda: ".".join([*network.split("."), *(str(byte()) for _ in range(3 - network.count(".")))]),
        "ipv6": lambda: str(ipaddress.IPv6Address((rng.choice((0xFD00, 0xFE80)) << 112) + rng.getrandbits(64))),
        "mac": lambda: rng.choice(":-").join(f"{byte():02x}" for _ in range(6)),
        "unc": lambda: rf"\\{_word(rng)}-{rng.randint(1, 9)}\{_word(rng)}",
        "account": lambda: rf"{_word(rng).upper()}\{_word(rng)}",
        "host": lambda: f"{_word(rng)}-{rng.randint(1, 99):02d}.{_word(rng)}.{inside}",
        "ticket": lambda: rng.choice(("INC", "#", "TICKET-", "SR-2025-", "OPS-")) + some(10**5, 10**7),
        "phone": lambda: rng.choice(("+49 30 ", "0171/", "+43 1 ", "0049 221 ", "(030) ")) + some(10**5, 10**7),
        "name": lambda: rng.choice(NAMES),
    }
    kind = rng.choice(list(makers))
    return Secret(kind, makers[kind]())


# -- hiding -------------------------------------------------------------------------------------------------------

_INVISIBLE = "\u200b\u200c\u200d\u2060\ufeff\u00ad\u034f\u180e\u061c\ufe0f\u2064\u200e\U000e0041"
_MARKS = "\u0300\u0301\u0332\u0336\u0338\u20dd\u0489"
_CYRILLIC = str.maketrans("aeopcxyisjABEKMHOPCTX", "аеорсхуіѕјАВЕКМНОРСТХ")
_GREEK = str.maketrans("ovABEZHIKMNOPTYX", "ονΑΒΕΖΗΙΚΜΝΟΡΤΥΧ")
_ENTITIES = {".": "&period;", "@": "&commat;", "-": "&hyphen;", "_": "&lowbar;", ":": "&colon;", "#": "&num;"}


def _mathematical(text: str, first_capital: int, first_small: int, first_digit: int | None) -> str:
    def of(char: str) -> str:
        if char in string.ascii_uppercase:
            return chr(first_capital + ord(char) - 65)
        if char in string.ascii_lowercase:
            return chr(first_small + ord(char) - 97)
        return chr(first_digit + int(char)) if first_digit and char in string.digits else char

    return "".join(map(of, text))


def _some(rng: Random, text: str, change: Callable[[str], str], share: float) -> str:
    return "".join(change(char) if rng.random() < share else char for char in text)


def _percent(char: str) -> str:
    return "".join(f"%{byte:02X}" for byte in char.encode())


WRITINGS: dict[str, Callable[[Random, str], str]] = {
    "plain": lambda _, s: s,
    "upper": lambda _, s: s.upper(),
    "lower": lambda _, s: s.lower(),
    "mixed case": lambda rng, s: _some(rng, s, str.swapcase, 0.5),
    "percent": lambda _, s: quote(s, safe=""),
    "percent, every byte": lambda _, s: "".join(map(_percent, s)),
    "percent, some": lambda rng, s: _some(rng, s, _percent, 0.3),
    "percent twice": lambda _, s: quote("".join(map(_percent, s)), safe=""),
    "decimal entities": lambda rng, s: _some(rng, s, lambda c: f"&#{ord(c)};", rng.choice((0.3, 1.0))),
    "hexadecimal entities": lambda rng, s: _some(rng, s, lambda c: f"&#x{ord(c):X};", rng.choice((0.3, 1.0))),
    "named entities": lambda _, s: "".join(_ENTITIES.get(c, c) for c in s),
    "entities twice": lambda _, s: html.escape("".join(f"&#{ord(c)};" for c in s)),
    "escapes": lambda _, s: "".join(f"\\u{ord(c):04x}" if ord(c) < 0x10000 else c for c in s),
    "invisible between": lambda rng, s: "".join(c + rng.choice(_INVISIBLE) for c in s),
    "invisible somewhere": lambda rng, s: _some(rng, s, lambda c: c + rng.choice(_INVISIBLE), 0.3),
    "soft hyphens": lambda _, s: "\u00ad".join(s),
    "full width": lambda _, s: "".join(chr(ord(c) + 0xFEE0) if "!" <= c <= "~" else c for c in s),
    "Cyrillic letters": lambda _, s: s.translate(_CYRILLIC),
    "Greek letters": lambda _, s: s.translate(_GREEK),
    "combining marks": lambda rng, s: "".join(c + rng.choice(_MARKS) if c.isalnum() else c for c in s),
    "bold": lambda _, s: _mathematical(s, 0x1D400, 0x1D41A, 0x1D7CE),
    "monospace": lambda _, s: _mathematical(s, 0x1D670, 0x1D68A, 0x1D7F6),
    "circled": lambda _, s: _mathematical(s, 0x24B6, 0x24D0, None),
    "decomposed": lambda _, s: unicodedata.normalize("NFD", s),
    "bidirectional": lambda _, s: f"\u202e{s}\u202c",
    "base64": lambda _, s: base64.b64encode(s.encode()).decode(),
    "base64 for URLs": lambda _, s: base64.urlsafe_b64encode(s.encode()).decode().rstrip("="),
    "base32": lambda _, s: base64.b32encode(s.encode()).decode(),
    "hexadecimal": lambda _, s: s.encode().hex(),
    "quoted printable": lambda _, s: "".join(f"={byte:02X}" for byte in s.encode()),
    "spaced out": lambda _, s: " ".join(s.replace(" ", "")),
    "dashed out": lambda _, s: "-".join(s.replace(" ", "")) if s.isalnum() or "_" in s else s,
    "in quotes": lambda _, s: f'"{s}"',
    "in brackets": lambda rng, s: rng.choice(("({})", "[{}],", "<{}>", "{{{}}}", "`{}`", "»{}«", "„{}“")).format(s),
    "as a value": lambda rng, s: rng.choice(("id={}", "q={}&x=1", "host:{}", '{{"a":"{}"}}', "ref/{}")).format(s),
    "in an address": lambda _, s: f"https://search.example.org/?q={quote(s, safe='')}&p=1",
    "non-breaking": lambda _, s: s.replace(" ", "\u00a0").replace("-", "\u2011"),
    "defanged": lambda _, s: s.replace(".", "[.]").replace("@", "[at]"),
}  # fmt: skip
_LAST = frozenset({"in quotes", "in brackets", "as a value", "in an address", "bidirectional"})
"""Writings that may follow another one; two encodings of the rest upon each other are no text that anybody types."""


def hidden(rng: Random, what: Secret) -> tuple[str, str]:
    """Return a writing of the secret, and what was done to it."""
    names = [rng.choice(list(WRITINGS))]
    if names[0] not in _LAST and rng.random() < 0.3:
        names.append(rng.choice(sorted(_LAST)))
    text = what.text
    for name in names:
        text = WRITINGS[name](rng, text)
    return text, ", ".join(names)


# -- reading ------------------------------------------------------------------------------------------------------

_LOOKS = {**{ord(b): a for a, b in zip("aeopcxyisjABEKMHOPCTX", "аеорсхуіѕјАВЕКМНОРСТХ", strict=True)},
          **{ord(b): a for a, b in zip("ovABEZHIKMNOPTYX", "ονΑΒΕΖΗΙΚΜΝΟΡΤΥΧ", strict=True)}}  # fmt: skip


def _bare(text: str, *, latin: bool) -> str:
    """Return letters and digits alone, case and accents folded; `latin` reads lookalikes as Latin ones."""
    plain = unicodedata.normalize("NFKC", text)
    if latin:
        plain = plain.translate(_LOOKS)
    plain = unicodedata.normalize("NFD", plain.casefold())
    return "".join(c for c in plain if c.isalnum())


def _readings(sent: str) -> Iterator[str]:
    """Yield what somebody reads who undoes every encoding that there is, again and again."""
    seen = {sent}
    todo = [sent]
    while todo:
        text = todo.pop()
        yield text
        found = [unquote_plus(text), html.unescape(text), quopri.decodestring(text.encode()).decode("utf-8", "replace")]
        found.append(re.sub(r"\\u([0-9a-fA-F]{4})", lambda m: chr(int(m[1], 16)), text))
        found.append(unicodedata.normalize("NFKC", text))
        for token in re.findall(r"[A-Za-z0-9+/_=-]{6,}", text):
            for decode in (base64.urlsafe_b64decode, base64.b64decode, base64.b32decode, base64.b16decode):
                try:
                    found.append(decode(token.rstrip("=") + "=" * (-len(token.rstrip("=")) % 8)).decode())
                except ValueError:
                    continue
            try:
                found.append(bytes.fromhex(token).decode())
            except ValueError:
                continue
        for reading in found:
            if reading not in seen and len(seen) < 60:
                seen.add(reading)
                todo.append(reading)


def pieces(what: Secret) -> set[str]:
    """Return every run of letters and digits that gives the secret away: seven tenths of it, six signs at least."""
    runs = set()
    for latin in (False, True):
        whole = _bare(what.text.split("_", 1)[-1] if what.kind == "node id" else what.text, latin=latin)
        size = max(min(6, len(whole)), -(-len(whole) * 7 // 10))
        runs |= {whole[at : at + size] for at in range(len(whole) - size + 1)}
    return runs


def reveals(sent: str, what: Secret) -> str | None:
    """Return the reading of `sent` in which the secret stands, None where there is none."""
    wanted = pieces(what)
    for reading in _readings(sent):
        for latin in (False, True):
            bare = _bare(reading, latin=latin)
            if any(run in bare for run in wanted):
                return reading
    return None
