"""Articles made wrong on purpose: the independent checker and the product's own gates both notice."""

from __future__ import annotations

import json
import re
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from articles.codec import article_from_content, article_to_content
from benchmarks.check_articles import check, words
from benchmarks.mutate_articles import (
    KINDS,
    Base,
    exported,
    keep,
    mutations,
    noticed_by_checker,
    noticed_by_gates,
)
from data.evidence import EvidenceText
from data.extract import extract
from data.models import ArticleType
from tests.articles.corpus import TOPICS, evidence, make
from tests.articles.runs import EMBEDDER, written

SAMPLE = Path(__file__).parents[2] / "data" / "sample" / "library"
SHIPPED = (
    ("KB5034441 endet mit 0x80070643", "de", "troubleshooting", ("nordlicht-docs/kb5034441-0x80070643.html",)),
    ("CVE-2024-3094 in xz", "de", "concept", ("fachstelle/cve-2024-3094-xz.html", "adminwiki/CVE-2024-3094.html")),
    ("Log4Shell CVE-2021-44228", "en", "concept", ("halden-docs/log4shell-cve-2021-44228.html",)),
    (
        "Password spraying T1110.003",
        "en",
        "concept",
        ("nadi-advisories/password-spraying-t1110-003.html", "nadi-advisories/http2-rapid-reset.html"),
    ),
    (
        "PgBouncer pool mode",
        "en",
        "concept",
        ("halden-docs/pgbouncer-pool-mode-choice.html", "opsref/pgbouncer-pool-modes.html"),
    ),
    ("ORA-12154 und tnsnames.ora", "de", "troubleshooting", ("runbooks/ora-12154-tnsnames.md",)),
)
"""Topics of the shipped sample with error codes, versions and paths: (topic, language, type, files)."""


def _page(name: str, number: int) -> EvidenceText:
    path = SAMPLE / name
    kind = "text/html" if path.suffix == ".html" else "text/markdown"
    document = extract(path.read_bytes(), content_type=kind, url=f"library:{name}")
    return make(document.text, number=number, title=document.title, publisher=path.parent.name, url=f"library:{name}")


@cache
def bases() -> tuple[Base, ...]:
    found = []
    for topic, language, type_, files in SHIPPED:
        pages = tuple(_page(name, number) for number, name in enumerate(files, 1))
        article, _ = written(topic, language, ArticleType(type_), pages)
        found.append(Base(article_to_content(article), {one.evidence.id: one for one in pages}))
    for topic, language, names, questions, type_ in TOPICS:
        texts = evidence(*names)
        article, _ = written(topic, language, ArticleType(type_), texts, questions)
        found.append(Base(article_to_content(article), {one.evidence.id: one for one in texts}))
    return tuple(found)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for base in bases():
        keep(base.evidence, tmp_path)
    return tmp_path


def test_the_checker_finds_nothing_in_honest_articles(folder: Path) -> None:
    for base in bases():
        text = exported(article_from_content(base.content, base.evidence), base.evidence)
        assert check(text, folder) == []
        assert check(text, folder, paraphrases=True) == []


def test_the_checker_reads_the_page_and_not_only_its_front_matter(folder: Path) -> None:
    base = bases()[0]
    text = exported(article_from_content(base.content, base.evidence), base.evidence)
    head, page = text.split("\n---\n", 1)
    sentence = next(line for line in page.splitlines() if line.endswith("\\[1\\]") and line[:1].isalpha())
    more = page.replace(sentence, f"{sentence} Reboot the gateway 3 times.", 1)
    less = page.replace(sentence, "", 1)
    assert any("more than" in fault for fault in check(f"{head}\n---\n{more}", folder))
    assert any("does not say" in fault for fault in check(f"{head}\n---\n{less}", folder))


