"""Ten thousand planted secrets, and a judge that shares no code with the guard (tests/research/leaks.py)."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

import pytest

from data.models import Label
from research.guard import GuardedQuery, GuardPolicy, guard_query
from tests.research.leaks import NAMES, SUFFIXES, Secret, hidden, pieces, reveals, secret

HOUSE = GuardPolicy(private_terms=NAMES, internal_suffixes=SUFFIXES)
SUBJECTS = (
    ("KB5034441", "Windows-Update {} schlägt fehl"), ("CVE-2024-3094", "Hintertür in xz-utils ({})"),
    ("ORA-12154", "Listener meldet {} nach dem Umzug"), ("0x80070005", "Zugriff verweigert, {} beim Kopieren"),
    ("RFC 8446", "TLS-Handshake nach {} bricht ab"), ("T1059.001", "Detecting PowerShell abuse, {}"),
    ("", "Druckerwarteschlange hängt nach Neustart"), ("", "Kerberos login fails after clock skew"),
    ("", "Postfix relay access denied"), ("", "Exchange-Postfach lässt sich nicht öffnen"),
)  # fmt: skip
WORDS = (
    "Fehler",
    "beheben",
    "how to fix",
    "Ursache",
    "configuration",
    "Windows Server 2022",
    "Anleitung",
    "root cause",
)


@dataclass(frozen=True)
class Case:
    query: str
    labels: tuple[Label, ...]
    secrets: tuple[Secret, ...]
    identifiers: tuple[str, ...]
    written: str

    def ask(self, query: str | None = None) -> GuardedQuery:
        return guard_query(self.query if query is None else query, anchors=self.labels, policy=HOUSE)


def case(number: int) -> Case:
    """Return a query and two labels with one or two secrets in one or more places, always with something public."""
    rng = Random(number)
    subjects = rng.sample(SUBJECTS, 2)
    texts = [" ".join(rng.sample(WORDS, 2)), *(form.format(mark) for mark, form in subjects)]
    if rng.random() < 0.7:
        texts[0] += " " + rng.choice(texts[1:])
    planted, written = [], []
    ids = [Secret("node id", "n_" + secret_id(rng)) for _ in range(2)]
    for _ in range(rng.choice((1, 1, 2))):
        what = rng.choice(ids) if rng.random() < 0.15 else secret(rng)
        planted.append(what)
        for place in rng.sample(range(3), rng.choice((1, 1, 2))):
            form, how = hidden(rng, what)
            words = texts[place].split(" ")
            at = rng.choice((0, len(words)))
            texts[place] = " ".join([*words[:at], form, *words[at:]])
            written.append(f"{what.kind} {how} in text {place}")
    labels = tuple(Label(node.text, text) for node, text in zip(ids, texts[1:], strict=True))
    marks = tuple(mark for mark, _ in subjects if mark)
    return Case(texts[0], labels, (*planted, *ids), marks, "; ".join(written))


def secret_id(rng: Random) -> str:
    return "01" + "".join(rng.choice("0123456789ABCDEFGHJKMNPQRSTVWXYZ") for _ in range(24))


def faults(number: int) -> list[str]:
    """Return what is wrong with one case, in words."""
    tried = case(number)
    try:
        result = tried.ask()
        again = tried.ask("")
    except Exception as error:  # the guard accepts any string
        return [f"{number}: {type(error).__name__}: {error} ({tried.written})"]
    found = []
    for what in tried.secrets:
        reading = reveals(result.query, what)
        if reading is not None:
            found.append(f"{number}: {what} in {result.query!r} read as {reading!r} ({tried.written})")
    if not result.query:
        found.append(f"{number}: nothing is left of {[label.text for label in tried.labels]} ({tried.written})")
    if result.rebuilt:
        sent = result.query.replace(" ", "")
        gone = [mark for mark in tried.identifiers if mark.replace(" ", "") not in sent]
        found += [f"{number}: {mark} is gone from {result.query!r} ({tried.written})" for mark in gone]
        if again.query != result.query:
            found.append(f"{number}: {again.query!r} is not {result.query!r}")
        if len(result.query) > 120 or len(result.query.split()) > 12:
            found.append(f"{number}: too long: {result.query!r}")
    if result.query and tried.ask(result.query).query != result.query:
        found.append(f"{number}: what was sent would not be kept: {result.query!r}")
    return found


def test_the_first_hundreds_of_planted_secrets() -> None:
    assert [fault for number in range(300) for fault in faults(number)] == []


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_ten_thousand_planted_secrets() -> None:
    assert [fault for number in range(10_000) for fault in faults(number)] == []


def test_the_judge_reads_what_is_hidden() -> None:
    """A judge that sees nothing would find every guard good: unguarded, it must see nearly every secret."""
    seen = 0
    for number in range(300):
        rng = Random(number)
        what = secret(rng)
        form, _ = hidden(rng, what)
        seen += reveals(f"VPN {form} Fehler", what) is not None
    assert seen >= 290
    assert all(len(run) >= 2 for run in pieces(Secret("name", "王小明")))
