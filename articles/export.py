"""Approved articles as Markdown files with front matter: repeatable, atomic, nobody's edit lost (spec 06, "Export").

The folder keeps a manifest of what was written, by content hash. A file whose content is neither what the manifest says
nor what is about to be written was edited by somebody: it is left and reported. Files are written under a temporary
name, synced and renamed; the manifest names what is coming before it comes, so that a crash between both is no edit.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final, Self

from articles.types import Article, Claim, Fact, Step, cited_evidence, item_text, items
from data.models import ArticleState, Evidence
from data.text import fold

__all__ = ["MANIFEST", "ExportItem", "ExportReport", "export_folder", "front_matter"]

MANIFEST: Final = ".neural-brain-export.json"
_MAX_SLUG: Final = 60
_ID_TAIL: Final = 8
"""Characters of the article's id in its file name: two articles of one title never meet."""


@dataclass(frozen=True, slots=True)
class ExportItem:
    article_id: str
    revision: int
    state: ArticleState
    content: Article
    markdown: str
    evidence: Mapping[str, Evidence]


@dataclass(frozen=True, slots=True)
class ExportReport:
    """What an export did; names are file names, `published` and `failed` go by article id."""

    written: tuple[str, ...] = ()
    unchanged: tuple[str, ...] = ()
    edited: tuple[str, ...] = ()
    """Files that somebody changed: left as they are."""
    removed: tuple[str, ...] = ()
    """Files of articles that are no longer approved."""
    failed: Mapping[str, str] = field(default_factory=dict)
    published: tuple[str, ...] = ()
    standing: frozenset[str] = frozenset()
    """Ids of the articles whose file stands in the folder as it should."""

    def with_published(self, ids: Iterable[str]) -> Self:
        return replace(self, published=tuple(ids))


def front_matter(item: ExportItem) -> str:
    """Return the YAML front matter: every sentence, step and fact with its citations (sha256, start, end, url)."""
    order = cited_evidence(item.content)
    lines = [
        "---",
        f"title: {_scalar(item.content.title)}",
        f"type: {_scalar(item.content.type.value)}",
        f"language: {_scalar(item.content.language)}",
        f"revision: {item.revision}",
        "sources:",
    ]
    for number, evidence_id in enumerate(order, 1):
        record = item.evidence[evidence_id]
        lines += [
            f"  - number: {number}",
            f"    sha256: {_scalar(record.sha256)}",
            f"    url: {_scalar(record.final_url or record.url)}",
            f"    title: {_scalar(record.title)}",
            f"    publisher: {_scalar(record.publisher)}",
            f"    accessed: {_scalar(record.fetched_at.date().isoformat())}",
        ]
    lines.append("statements:")
    for place, entry in items(item.content):
        kind = {Claim: "sentence", Step: "step", Fact: "fact"}[type(entry)]
        lines += [
            f"  - place: {_scalar(place)}",
            f"    kind: {_scalar(kind)}",
            f"    text: {_scalar(item_text(entry))}",
        ]
        if isinstance(entry, Step) and entry.code:
            lines.append(f"    code: {_scalar(entry.code)}")
        if isinstance(entry, Claim | Step) and entry.lead_in:
            lines.append(f"    lead_in: {_scalar(entry.lead_in)}")
        lines.append("    citations:")
        for citation in entry.citations:
            record = item.evidence[citation.evidence_id]
            lines.append(
                f"      - {{sha256: {_scalar(citation.sha256)}, start: {citation.start}, end: {citation.end}, "
                f"url: {_scalar(record.final_url or record.url)}}}"
            )
    return "\n".join([*lines, "---", ""])


def _scalar(value: str) -> str:
    # a JSON string is a YAML scalar; U+0085, U+2028 and U+2029 are line ends to YAML and must be escaped
    text = json.dumps(value, ensure_ascii=False)
    return re.sub("[\x7f-\x9f\u2028\u2029\ufeff]", lambda match: f"\\u{ord(match.group()):04x}", text)


