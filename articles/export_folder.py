"""A folder of exported files: repeatable, atomic, nobody's edit lost (spec 06, "Export").

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

from data.text import fold

__all__ = ["MANIFEST", "ExportFile", "ExportReport", "OtherFormat", "export_folder", "names_in"]

MANIFEST: Final = ".neural-brain-export.json"
_MAX_SLUG: Final = 60
_ID_TAIL: Final = 8
"""Characters of the article's id in its file name: two articles of one title never meet."""
_MARKDOWN: Final = "markdown"
"""What a manifest that names no format holds: earlier ones knew no other."""


class OtherFormat(Exception):
    """The folder holds an export of another format; the message is one sentence."""


@dataclass(frozen=True, slots=True)
class ExportFile:
    """One file to write: its name in the folder, and the article and revision it shows ("" and 0: all of them)."""

    name: str
    content: bytes
    article_id: str = ""
    revision: int = 0


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


def names_in(directory: Path, format: str, titles: Mapping[str, str], suffix: str) -> dict[str, str]:
    """Return the file name of each article of `titles` (id to title), ending in `suffix`.

    It is the one it had, so that links from elsewhere go on working; else its title in plain letters and the end of
    its id. Raises OtherFormat where the folder holds another export.
    """
    manifest = _read_manifest(directory, format)
    names = {str(entry["article"]): name for name, entry in manifest.items() if entry.get("article")}
    for article_id, title in titles.items():
        slug = re.sub(r"[^a-z0-9]+", "-", fold(title)).strip("-")[:_MAX_SLUG].strip("-") or "article"
        names.setdefault(article_id, f"{slug}-{article_id[-_ID_TAIL:].lower()}{suffix}")
    return {article_id: names[article_id] for article_id in titles}


def export_folder(directory: Path, format: str, files: Sequence[ExportFile], failed: Mapping[str, str]) -> ExportReport:
    """Bring `directory` to what `files` say; the files of articles in `failed` (id to reason) stay as they are.

    Raises OtherFormat where the folder holds another export, OSError where it cannot be written. Blocking.
    """
    directory.mkdir(parents=True, exist_ok=True)
    manifest = _read_manifest(directory, format)
    by_name = {file.name: file for file in files}
    for name, file in by_name.items():
        entry = manifest.setdefault(name, {"article": file.article_id, "sha256": ""})
        entry["coming"] = sorted({*_ours(entry), _sha256(file.content)})
    _write(directory / MANIFEST, _manifest_bytes(manifest, format))
    written: list[str] = []
    unchanged: list[str] = []
    edited: list[str] = []
    for name, file in sorted(by_name.items()):
        status = _put(directory / name, file.content, manifest[name])
        {"written": written, "unchanged": unchanged, "edited": edited}[status].append(name)
        if status != "edited":
            manifest[name] = {"article": file.article_id, "revision": file.revision, "sha256": _sha256(file.content)}
        else:
            manifest[name].pop("coming", None)
    kept = {name for name, entry in manifest.items() if entry.get("article") in failed}
    removed = _remove_stale(directory, manifest, kept | by_name.keys(), edited)
    _write(directory / MANIFEST, _manifest_bytes(manifest, format))
    standing = frozenset(by_name[name].article_id for name in (*written, *unchanged) if by_name[name].article_id)
    return ExportReport(
        tuple(written), tuple(unchanged), tuple(sorted(edited)), tuple(removed), dict(failed), (), standing
    )


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


def _read_manifest(directory: Path, format: str) -> dict[str, dict[str, Any]]:
    """Return what earlier exports wrote; a manifest that cannot be read makes every file somebody's."""
    try:
        loaded = json.loads((directory / MANIFEST).read_text(encoding="utf-8"))
        files = {
            str(name): dict(entry)
            for name, entry in loaded["files"].items()
            if isinstance(entry, dict) and Path(name).name == name
        }
        found = str(loaded.get("format", _MARKDOWN))
    except (FileNotFoundError, ValueError, KeyError, TypeError, AttributeError):
        return {}
    if files and found != format:
        raise OtherFormat(f"the folder {directory} holds an export as {found}; choose another folder for {format}")
    return files


def _manifest_bytes(manifest: Mapping[str, Mapping[str, Any]], format: str) -> bytes:
    said = {"version": 1, "format": format, "files": manifest}
    return (json.dumps(said, ensure_ascii=False, sort_keys=True, indent=1) + "\n").encode()


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
