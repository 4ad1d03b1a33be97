"""Reading nodes quickly says the same as reading them slowly, and what is kept says the same as what was read."""

from __future__ import annotations

import re
from collections.abc import Iterator
from concurrent.futures import BrokenExecutor, Executor, Future
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlalchemy import select

from data import identifiers as module
from data.crud.engine import perform
from data.crud.ingest import IngestNodes, NodeDraft
from data.models import NodeKind
from data.nodes import NodeContent, all_contents
from data.readings import load_readings
from data.schema import node_reading
from data.store import Store
from data.text import Identifier, fold, normalise, stem, terms
from research import read_nodes as keeping
from research.labels import _nothing_hides, public_label
from research.private import GuardPolicy, private_tokens
from research.read_nodes import read_nodes, reader_name
from research.reading import BODY_READ, read_node, unpack

SAMPLE = Path(__file__).parents[2] / "data" / "sample"
WRITTEN = r"""
    Drucker Fehler 809 Druckerwarteschlange VPN the printer spooler does not start ORA-12154 Windows 11 23H2 at dot
    punkt srv-fs01.corp j.petersen@firma.example 10.20.4.15 aa bb cc dd ee ff AB-CD face cafe a b c d e INC-204511
    \\srv\share CORP\meier 030 123456 deadbeefcafe U+0041 %41 &amp; xn--mnchen-3ya (at) [.] Kerberos AES-256 Müller
    Straße Äußerung wlan GPO ZGVhZGJlZWY= SGVsbG9Xb3JsZA ABCDEFGHIJKL ssh:// // 0x80070005 https://intranet/x I ein.
    nein? ja! re: AW:
"""
WORDS = WRITTEN.split()


def all_found(text: str) -> tuple[Identifier, ...]:
    spared, module.signs_of = module.signs_of, lambda _: None  # type: ignore[attr-defined, assignment]
    try:
        return module._scan(text)
    finally:
        module.signs_of = spared  # type: ignore[attr-defined]


def key(word: str) -> str:
    return stem(stem(fold(word), "de"), "en")


def slowly(label: str, body: str) -> tuple[dict[str, str], set[str], set[str]]:
    """The stems of a public label, the identifiers of label and body, and all keys, by the plain way to them."""
    inside = {key(term) for term in terms(label, "und")}
    stems: dict[str, str] = {}
    for word in re.findall(r"[^\W_]+", label):
        if key(word) in inside:
            stems.setdefault(key(word), word)
    head = normalise(body[:BODY_READ])
    values = {item.value for item in (*all_found(label), *all_found(head))}
    return stems, values, {key(term) for term in terms(head, "und")} | stems.keys() | values


def texts() -> Iterator[tuple[str, str]]:
    """Headings of the sample with what stands behind them, and random rows of words that hide things."""
    for path in sorted(SAMPLE.rglob("*.md"))[:12]:
        parts = re.split(r"^#+ ", path.read_text(encoding="utf-8"), flags=re.MULTILINE)
        yield from ((part.partition("\n")[0], part.partition("\n")[2][:3_000]) for part in parts[1:8])
    random = Random(5)
    for _ in range(60):
        yield " ".join(random.choices(WORDS, k=random.randint(1, 9))), " ".join(random.choices(WORDS, k=120))


def content(label: str, body: str) -> NodeContent:
    return NodeContent("n_1", NodeKind.TICKET, label, body, "de", "", "hash")


def test_a_quick_reading_says_what_a_slow_one_does() -> None:
    for label, body in texts():
        reading = unpack(read_node(content(label, body)))
        stems, values, keys = slowly(reading.label, body)
        assert (reading.label_stems, set(reading.identifiers), reading.keys) == (stems, values, keys)
        assert reading.mentions == {name: fold(body).count(fold(word)) for name, word in stems.items()}
        assert reading.label_identifiers == all_found(reading.label)


@settings(max_examples=150, deadline=None)
@given(st.lists(st.sampled_from(WORDS), max_size=7), st.text(max_size=60))
def test_any_text_can_be_read(words: list[str], body: str) -> None:
    label = " ".join(words)
    reading = unpack(read_node(content(label, body)))
    stems, values, keys = slowly(reading.label, body)
    assert (reading.label_stems, set(reading.identifiers), reading.keys) == (stems, values, keys)


# ------------------------------------------------------------------------------------------ public labels

USUAL = "Postfach Drucker Fehler startet nicht Outlook VPN ssh keytab rotation is broken again GPO Müller wird a I"
PLAIN = USUAL.split()


@pytest.mark.parametrize(
    "policy",
    [GuardPolicy(), GuardPolicy(private_terms=("Keytab", "Zugspitze")), GuardPolicy(internal_suffixes=("haus",))],
    ids=["plain", "terms", "suffix"],
)
def test_a_label_is_spared_only_where_nothing_would_be_found(policy: GuardPolicy) -> None:
    random, spared = Random(11), 0
    for _ in range(1_500):
        words = random.choices(PLAIN + WORDS[: random.choice((0, len(WORDS)))], k=random.randint(1, 7))
        label = words[0] + "".join(random.choice((" ", " ", "-", ": ", ", ", ".", "  ")) + word for word in words[1:])
        if _nothing_hides(label, policy):
            spared += 1
            assert private_tokens(label, policy) == [], label
    assert spared > 100 or policy.private_terms or policy.internal_suffixes


