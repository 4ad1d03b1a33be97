"""The sample corpus keeps its own promises: counts, languages, a key that points at what exists."""

from __future__ import annotations

import json
import re
import tomllib
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any

SAMPLE = Path(__file__).resolve().parents[2] / "data" / "sample"
LIBRARY = SAMPLE / "library"
PAGE_SUFFIXES = {".html", ".md", ".txt", ".pdf"}
NODE_KINDS = {"ticket", "article", "section", "technique", "product", "note"}
SOURCE_CLASSES = {"official", "vendor", "own", "reference", "community", "forum", "blog", "news", "aggregator"}
RELATION_TYPES = {"causes", "solves", "mitigates", "variant_of"}
DECOY_KINDS = {
    "other_code",
    "no_code",
    "content_farm",
    "outdated",
    "hidden_instructions",
    "visible_instructions",
    "consent_wall",
    "login_page",
    "error_page",
    "link_list",
    "search_results",
    "mirror",
    "wrong_encoding",
    "mojibake",
    "empty",
    "too_short",
    "huge",
    "one_sided",
    "not_together",
    "irrelevant",
    "off_topic",
}
GATES = {
    "other_identifier",
    "identifier_missing",
    "low_quality",
    "not_content",
    "duplicate_content",
    "decoding",
    "empty_extraction",
    "too_short",
    "one_sided",
    "not_together",
    "irrelevant",
    "snippet_off_topic",
}
REASONS = {
    "plan_failed",
    "nothing_searchable",
    "search_failed",
    "fetch_failed",
    "no_hits",
    "no_accepted_evidence",
    "uncited",
    "review_failed",
    "review_rejected",
}
PRIVATE = re.compile(
    r"""[\w.+-]+@[\w-]+\.example          # mail address
      | \b(?:10|192\.168|172\.(?:1[6-9]|2\d|3[01]))(?:\.\d{1,3}){2,3}\b
      | \b[\w-]+(?:\.[\w-]+)*\.corp\b     # internal host
      | \\\\[\w-]+\\[\w$.-]+              # UNC path
      | \bBRUECKNER\\\w+                  # domain user
      | \b(?:INC|CHG)-\d{4,}\b            # ticket reference
      | \b0(?:30|40|171)[ ]\d[\d ]{5,}    # phone number
    """,
    re.VERBOSE,
)


@cache
def nodes() -> tuple[dict[str, Any], ...]:
    rows = [
        json.loads(line)
        for path in sorted((SAMPLE / "nodes").glob("*.jsonl"))
        for line in path.read_text(encoding="utf-8").splitlines()
    ]
    return tuple(rows)


@cache
def key() -> dict[str, list[dict[str, Any]]]:
    loaded: dict[str, list[dict[str, Any]]] = json.loads((SAMPLE / "key.json").read_text(encoding="utf-8"))
    return loaded


@cache
def pages() -> tuple[Path, ...]:
    return tuple(sorted(path for path in LIBRARY.rglob("*") if path.suffix in PAGE_SUFFIXES))


def test_every_node_is_whole_and_its_key_is_its_own() -> None:
    keys = [node["key"] for node in nodes()]
    assert len(keys) >= 160
    assert [name for name, count in Counter(keys).items() if count > 1] == []
    for node in nodes():
        assert set(node) == {"key", "kind", "label", "body", "language", "category", "meta"}, node["key"]
        assert node["kind"] in NODE_KINDS, node["key"]
        assert node["language"] in {"de", "en"}, node["key"]
        assert node["label"].strip() and node["body"].strip() and node["category"].strip(), node["key"]
        assert re.fullmatch(r"[a-z0-9-]+", node["key"]), node["key"]


def test_kinds_and_languages_are_mixed() -> None:
    kinds = Counter(node["kind"] for node in nodes())
    assert set(kinds) == NODE_KINDS
    assert kinds["ticket"] == max(kinds.values())
    german = sum(node["language"] == "de" for node in nodes()) / len(nodes())
    assert 0.35 <= german <= 0.65


def test_private_data_is_planted_in_bodies_and_labels() -> None:
    in_bodies = [node["key"] for node in nodes() if PRIVATE.search(node["body"])]
    in_labels = [node["key"] for node in nodes() if PRIVATE.search(node["label"])]
    assert len(in_bodies) >= 20
    assert len(in_labels) >= 3


