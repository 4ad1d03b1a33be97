"""Files of the inbox on disk: which there are, and where they go when they are done (spec 02, "The inbox")."""

from __future__ import annotations

import json
import os
from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from data.errors import StoreUnavailable

__all__ = ["DONE", "REFUSED", "Source", "look", "move", "sources", "waiting"]

DONE: Final = "done"
REFUSED: Final = "refused"
_REASON: Final = ".reason.json"


@dataclass(frozen=True, slots=True)
class Source:
    """A file to take: where it lies, how it is called in reports, and what its nodes are called after."""

    path: Path
    name: str
    uri: str
    root: str = ""
    """The folder it was given with, as an absolute path; "" for a file of the watched folder."""


def sources(paths: Sequence[Path], endings: Container[str], skipped: list[str]) -> Iterator[Source]:
    """Yield the files of `paths`: folders recursively and sorted, without hidden files and notes of refusals.

    A file is named by its folder's name and its path below it, so that two folders can hold an `index.html`.
    What else lies in a folder (a manual's pictures and style sheets) is not asked for: a file whose ending is none
    of `endings` is only named in `skipped`. What is given by its own name is yielded as it is: the gates say what
    is wrong with it.
    """
    seen: set[Path] = set()
    named = {Path(os.path.abspath(given)) for given in paths}  # noqa: PTH100 - as below
    for given in paths:
        path = Path(os.path.abspath(given))  # noqa: PTH100 - resolve() would follow links
        folder = path.is_dir() and not path.is_symlink()
        root = path if folder else path.parent
        found: Iterable[Path] = _walk(path) if folder else (path,)
        for file in found:
            if file not in seen:
                seen.add(file)
                name = file.relative_to(root).as_posix()
                if file not in named and file.suffix.lower() not in endings:
                    skipped.append(name)
                    continue
                yield Source(file, name, f"file:{root.name}/{name}" if root.name else f"file:{name}", str(root))


def waiting(inbox: Path) -> list[Source]:
    """Return what lies in the watched folder, sorted; `done` and `refused` at its top are not looked into."""
    found = []
    for path in _walk(inbox, without=(DONE, REFUSED)):
        name = path.relative_to(inbox).as_posix()
        found.append(Source(path, name, f"inbox:{name}"))
    return found


def _walk(folder: Path, without: tuple[str, ...] = ()) -> Iterator[Path]:
    try:
        with os.scandir(folder) as entries:
            found = sorted(entries, key=lambda entry: entry.name)
    except OSError as error:
        raise StoreUnavailable(
            f"cannot look into {folder}: {error.strerror}; make it readable", reason="io_error"
        ) from error
    for entry in found:
        if entry.name.startswith(".") or entry.name.endswith(_REASON) or entry.name in without:
            continue
        if entry.is_dir(follow_symlinks=False):
            yield from _walk(Path(entry.path))
        else:
            yield Path(entry.path)


def look(path: Path) -> tuple[int, int, int] | None:
    """Return inode, size and modification time (ns) without opening anything; None where nothing is there."""
    try:
        info = path.lstat()
    except OSError:
        return None
    return info.st_ino, info.st_size, info.st_mtime_ns


def move(source: Source, inbox: Path, folder: str, note: dict[str, Any] | None = None) -> Path:
    """Move a file to `inbox/<folder>` under a free name, with a `.reason.json` where there is a `note`.

    Nothing is ever overwritten: a name that is taken gets a number. Raises StoreUnavailable.
    """
    target = inbox / folder / source.name
    try:
        target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        target = _reserve(target)
        source.path.replace(target)
        if note is not None:
            _write_note(target, note)
    except OSError as error:
        raise StoreUnavailable(
            f"cannot move {source.path} to {target.parent}: {error.strerror}; free some space or make it writable",
            reason="io_error",
        ) from error
    return target


def _reserve(target: Path) -> Path:
    """Create an empty file under the first free name and return it; it is replaced by the real one at once."""
    number = 1
    while True:
        name = target.name if number == 1 else f"{target.stem} ({number}){target.suffix}"
        candidate = target.with_name(name)
        if not candidate.with_name(name + _REASON).exists():
            try:
                candidate.open("xb").close()
                return candidate
            except FileExistsError:
                pass
        number += 1


def _write_note(target: Path, note: dict[str, Any]) -> None:
    path = target.with_name(target.name + _REASON)
    temporary = path.with_name(f".{path.name}.tmp")
    temporary.write_text(json.dumps(note, ensure_ascii=False, indent=2, sort_keys=True) + "\n", encoding="utf-8")
    temporary.replace(path)