@settings(max_examples=300, deadline=None)
@given(st.lists(st.one_of(st.sampled_from(WORDS + PLAIN), st.text("abcdefABCDEF .-:,", max_size=9)), max_size=6))
def test_nothing_private_hides_in_what_is_spared(words: list[str]) -> None:
    label = " ".join(" ".join(words).split())
    assert not (_nothing_hides(label, GuardPolicy()) and private_tokens(label))


def test_private_words_are_off_whatever_the_way() -> None:
    policy = GuardPolicy(private_terms=("Zugspitze",))
    assert public_label("Projekt Zugspitze startet nicht", policy) == "Projekt startet nicht"
    assert public_label("Projekt Zugspitze startet nicht") == "Projekt Zugspitze startet nicht"


# ------------------------------------------------------------------------------------------ what is kept


async def ingest(store: Store, *drafts: NodeDraft) -> None:
    assert (await perform(store, IngestNodes(drafts), actor="test")).ok


def draft(name: str, body: str) -> NodeDraft:
    return NodeDraft(NodeKind.TICKET, f"Ticket {name} ORA-12154", body, "en", f"test:{name}")


async def test_only_what_is_new_or_changed_is_read(store: Store) -> None:
    policy = GuardPolicy()
    await ingest(store, draft("a", "First."), draft("b", "Second."))
    assert await read_nodes(store, policy) == 2
    assert await read_nodes(store, policy) == 0
    await ingest(store, draft("b", "Second, changed for KB5034441."), draft("c", "Third."))
    reader = reader_name(policy)
    assert [one.label for one in await store.read(load_readings, reader)] == ["Ticket a ORA-12154"]
    assert await read_nodes(store, policy) == 2
    kept = await store.read(load_readings, reader)
    assert {unpack(one).label: set(unpack(one).identifiers) for one in kept}["Ticket b ORA-12154"] == {
        "ora-12154", "kb5034441"
    }  # fmt: skip


async def test_other_privacy_settings_read_again(store: Store) -> None:
    await ingest(store, draft("Zugspitze", "Body."))
    assert await read_nodes(store, GuardPolicy()) == 1
    hiding = GuardPolicy(private_terms=("Zugspitze",))
    assert await read_nodes(store, hiding) == 1
    (reading,) = await store.read(load_readings, reader_name(hiding))
    assert "Zugspitze" not in reading.label
    assert "zugspitz" not in reading.terms.split("\n")
    assert await store.read(load_readings, reader_name(GuardPolicy())) == []


def test_the_reader_is_named_by_its_sources_and_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    plain = reader_name(GuardPolicy())
    assert reader_name(GuardPolicy()) == plain
    assert reader_name(GuardPolicy(internal_suffixes=("haus.example",))) != plain
    monkeypatch.setattr(keeping, "_sources", lambda: "another version")
    assert reader_name(GuardPolicy()) != plain


async def test_readings_come_in_order_of_content_not_of_arrival(store: Store) -> None:
    names = list("dbeac")
    for name in names:
        await ingest(store, draft(name, f"Body {name}."))
    await read_nodes(store, GuardPolicy())
    found = await store.read(load_readings, reader_name(GuardPolicy()))
    hashes = await store.read(
        lambda conn: dict(conn.execute(select(node_reading.c.node_id, node_reading.c.content_hash)).all())
    )
    assert [hashes[one.id] for one in found] == sorted(hashes.values())


async def test_what_is_kept_is_what_was_read(store: Store) -> None:
    await ingest(
        store,
        *(
            NodeDraft(NodeKind.NOTE, label or "x", body, "en", f"test:{n}")
            for n, (label, body) in enumerate(list(texts())[:40])
        ),
    )
    await read_nodes(store, GuardPolicy())
    kept = {one.id: one for one in await store.read(load_readings, reader_name(GuardPolicy()))}
    for one in await store.read(all_contents):
        assert kept[one.id] == replace(read_node(one), id=one.id)


# ------------------------------------------------------------------------------------------- processes


class Broken(Executor):
    """Processes that were killed."""

    def submit(self, *_: object, **__: object) -> Future[Any]:  # type: ignore[override]
        raise BrokenExecutor("a process in the pool was terminated abruptly")


async def test_nodes_are_read_here_where_processes_die(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keeping, "_MANY", 1)
    monkeypatch.setattr(keeping, "pool", Broken)
    await ingest(store, draft("a", "First."), draft("b", "Second."))
    assert await read_nodes(store, GuardPolicy()) == 2
    assert await read_nodes(store, GuardPolicy()) == 0


@pytest.mark.slow
async def test_processes_read_as_threads_do(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keeping, "_MANY", 1)
    monkeypatch.setattr(keeping, "_AT_ONCE", 3)
    await ingest(store, *(draft(str(number), f"Body {number} names KB503444{number % 10}.") for number in range(10)))
    told: list[int] = []
    assert await read_nodes(store, GuardPolicy(), progress=lambda phase, done, total: told.append(done)) == 10
    assert told == [3, 6, 9, 10]
    kept = {one.id: one for one in await store.read(load_readings, reader_name(GuardPolicy()))}
    assert kept == {one.id: read_node(one) for one in await store.read(all_contents)}
