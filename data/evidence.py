"""Evidence: its rows, and its full texts as content-addressed files (spec 02, "Evidence files").

A text lies under `evidence/ab/abcdef….txt.zst`, named by the SHA-256 of the text itself. It is written
under a temporary name, synced, renamed and the folder synced; the row is written after the file. A file
that is missing or altered is never served as if it were whole.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal

import zstandard
from sqlalchemy import Connection, Row, func, select

from data.errors import StoreError, StoreUnavailable
from data.models import Evidence, SourceClass
from data.schema import evidence

__all__ = [
    "EvidenceAltered",
    "EvidenceFault",
    "EvidenceFiles",
    "EvidenceMissing",
    "EvidenceText",
    "accepted_of",
    "count_evidence",
    "evidence_by_ids",
    "evidence_by_owner",
    "evidence_from_row",
    "evidence_paths",
    "get_evidence",
    "text_digest",
]

_FOLDER: Final = "evidence"
_SUFFIX: Final = ".txt.zst"
_LEVEL: Final = 9
_HEX: Final = frozenset("0123456789abcdef")


class EvidenceMissing(StoreError):
    """The file of a text is not there."""


class EvidenceAltered(StoreError):
    """The file of a text does not hold what its name says."""


@dataclass(frozen=True, slots=True)
class EvidenceText:
    """An evidence row with the full text it judges; spans (start, end) are positions in `text`."""

    evidence: Evidence
    text: str

    @property
    def source_class(self) -> SourceClass:
        return self.evidence.source_quality


@dataclass(frozen=True, slots=True)
class EvidenceFault:
    """One thing wrong with the files: what `brain doctor` names."""

    kind: Literal["missing", "altered", "orphan", "unfinished"]
    path: str
    message: str


class EvidenceFiles:
    """The evidence folder of one home. Safe for several processes: a name says what it holds."""

    def __init__(self, home: Path) -> None:
        self._home = home
        self._root = home / _FOLDER

    def put(self, text: str) -> tuple[str, str]:
        """Keep `text` and return its SHA-256 (hex) and its path relative to the home.

        A text that is there already and whole is left alone. Raises StoreUnavailable.
        """
        digest = text_digest(text)
        relative = self.path_of(digest)
        path = self._home / relative
        try:
            if path.exists() and self._holds(path, digest):
                return digest, relative
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._write(path, zstandard.compress(text.encode(), _LEVEL))
        except OSError as error:
            raise StoreUnavailable(
                f"cannot keep a text under {path.parent}: {error.strerror}; free some space or make it writable",
                reason="io_error",
            ) from error
        return digest, relative

    def get(self, sha256: str) -> str:
        """Return the text named by `sha256`; raise EvidenceMissing or EvidenceAltered."""
        path = self._home / self.path_of(sha256)
        try:
            packed = path.read_bytes()
        except FileNotFoundError:
            raise EvidenceMissing(f"the text {sha256} is not there ({path}); restore a backup") from None
        except OSError as error:
            raise StoreUnavailable(f"cannot read {path}: {error.strerror}", reason="io_error") from error
        content = _unpack(packed)
        if content is None or hashlib.sha256(content).hexdigest() != sha256:
            raise EvidenceAltered(f"the text {sha256} was altered on disk ({path}); restore a backup")
        return content.decode()

    def has(self, sha256: str) -> bool:
        """Tell whether the file of `sha256` is there; `get` tells whether it is whole."""
        return (self._home / self.path_of(sha256)).exists()

    def path_of(self, sha256: str) -> str:
        """Return where the text named by `sha256` lies, relative to the home; raise ValueError for no digest."""
        if len(sha256) != 64 or not _HEX.issuperset(sha256):
            raise ValueError(f"{sha256!r} is no SHA-256 in lower-case hexadecimal")
        return f"{_FOLDER}/{sha256[:2]}/{sha256}{_SUFFIX}"

    def check(self, expected: Iterable[str] = ()) -> list[EvidenceFault]:
        """Read every file and compare it with its name; name what of the digests `expected` is missing.

        With `expected` (see `evidence_paths`), files that no row names are reported as orphans.
        """
        wanted = set(expected)
        found: set[str] = set()
        faults: list[EvidenceFault] = []
        for path in sorted(self._root.glob("*/*")):
            relative = str(path.relative_to(self._home))
            if not path.name.endswith(_SUFFIX):
                faults.append(EvidenceFault("unfinished", relative, "left by a write that did not end; remove it"))
                continue
            digest = path.name.removesuffix(_SUFFIX)
            found.add(digest)
            if not self._holds(path, digest):
                faults.append(EvidenceFault("altered", relative, "does not hold what its name says; restore a backup"))
            elif wanted and digest not in wanted:
                faults.append(EvidenceFault("orphan", relative, "no evidence names it; it may be removed"))
        faults.extend(
            EvidenceFault("missing", self.path_of(digest), "evidence names it, but it is not there; restore a backup")
            for digest in sorted(wanted - found)
        )
        return faults

    def _write(self, path: Path, packed: bytes) -> None:
        handle, temporary = tempfile.mkstemp(prefix=".", suffix=".tmp", dir=path.parent)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(packed)
                file.flush()
                os.fsync(file.fileno())
            Path(temporary).replace(path)
        except BaseException:
            Path(temporary).unlink(missing_ok=True)
            raise
        for folder in (path.parent, self._root, self._home):
            _sync_folder(folder)

    @staticmethod
    def _holds(path: Path, digest: str) -> bool:
        try:
            content = _unpack(path.read_bytes())
        except OSError:
            return False
        return content is not None and hashlib.sha256(content).hexdigest() == digest


def text_digest(text: str) -> str:
    """Return the SHA-256 (hex) that names a text."""
    return hashlib.sha256(text.encode()).hexdigest()


def get_evidence(conn: Connection, evidence_id: str) -> Evidence | None:
    """Return one evidence row, or None."""
    row = conn.execute(select(evidence).where(evidence.c.id == evidence_id)).one_or_none()
    return None if row is None else evidence_from_row(row)


def evidence_by_ids(conn: Connection, ids: Sequence[str]) -> dict[str, Evidence]:
    """Return the evidence rows that exist among `ids`, by id."""
    return {row.id: evidence_from_row(row) for row in conn.execute(select(evidence).where(evidence.c.id.in_(ids)))}


def evidence_by_owner(conn: Connection, owner: str, *, accepted: bool | None = None) -> list[Evidence]:
    """Return what was read for `owner` (`pair:a:b`, `task:id`), in order of id."""
    statement = select(evidence).where(evidence.c.owner == owner)
    if accepted is not None:
        statement = statement.where(evidence.c.accepted.is_(accepted))
    return [evidence_from_row(row) for row in conn.execute(statement.order_by(evidence.c.id))]


def accepted_of(conn: Connection, owner: str) -> list[Evidence]:
    """Return the accepted evidence of `owner`."""
    return evidence_by_owner(conn, owner, accepted=True)


def count_evidence(conn: Connection, *, accepted: bool | None = True) -> int:
    """Return how many evidence rows there are."""
    statement = select(func.count()).select_from(evidence)
    if accepted is not None:
        statement = statement.where(evidence.c.accepted.is_(accepted))
    return int(conn.execute(statement).scalar_one())


def evidence_paths(conn: Connection) -> list[str]:
    """Return the digests of every text that a row says is kept, for `EvidenceFiles.check`."""
    return list(conn.execute(select(evidence.c.sha256).where(evidence.c.path != "").distinct()).scalars())


def evidence_from_row(row: Row[Any]) -> Evidence:
    """Return the record of a row of table `evidence`."""
    return Evidence(
        id=row.id,
        url=row.url,
        final_url=row.final_url,
        title=row.title,
        publisher=row.publisher,
        language=row.language,
        published_at=row.published_at,
        fetched_at=row.fetched_at,
        sha256=row.sha256,
        path=row.path,
        chars=row.chars,
        accepted=row.accepted,
        reject_reason=row.reject_reason,
        relevance=row.relevance,
        source_quality=SourceClass(row.source_quality),
        source_quality_score=row.source_quality_score,
        assessment_reason=row.assessment_reason,
        owner=row.owner,
    )


def _unpack(packed: bytes) -> bytes | None:
    try:
        return zstandard.ZstdDecompressor().decompressobj().decompress(packed)
    except zstandard.ZstdError:
        return None


def _sync_folder(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