def test_the_library_has_enough_pages_in_both_languages_and_all_formats() -> None:
    decoys = {decoy["path"] for decoy in key()["decoys"]}
    good = [path for path in pages() if path.relative_to(SAMPLE).as_posix() not in decoys]
    assert len(pages()) >= 85
    assert len(good) >= 50
    assert {path.suffix for path in pages()} == PAGE_SUFFIXES
    german = [path for path in good if path.suffix != ".pdf" and _declares_german(path)]
    assert 0.35 <= len(german) / len(good) <= 0.65


def _declares_german(path: Path) -> bool:
    head = path.read_text(encoding="utf-8")[:600]
    return 'lang="de"' in head or "\nlanguage: de\n" in head


def test_every_collection_says_who_publishes_it() -> None:
    collections = sorted(path for path in LIBRARY.iterdir() if path.is_dir())
    unknown = []
    for folder in collections:
        said = tomllib.loads((folder / "collection.toml").read_text(encoding="utf-8"))
        assert said["language"] in {"de", "en"}, folder.name
        host = said["base_url"].split("/")[2]
        assert host.endswith((".example", ".example.org")), folder.name
        if "class" not in said:
            unknown.append(folder.name)
            continue
        assert said["class"] in SOURCE_CLASSES, folder.name
        assert said["publisher"], folder.name
    assert unknown == ["fundus"]


def test_the_key_names_only_what_exists() -> None:
    known = {node["key"] for node in nodes()}
    for decoy in key()["decoys"]:
        assert (SAMPLE / decoy["path"]).is_file(), decoy["path"]
        assert len(decoy["labels"]) == 2 and set(decoy["labels"]) <= known, decoy["path"]
        assert decoy["mirror_of"] is None or (SAMPLE / decoy["mirror_of"]).is_file(), decoy["path"]
    for pair in key()["pairs"]:
        assert {pair["source"], pair["target"]} <= known, pair
        assert pair["source"] != pair["target"]


def test_every_decoy_names_one_gate_and_every_kind_is_there() -> None:
    decoys = key()["decoys"]
    assert len(decoys) >= 34
    assert len({decoy["path"] for decoy in decoys}) == len(decoys)
    assert {decoy["kind"] for decoy in decoys} == DECOY_KINDS
    assert {decoy["stopped_by"] for decoy in decoys} == GATES
    for decoy in decoys:
        assert decoy["require"] in {"all", "any"}
        assert decoy["why"]
        assert (decoy["kind"] == "mirror") == (decoy["mirror_of"] is not None)


def test_the_pairs_are_balanced_and_each_is_asked_once() -> None:
    pairs = key()["pairs"]
    accepted = [pair for pair in pairs if pair["accept"]]
    assert len(pairs) >= 44
    assert 0.4 <= len(accepted) / len(pairs) <= 0.6
    assert len({frozenset((pair["source"], pair["target"])) for pair in pairs}) == len(pairs)
    assert {pair["by"] for pair in accepted} == {"outside", "internal"}
    for pair in pairs:
        assert pair["why"]
        if pair["accept"]:
            assert pair["type"] in RELATION_TYPES and pair["reason"] is None
        else:
            reasons = [pair["reason"]] if isinstance(pair["reason"], str) else pair["reason"]
            assert pair["type"] is None and reasons and set(reasons) <= REASONS, pair


def test_every_text_page_is_utf8_but_for_the_damaged_one() -> None:
    damaged = [decoy["path"] for decoy in key()["decoys"] if decoy["kind"] == "wrong_encoding"]
    broken = []
    for path in pages():
        if path.suffix == ".pdf":
            assert path.read_bytes().startswith(b"%PDF-")
            continue
        try:
            path.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            broken.append(path.relative_to(SAMPLE).as_posix())
    assert broken == damaged


def test_the_huge_page_is_larger_than_the_limit_and_the_rest_is_small() -> None:
    huge = [SAMPLE / decoy["path"] for decoy in key()["decoys"] if decoy["kind"] == "huge"]
    assert [path for path in pages() if path.stat().st_size > 100_000] == huge
    assert 2 * 1024 * 1024 < huge[0].stat().st_size < 3 * 1024 * 1024