def export_folder(directory: Path, exported: Sequence[ExportItem], failed: Mapping[str, str]) -> ExportReport:
    """Bring `directory` to what `exported` says; raise OSError where it cannot be written. Blocking."""
    directory.mkdir(parents=True, exist_ok=True)
    manifest = _read_manifest(directory)
    names = _names(manifest, exported)
    contents = {names[item.article_id]: f"{front_matter(item)}\n{item.markdown}".encode() for item in exported}
    owners = {names[item.article_id]: item for item in exported}
    for name, content in contents.items():
        entry = manifest.setdefault(name, {"article": owners[name].article_id, "sha256": ""})
        entry["coming"] = sorted({*_ours(entry), _sha256(content)})
    _write(directory / MANIFEST, _manifest_bytes(manifest))
    written: list[str] = []
    unchanged: list[str] = []
    edited: list[str] = []
    for name, content in sorted(contents.items()):
        status = _put(directory / name, content, manifest[name])
        {"written": written, "unchanged": unchanged, "edited": edited}[status].append(name)
        if status != "edited":
            manifest[name] = {
                "article": owners[name].article_id,
                "revision": owners[name].revision,
                "sha256": _sha256(content),
            }
        else:
            manifest[name].pop("coming", None)
    kept = {names[one] for one in failed if one in names} | {
        name for name, entry in manifest.items() if entry.get("article") in failed
    }
    removed = _remove_stale(directory, manifest, kept | contents.keys(), edited)
    _write(directory / MANIFEST, _manifest_bytes(manifest))
    standing = frozenset(owners[name].article_id for name in (*written, *unchanged))
    return ExportReport(
        tuple(written), tuple(unchanged), tuple(sorted(edited)), tuple(removed), dict(failed), (), standing
    )


def _names(manifest: Mapping[str, Mapping[str, Any]], exported: Sequence[ExportItem]) -> dict[str, str]:
    """Return the file name of each article: the one it had, else its title in plain letters and the end of its id."""
    names = {str(entry["article"]): name for name, entry in manifest.items() if "article" in entry}
    for item in exported:
        slug = re.sub(r"[^a-z0-9]+", "-", fold(item.content.title)).strip("-")[:_MAX_SLUG].strip("-") or "article"
        names.setdefault(item.article_id, f"{slug}-{item.article_id[-_ID_TAIL:].lower()}.md")
    return names


def _ours(entry: Mapping[str, Any]) -> set[str]:
    """Return the digests of what an export wrote under this entry's name, or was about to when it was stopped."""
    coming = entry.get("coming", ())
    return {str(one) for one in (entry.get("sha256"), *(coming if isinstance(coming, list) else ())) if one}


def _put(path: Path, content: bytes, entry: Mapping[str, Any]) -> str:
    if path.is_symlink() or (path.exists() and not path.is_file()):
        return "edited"
    if path.exists():
        present = path.read_bytes()
        if present == content:
            return "unchanged"
        if _sha256(present) not in _ours(entry):
            return "edited"
    _write(path, content)
    return "written"


def _remove_stale(
    directory: Path, manifest: dict[str, dict[str, Any]], kept: Iterable[str], edited: list[str]
) -> list[str]:
    removed = []
    for name in sorted(manifest.keys() - set(kept)):
        path = directory / name
        if path.is_file() and not path.is_symlink():
            if _sha256(path.read_bytes()) not in _ours(manifest[name]):
                edited.append(name)
                continue
            path.unlink()
            removed.append(name)
        del manifest[name]
    return removed


def _read_manifest(directory: Path) -> dict[str, dict[str, Any]]:
    """Return what earlier exports wrote; a manifest that cannot be read makes every file somebody's."""
    try:
        loaded = json.loads((directory / MANIFEST).read_text(encoding="utf-8"))
        files = loaded["files"]
        return {
            str(name): dict(entry)
            for name, entry in files.items()
            if isinstance(entry, dict) and Path(name).name == name and name.endswith(".md")
        }
    except (FileNotFoundError, ValueError, KeyError, TypeError, AttributeError):
        return {}


def _manifest_bytes(manifest: Mapping[str, Mapping[str, Any]]) -> bytes:
    text = json.dumps({"version": 1, "files": manifest}, ensure_ascii=False, sort_keys=True, indent=1)
    return (text + "\n").encode()


def _sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _write(path: Path, content: bytes) -> None:
    handle, temporary = tempfile.mkstemp(prefix=".", suffix=".tmp", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        Path(temporary).chmod(0o644)
        Path(temporary).replace(path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
    folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
