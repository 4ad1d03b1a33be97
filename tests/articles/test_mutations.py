"""Articles made wrong on purpose: the independent checker and the product's own gates both notice."""

from __future__ import annotations

from collections import Counter
from functools import cache
from pathlib import Path

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


def _shares(folder: Path, count: int, seed: int) -> tuple[Counter[str], dict[str, float], list[str]]:
    made: Counter[str] = Counter()
    noticed: Counter[str] = Counter()
    missed = []
    for one in mutations(bases(), count, seed):
        made[one.kind] += 1
        for name, hit in (
            ("gates", noticed_by_gates(one, EMBEDDER)),
            ("checker", noticed_by_checker(one, folder)),
        ):
            noticed[name] += hit
            if not hit:
                missed.append(f"{name}, {one.kind}: {one.what}")
    return made, {name: noticed[name] / made.total() for name in ("gates", "checker")}, missed


def test_forty_mutations_are_noticed(folder: Path) -> None:
    made, shares, missed = _shares(folder, 40, 7)
    assert made.total() == 40
    assert shares["checker"] == 1.0, missed
    assert shares["gates"] >= 0.97, missed


@pytest.mark.slow
def test_of_five_hundred_mutations_99_in_a_hundred_are_noticed(folder: Path) -> None:
    made, shares, missed = _shares(folder, 500, 1)
    print(f"{made.total()} mutations {dict(made)}: {shares}")
    print("\n".join(missed))
    assert made.total() == 500
    assert set(made) == set(KINDS)
    assert min(made.values()) >= 5
    assert shares["gates"] >= 0.99, missed
    assert shares["checker"] >= 0.99, missed
