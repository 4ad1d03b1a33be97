"""A seeded house with planted gaps: tickets, sections and notes in German and English, and a graph around them.

Texts come from word chains over the shipped sample (identifiers and digits taken out), with invented names and words
strewn in, so that the vocabulary grows with the house as a real one does. Background groups are full of vector edges,
hold references, and name only identifiers that some section explains: whatever gap is found there was not planted.
Beside them stand gaps of all six kinds in known numbers, and near misses of each.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import combinations
from pathlib import Path
from random import Random
from typing import Any

from data.models import NodeKind
from data.text import detect_language, identifiers

__all__ = ["House", "Planted", "Text", "build_house"]

SAMPLE = Path(__file__).parent.parent / "data" / "sample"
GROUP = 100
"""Nodes of a background group, on average."""
EDGES_A_NODE = 10


def _words(text: str, between: str = " ") -> list[str]:
    return text.split(between)


ONSETS = _words("b br d dr f fl g gr h k kl kr l m n p pl pr qu r s sch sp st t tr v w z x")
VOWELS = _words("a e i o u au ei ie")
CODAS = _words("n r l s t x k m nd rt lk ns ft")
PARTS = {
    "de": _words(
        "Spooler Anmeldedienst Druckserver Zertifikatsdienst Lagerterminal Netzlaufwerk Replikat Kalenderabgleich "
        "Verteiler Schnittstelle Sicherungsagent Archivsystem Funkzelle Bandroboter Rechteverwaltung Lizenzserver"
    ),
    "en": _words(
        "spooler gateway broker indexer scheduler keystore mailflow replica agent connector dispatcher resolver "
        "archiver balancer watchdog exporter"
    ),
}
ASIDES = {
    "de": _words(
        "um 10:30 Uhr|seit 3 Tagen|in Raum 214|am 12. März|bei 40 Plätzen|nach 15 Minuten|zum 1. Quartal", "|"
    ),
    "en": _words("at 9:15|for 3 days|in room 214|since 12 March|on 40 desks|after 15 minutes|by 2026", "|"),
}
FAULTS = {
    "de": _words(
        "startet nach dem Wechsel nicht|bricht beim Abgleich ab|verliert die Verbindung|bleibt beim Anmelden stehen|"
        "zeigt leere Listen|meldet einen vollen Puffer|antwortet zu langsam|verwirft Nachrichten|doppelt jede Kopie",
        "|",
    ),
    "en": _words(
        "does not start after the move|drops the connection|stops during the handover|shows empty lists|"
        "reports a full buffer|answers too slowly|discards messages|writes copies twice|loses its lock",
        "|",
    ),
}


@dataclass(frozen=True)
class Text:
    """One node to be: its `key` becomes part of its source URI."""

    key: str
    kind: NodeKind
    label: str
    body: str
    language: str
    meta: dict[str, Any] = field(default_factory=dict)


@dataclass
class Planted:
    """Keys of the nodes in which each planted gap must be seen; for `asked` and `stale` the topics."""

    orphan: list[str] = field(default_factory=list)
    uncovered_cluster: list[set[str]] = field(default_factory=list)
    missing_reference: dict[str, set[str]] = field(default_factory=dict)
    weak_bridge: list[tuple[str, str]] = field(default_factory=list)
    stale: list[str] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)
    near_misses: set[str] = field(default_factory=set)
    """Keys of nodes that no gap may be seen in."""


@dataclass
class House:
    texts: list[Text]
    edges: list[tuple[int, int, float]]
    relations: list[tuple[int, int]]
    contradictions: list[tuple[int, int]]
    articles: list[tuple[str, str, int]]
    """Topic, article id, age of the evidence in days."""
    planted: Planted


def build_house(nodes: int, *, edges: int | None = None, seed: int = 1) -> House:
    """Return a house of `nodes` nodes and about `edges` vector edges (default: ten a node)."""
    return _Builder(nodes, edges or EDGES_A_NODE * nodes, seed).build()


class _Writer:
    """Makes words, sentences and bodies; the same seed writes the same."""

    def __init__(self, random: Random, nodes: int) -> None:
        self.random = random
        self.chains = {language: _chain(text) for language, text in _corpus().items()}
        self.starts = {language: sorted(chain) for language, chain in self.chains.items()}
        self.words = [self.invented() for _ in range(max(2_000, nodes))]

    def invented(self) -> str:
        pick = self.random.choice
        return "".join(pick(ONSETS) + pick(VOWELS) + pick(CODAS) for _ in range(self.random.randint(2, 3)))

    def name(self) -> str:
        """Return a product name nobody else has: three syllables."""
        pick = self.random.choice
        return "".join(pick(ONSETS) + pick(VOWELS) + pick(CODAS) for _ in range(3)).capitalize()

    def prose(self, language: str, chars: int) -> str:
        """Return sentences of about `chars` characters; one word in thirty is invented, the first ones most often."""
        random, chain = self.random, self.chains[language]
        words: list[str] = []
        length, left = 0, 0
        word = random.choice(self.starts[language])
        while length < chars:
            if left == 0:
                if words:
                    words[-1] += random.choice((".", ".", ".", ",", ":", " -"))
                left, word = random.randint(6, 16), random.choice(self.starts[language])
                word = word.capitalize()
            elif random.random() < 1 / 40:
                word = random.choice(ASIDES[language])
            elif random.random() < 1 / 30:
                word = self.words[int(len(self.words) * random.random() ** 3)]
            else:
                word = random.choice(chain.get(word.lower()) or self.starts[language])
            words.append(word)
            length += len(word) + 1
            left -= 1
        return " ".join(words) + "."


class _Builder:
    def __init__(self, nodes: int, edges: int, seed: int) -> None:
        self.nodes, self.wanted = nodes, edges
        self.random = Random(seed)
        self.write = _Writer(self.random, nodes)
        self.house = House([], [], [], [], [], Planted())
        self.scale = max(3, min(40, nodes // 500))
        """How many gaps of a kind are planted."""

    def build(self) -> House:
        for plant in (self.orphans, self.clusters, self.bridges, self.stale, self.asked):
            plant()
        self.missing()
        self.background()
        return self.house

    def add(self, kind: NodeKind, label: str, body: str, language: str, **meta: Any) -> int:
        number = len(self.house.texts)
        self.house.texts.append(Text(f"{number:07d}", kind, label, body, language, meta))
        return number

    def key(self, place: int) -> str:
        return self.house.texts[place].key

    def language(self) -> str:
        return self.random.choice(("de", "en"))

    def label(self, name: str, language: str) -> str:
        what = f"{self.random.choice(self.write.words).capitalize()}-{self.random.choice(PARTS[language])}"
        return f"{name} {what} {self.random.choice(FAULTS[language])}"

    def ticket(self, name: str, language: str, *, extra: str = "", label: str = "") -> int:
        body = self.write.prose(language, self.random.randint(150, 800))
        said = f"{name} {self.random.choice(FAULTS[language])}. {extra} {body}" if extra else f"{name}: {body}"
        return self.add(NodeKind.TICKET, label or self.label(name, language), said, language)

    def section(self, name: str, language: str, *, extra: str = "", chars: int = 0) -> int:
        size = chars or int(self.random.lognormvariate(7.0, 0.5))
        label = f"{name} {self.random.choice(PARTS[language])}"
        body = f"{extra} {name}: {self.write.prose(language, max(300, size))}"
        return self.add(NodeKind.SECTION, label, body, language)

    def join(self, places: list[int], low: float = 0.7, high: float = 0.9) -> None:
        for a, b in combinations(places, 2):
            self.edge(a, b, low, high)

    def edge(self, a: int, b: int, low: float, high: float) -> None:
        self.house.edges.append((min(a, b), max(a, b), round(self.random.uniform(low, high), 4)))

    def missed(self, *places: int) -> None:
        self.house.planted.near_misses.update(map(self.key, places))

    # ------------------------------------------------------------------------------------- planted gaps

    def orphans(self) -> None:
        for _ in range(self.scale):
            language = self.language()
            self.house.planted.orphan.append(self.key(self.ticket(self.write.name(), language)))
            name = self.write.name()
            short = self.add(NodeKind.TICKET, self.label(name, language), "Siehe Anhang.", language)
            related, other = self.ticket(self.write.name(), language), self.ticket(self.write.name(), language)
            self.house.relations.append((related, other))
            self.missed(short, related, other)

    def clusters(self) -> None:
        for covered in (False, True):
            for _ in range(self.scale):
                language, name = self.language(), f"{self.write.name()} {self.write.name()}"
                part = self.random.choice(PARTS[language])
                labels = [f"{name} {part} {fault}" for fault in self.random.sample(FAULTS[language], 7)]
                tickets = [self.ticket(name, language, label=label) for label in labels]
                if covered:
                    section = self.section(name, language)
                    self.join([*tickets, section])
                    self.missed(*tickets)
                else:
                    self.join(tickets)
                    self.house.planted.uncovered_cluster.append(set(map(self.key, tickets)))

    def bridges(self) -> None:
        for kind in ("weak", "two edges", "strong"):
            for _ in range(self.scale):
                language, name = self.language(), self.write.name()
                sides = [[self.section(f"{name} {self.write.name()}", language) for _ in range(8)] for _ in "ab"]
                for side in sides:
                    self.join(side)
                (a, *_, b), (c, *_, d) = sides
                self.edge(a, c, 0.62, 0.66) if kind == "strong" else self.edge(a, c, 0.51, 0.55)
                if kind == "two edges":
                    self.edge(b, d, 0.51, 0.55)
                if kind == "weak":
                    self.house.planted.weak_bridge.append((self.key(a), self.key(c)))
                else:
                    self.missed(*sides[0], *sides[1])

    def stale(self) -> None:
        for number in range(self.scale):
            for state, age in (("aged", 500), ("contradicted", 20), ("fresh", 20)):
                language, name = self.language(), self.write.name()
                topic, article = self.label(name, language), f"bench-{state}-{number}"
                self.house.articles.append((topic, article, age))
                if state == "contradicted":
                    body = self.write.prose(language, 900)
                    place = self.add(NodeKind.ARTICLE, topic, body, language, article_id=article)
                    self.house.contradictions.append((place, self.section(name, language)))
                if state != "fresh":
                    self.house.planted.stale.append(topic)

    def asked(self) -> None:
        for _ in range(min(self.scale, 100)):
            self.house.planted.asked.append(self.label(self.write.name(), self.language()))

    def missing(self) -> None:
        """Three tickets name an identifier; nobody, somebody, or somebody far down in a section explains it."""
        for how in ("nowhere", "section", "far down"):
            for code in self.codes(self.scale):
                language, name = self.language(), self.write.name()
                label = f"{name} {self.random.choice(PARTS[language])}: {code}"
                tickets = [self.ticket(name, language, extra=f"{code}.", label=label) for _ in range(3)]
                about = self.section(self.write.name(), language, extra=f"{code}." if how == "section" else "")
                if how == "far down":
                    text = self.house.texts[about]
                    body = f"{text.body} {self.write.prose(language, 1200)} {code}."
                    self.house.texts[about] = Text(text.key, text.kind, text.label, body, text.language)
                self.join([*tickets, about])
                if how == "nowhere":
                    self.house.planted.missing_reference[code] = set(map(self.key, tickets))
                else:
                    self.missed(*tickets)

    def codes(self, count: int) -> Iterator[str]:
        for _ in range(count):
            number = self.random.randint(10_000, 99_999)
            yield self.random.choice((f"CVE-2031-{number}", f"ORA-{number}", f"KB50{number}", f"AADSTS{number}"))

    # --------------------------------------------------------------------------------------- background

    def background(self) -> None:
        pool = self.explained()
        groups: list[list[int]] = []
        while len(self.house.texts) < self.nodes:
            room = self.nodes - len(self.house.texts)
            size = min(room, max(12, int(self.random.lognormvariate(0.0, 0.5) * GROUP)))
            groups.append(self.group(size, pool))
        self.wire(groups)

    def explained(self) -> list[str]:
        """Write sections that explain codes and versions, ten in each; return those names."""
        pool = [*self.codes(max(40, self.nodes // 40))]
        for _ in range(max(10, self.nodes // 400)):
            pool.append(f"{self.write.name()} {self.random.randint(2, 19)}.{self.random.randint(0, 9)}.0")
        for start in range(0, len(pool), 10):
            name, language = self.write.name(), self.language()
            place = self.section(name, language, extra=", ".join(pool[start : start + 10]) + ".")
            self.house.relations.append((place, place - 1))
        return pool

    def group(self, size: int, pool: list[str]) -> list[int]:
        language, name = self.language(), self.write.name()
        places = [self.section(name, language), self.section(name, language)]
        while len(places) < size:
            kind = self.random.random()
            if kind < 0.6:
                extra = f"{self.random.choice(pool)}." if self.random.random() < 0.3 else ""
                places.append(self.ticket(name, language, extra=extra))
            elif kind < 0.85:
                places.append(self.section(f"{name} {self.random.choice(self.write.words).capitalize()}", language))
            else:
                body = self.write.prose(language, self.random.randint(120, 900))
                places.append(self.add(NodeKind.NOTE, self.label(name, language), body, language))
        return places

    def wire(self, groups: list[list[int]]) -> None:
        """Join each group inside, and to five others by thirty edges each, until the wanted number is reached."""
        random, seen = self.random, {(a, b) for a, b, _ in self.house.edges}
        for number, group in enumerate(groups):  # a ring: nobody has fewer than two neighbours
            for a, b in zip(group, [*group[1:], group[0]], strict=True):
                self.fresh(seen, a, b, 0.6, 0.9)
            for step in range(1, 6):
                other = groups[(number + step * step) % len(groups)]
                for _ in range(min(30, len(group)) if other is not group else 0):
                    self.fresh(seen, random.choice(group), random.choice(other), 0.45, 0.62)
        weights = [len(group) for group in groups]
        while len(self.house.edges) < self.wanted:
            for group in random.choices(groups, weights, k=1_000):
                at = random.randrange(len(group))
                near = (at + random.randint(2, 30)) % len(group)
                self.fresh(seen, group[at], group[near], 0.5, 0.9)

    def fresh(self, seen: set[tuple[int, int]], a: int, b: int, low: float, high: float) -> None:
        pair = (min(a, b), max(a, b))
        if a != b and pair not in seen:
            seen.add(pair)
            self.edge(a, b, low, high)


def _corpus() -> dict[str, str]:
    """Return the running text of the sample by language, without markup, identifiers and digits."""
    found: dict[str, list[str]] = defaultdict(list)
    for path in sorted(SAMPLE.rglob("*")):
        if path.suffix not in {".md", ".html", ".jsonl"}:
            continue
        text = path.read_text(encoding="utf-8", errors="replace")[:120_000]
        text = re.sub(r"<(script|style).*?</\1>|<[^>]+>|&\w+;|[{}\[\]\"|`*#_=<>]", " ", text, flags=re.DOTALL)
        language = detect_language(text)
        if language != "und":
            found[language].append(text)
    return {language: "\n".join(texts) for language, texts in found.items()}


def _chain(text: str) -> dict[str, list[str]]:
    """Return word → the words that follow it; words with digits or signs, and short capitals, stay out."""
    following: dict[str, list[str]] = defaultdict(list)
    last = ""
    for token in text.split():
        word = token.strip(".,;:!?()'’“”„…-")
        plain = re.fullmatch(r"[A-Za-zÄÖÜäöüß]{1,24}", word) and not (len(word) > 1 and word.isupper())
        if not plain or identifiers(word):
            last = ""
            continue
        if last:
            following[last].append(word)
        last = word.lower()
    return dict(following)
