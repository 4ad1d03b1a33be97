"""Evidence files are complete or absent, never served altered; rows keep one judgement a text and owner."""

from __future__ import annotations

import os
import stat
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from data import evidence
from data.crud.engine import perform
from data.crud.evidence import RecordEvidence
from data.errors import StoreUnavailable
from data.evidence import EvidenceAltered, EvidenceFiles, EvidenceMissing, EvidenceText, text_digest
from data.models import SourceClass
from data.store import Store
from tests.data.test_crud_relations import text

# echo -n 'Hallo Welt' | sha256sum
HELLO = ("Hallo Welt", "2d2da19605a34e037dbe82173f98a992a530a5fdd53dad882f570d4ba204ef30")


@pytest.fixture
def files(tmp_path: Path) -> EvidenceFiles:
    return EvidenceFiles(tmp_path)


def test_a_text_lies_under_its_digest(files: EvidenceFiles, tmp_path: Path) -> None:
    content, digest = HELLO
    assert files.put(content) == (digest, f"evidence/2d/{digest}.txt.zst")
    path = tmp_path / "evidence" / "2d" / f"{digest}.txt.zst"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert files.get(digest) == content
    assert files.has(digest)
    assert files.check([digest]) == []


def test_putting_again_writes_nothing(files: EvidenceFiles, tmp_path: Path) -> None:
    _, relative = files.put("text")
    before = (tmp_path / relative).stat().st_mtime_ns, (tmp_path / relative).stat().st_ino
    files.put("text")
    assert ((tmp_path / relative).stat().st_mtime_ns, (tmp_path / relative).stat().st_ino) == before


@settings(max_examples=50, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(st.text(max_size=500))
def test_every_text_comes_back(files: EvidenceFiles, content: str) -> None:
    digest, _ = files.put(content)
    assert files.get(digest) == content


@pytest.mark.parametrize("damage", [b"", b"garbage", None])
def test_an_altered_file_is_never_served(files: EvidenceFiles, tmp_path: Path, damage: bytes | None) -> None:
    digest, relative = files.put("the whole text " * 100)
    path = tmp_path / relative
    path.write_bytes(path.read_bytes()[:-10] if damage is None else damage)
    with pytest.raises(EvidenceAltered, match=digest):
        files.get(digest)
    assert [(fault.kind, fault.path) for fault in files.check([digest])] == [("altered", relative)]
    files.put("the whole text " * 100)
    assert files.get(digest) == "the whole text " * 100


def test_another_whole_text_under_the_name_is_altered(files: EvidenceFiles, tmp_path: Path) -> None:
    digest, relative = files.put("one")
    _, other = files.put("two")
    (tmp_path / relative).write_bytes((tmp_path / other).read_bytes())
    with pytest.raises(EvidenceAltered):
        files.get(digest)


def test_missing_orphaned_and_unfinished_files_are_found(files: EvidenceFiles, tmp_path: Path) -> None:
    kept, relative = files.put("kept")
    orphan, orphan_path = files.put("orphan")
    missing = text_digest("never written")
    (tmp_path / relative).parent.joinpath(".x.tmp").write_bytes(b"half")
    faults = {(fault.kind, Path(fault.path).name) for fault in files.check([kept, missing])}
    assert faults == {
        ("missing", f"{missing}.txt.zst"),
        ("orphan", Path(orphan_path).name),
        ("unfinished", ".x.tmp"),
    }
    with pytest.raises(EvidenceMissing, match=missing):
        files.get(missing)
    assert orphan != kept


@pytest.mark.parametrize("name", ["", "../../etc/passwd", "A" * 64, "g" * 64, "ab/../" + "0" * 58])
def test_only_a_digest_names_a_file(files: EvidenceFiles, name: str) -> None:
    with pytest.raises(ValueError, match="no SHA-256"):
        files.get(name)


def test_a_write_that_fails_leaves_no_file(
    files: EvidenceFiles, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(_handle: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(StoreUnavailable, match="No space left on device; free some space"):
        files.put("text")
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


async def test_one_row_for_a_text_and_owner(store: Store) -> None:
    outcome = await perform(store, RecordEvidence([text("a"), text("b"), text("a")], "task:t_1"), actor="worker")
    assert outcome.ok
    first, second, third = outcome.result
    assert first == third != second
    changed = replace(text("a"), accepted=False, reject_reason="irrelevant", source_quality=SourceClass.FORUM)
    again = await perform(store, RecordEvidence([changed], "task:t_1"), actor="worker")
    assert again.result == (first,)
    kept = await store.read(evidence.get_evidence, first)
    assert kept is not None
    assert (kept.accepted, kept.reject_reason, kept.source_quality) == (False, "irrelevant", SourceClass.FORUM)
    assert kept.owner == "task:t_1"
    other = await perform(store, RecordEvidence([text("a")], "task:t_2"), actor="worker")
    assert other.result[0] not in {first, second}
    assert await store.read(evidence.count_evidence) == 2
    assert await store.read(evidence.count_evidence, accepted=None) == 3
    assert [row.id for row in await store.read(evidence.accepted_of, "task:t_1")] == [second]


async def test_recording_the_same_again_writes_nothing(store: Store) -> None:
    await perform(store, RecordEvidence([text("a")], "task:t_1"), actor="worker")
    again = await perform(store, RecordEvidence([text("a")], "task:t_1"), actor="worker")
    assert (again.ok, again.journal_id) == (True, None)


async def test_evidence_needs_an_owner(store: Store) -> None:
    assert (await perform(store, RecordEvidence([text("a")], ""), actor="worker")).reason == "no_owner"


async def test_kept_texts_are_those_with_a_path(store: Store) -> None:
    await perform(store, RecordEvidence([text("a"), text("b", path="")], "task:t_1"), actor="worker")
    assert await store.read(evidence.evidence_paths) == [text("a").sha256]


def test_a_text_with_its_row() -> None:
    joined = EvidenceText(text("a").record("v_1", "task:t"), "words")
    assert (joined.source_class, joined.evidence.owner) == (SourceClass.VENDOR, "task:t")