def test_the_checker_refuses_what_it_cannot_read(folder: Path) -> None:
    text = exported(article_from_content(bases()[0].content, bases()[0].evidence), bases()[0].evidence)
    assert check("no front matter", folder)
    assert check(text.replace("statements:", "other:"), folder) == ["it says nothing"]
    assert check(text, folder / "elsewhere")
    assert check(text.replace("start: ", "start: 9999999"), folder)
    for file in folder.rglob("*.zst"):
        file.write_bytes(b"something else")
    assert check(text, folder)


def test_the_checkers_words_are_those_of_the_text() -> None:
    assert words("**Bold** `code` [link](https://a.example/x), _under_ and a\\*b.") == [
        "bold",
        "code",
        "link",
        "under",
        "and",
        "a*b",
    ]


def _statements(content: dict[str, Any]) -> list[dict[str, Any]]:
    """Every object with citations, wherever it stands: found here without the mutations' own walk."""
    found = [content] if "citations" in content else []
    for value in content.values():
        for one in value if isinstance(value, list) else [value]:
            found += _statements(one) if isinstance(one, dict) else []
    return found


def test_a_mutation_is_wrong_and_no_accidental_truth() -> None:
    """What was put in does not stand in the citation; where something was only taken out, that was a "not"."""
    before = {base.content["topic"]: base for base in bases()}
    kinds = set()
    for one in mutations(bases(), 130, 11):
        old = [json.dumps(part) for part in _statements(before[one.content["topic"]].content)]
        new = [part for part in _statements(one.content) if json.dumps(part) not in old]
        assert len(new) == 1, one.what
        (changed,) = new
        said = " ".join(str(changed.get(key, "")) for key in ("text", "description", "code"))
        quotes = " ".join(citation["quote"] for citation in changed["citations"])
        added = set(re.findall(r"[\w.-]+", said.casefold())) - set(re.findall(r"[\w.-]+", quotes.casefold()))
        mine, theirs = (len(re.findall(DENYING, text, re.IGNORECASE)) for text in (said, quotes))
        dropped = len(said.split()) < len(quotes.split())
        assert added or mine != theirs or (dropped and one.kind == "option"), one.what
        kinds.add(one.kind)
    assert kinds >= set(KINDS) - {"unit", "option"}


DENYING = r"\b(?:not|no|never|without|cannot|nicht|nie|ohne|kein\w*)\b"


def _shares(folder: Path, count: int, seed: int) -> tuple[Counter[str], dict[str, Counter[str]], list[str]]:
    """Return how many of each kind were made, how many of each either noticed, and what was missed."""
    made: Counter[str] = Counter()
    noticed: dict[str, Counter[str]] = {"gates": Counter(), "checker": Counter()}
    missed = []
    for one in mutations(bases(), count, seed):
        made[one.kind] += 1
        for name, hit in (
            ("gates", noticed_by_gates(one, EMBEDDER)),
            ("checker", noticed_by_checker(one, folder)),
        ):
            noticed[name][one.kind] += hit
            if not hit:
                missed.append(f"{name}, {one.kind}: {one.what}")
    return made, noticed, missed


def test_forty_mutations_are_noticed(folder: Path) -> None:
    made, noticed, missed = _shares(folder, 40, 7)
    assert made.total() == 40
    assert noticed["checker"] == made, missed
    assert noticed["gates"].total() >= 39, missed


@pytest.mark.slow
def test_of_five_hundred_mutations_99_in_a_hundred_are_noticed(folder: Path) -> None:
    made, noticed, missed = _shares(folder, 500, 1)
    print(f"{made.total()} mutations")
    print(
        "\n".join(
            f"{kind:<16} {made[kind]:>4} {noticed['gates'][kind]:>4} {noticed['checker'][kind]:>4}" for kind in KINDS
        )
    )
    print("\n".join(missed))
    assert made.total() == 500
    assert set(made) == set(KINDS)
    assert min(made.values()) >= 5
    for name in ("gates", "checker"):
        assert noticed[name].total() >= 0.99 * made.total(), missed
        assert all(noticed[name][kind] >= 0.99 * made[kind] for kind in KINDS), missed
