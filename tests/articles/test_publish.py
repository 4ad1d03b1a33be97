"""A person's side: approval of what was seen, rejection, retirement, export that loses nobody's edit."""

from __future__ import annotations

import hashlib
import json
import re
from pathlib import Path
from typing import Any

import pytest

from articles.export import MANIFEST
from articles.publish import Publisher, UnknownArticle
from data.articles import get_article, reviews_of
from data.crud.articles import ApproveArticle, PublishArticle, StageArticle
from data.crud.engine import perform
from data.events import list_events
from data.evidence import EvidenceAltered, EvidenceFiles
from data.models import ArticleState, NodeKind
from data.nodes import node_by_uri
from data.store import Store
from tests.articles.corpus import KERBEROS, NGINX, VPN
from tests.articles.runs import run

EVA = "person:eva"
TGT = "Kerberos ticket-granting ticket"


@pytest.fixture
def publisher(store: Store) -> Publisher:
    return Publisher(store, EvidenceFiles(store.home))


async def staged(store: Store, topic: str = TGT, language: str = "en", names: tuple[str, ...] = KERBEROS) -> str:
    result = await run(store, topic, language, names)
    assert result.article_id is not None, result
    return result.article_id


async def state(store: Store, article_id: str) -> ArticleState:
    found = await store.read(get_article, article_id)
    assert found is not None
    return found.state


async def test_show_gives_every_statement_its_evidence(store: Store, publisher: Publisher) -> None:
    article_id = await staged(store)
    view = await publisher.show(article_id)
    assert view.article.state is ArticleState.STAGED
    assert view.revisions == (1,)
    assert {review.kind for review in view.reviews} == {"claims", "coverage"}
    assert view.statements
    files = EvidenceFiles(store.home)
    for statement in view.statements:
        assert statement.citations
        for record, citation in statement.citations:
            assert files.get(record.sha256)[citation.start : citation.end] == citation.quote
    assert [article.id for article in await publisher.list(ArticleState.STAGED)] == [article_id]
    with pytest.raises(UnknownArticle):
        await publisher.show("a_00000000000000000000000000")
    with pytest.raises(UnknownArticle):
        await publisher.show(article_id, 7)


async def test_only_a_person_approves_and_only_what_was_seen(store: Store, publisher: Publisher) -> None:
    article_id = await staged(store)
    for actor in ("synthesis", "", "person:", "person: "):
        assert (await publisher.approve(article_id, 1, actor)).reason == "not_a_person"
    second = await run(store, TGT.upper(), "en", KERBEROS, directives=("write the topic in capitals",))
    assert second.revision == 2
    refused = await publisher.approve(article_id, 1, EVA)
    assert (refused.status, refused.reason) == ("refused", "revision_changed")
    assert await state(store, article_id) is ArticleState.STAGED
    approved = await publisher.approve(article_id, 2, EVA)
    assert approved.ok
    assert approved.verified
    found = await store.read(get_article, article_id)
    assert found is not None
    assert (found.state, found.approved_revision) == (ArticleState.APPROVED, 2)
    assert (await store.read(reviews_of, article_id, 2))[-1].actor == EVA
    assert (await publisher.approve(article_id, 2, EVA)).reason == "not_staged"
    assert (await publisher.approve(article_id, 2, EVA)).status == "refused"


async def test_an_approved_article_is_a_node_until_it_retires(store: Store, publisher: Publisher) -> None:
    article_id = await staged(store)
    assert await store.read(node_by_uri, f"article:{article_id}") is None
    assert (await publisher.approve(article_id, 1, EVA)).ok
    node = await store.read(node_by_uri, f"article:{article_id}")
    assert node is not None
    assert (node.kind, node.meta["article_id"], node.active) == (NodeKind.ARTICLE, article_id, True)
    assert (await publisher.retire(article_id, EVA, "out of date")).ok
    gone = await store.read(node_by_uri, f"article:{article_id}")
    assert gone is None or not gone.active


async def test_rejection_needs_a_reason_and_a_person(store: Store, publisher: Publisher) -> None:
    article_id = await staged(store)
    assert (await publisher.reject(article_id, "  ", EVA)).reason == "no_reason"
    assert (await publisher.reject(article_id, "wrong", "synthesis")).reason == "not_a_person"
    assert (await publisher.reject(article_id, "wrong", EVA, revision=4)).reason == "revision_changed"
    assert (await publisher.reject(article_id, "the lifetime is missing", EVA, revision=1)).ok
    assert await state(store, article_id) is ArticleState.REJECTED
    assert (await publisher.approve(article_id, 1, EVA)).reason == "not_staged"
    events = await store.read(list_events, name_prefix="article.rejected", limit=5)
    assert [event.payload["reason"] for event in events] == ["the lifetime is missing"]


async def test_a_rejected_proposal_leaves_the_approved_revision(store: Store, publisher: Publisher) -> None:
    article_id = await staged(store)
    assert (await publisher.approve(article_id, 1, EVA)).ok
    await run(store, TGT.upper(), "en", KERBEROS, directives=("write the topic in capitals",))
    assert await state(store, article_id) is ArticleState.STAGED
    assert (await publisher.reject(article_id, "the old one was better", EVA)).ok
    found = await store.read(get_article, article_id)
    assert found is not None
    assert (found.state, found.approved_revision) == (ArticleState.APPROVED, 1)


async def test_retire_and_reactivate(store: Store, publisher: Publisher) -> None:
    article_id = await staged(store)
    assert (await publisher.retire(article_id, EVA)).reason == "not_approved"
    assert (await publisher.approve(article_id, 1, EVA)).ok
    assert (await publisher.retire(article_id, EVA)).ok
    assert await state(store, article_id) is ArticleState.RETIRED
    other = await run(store, TGT.upper(), "en", KERBEROS, directives=("write the topic in capitals",))
    assert other.article_id not in {None, article_id}
    assert (await publisher.reactivate(article_id, EVA)).reason == "topic_taken"
    assert (await publisher.reject(other.article_id or "", "no", EVA)).ok
    assert (await publisher.reactivate(article_id, EVA)).ok
    assert await state(store, article_id) is ArticleState.STAGED


async def test_nothing_is_staged_without_reviews_quality_or_evidence(store: Store) -> None:
    article_id = await staged(store)
    found = await store.read(get_article, article_id)
    assert found is not None
    from data.articles import get_revision
    from data.crud.articles import AttemptDraft, ReviewDraft

    revision = await store.read(get_revision, article_id, 1)
    assert revision is not None
    passed = (ReviewDraft("claims", True, 1.0), ReviewDraft("coverage", True, 1.0))

    def operation(**values: Any) -> StageArticle:
        base: dict[str, Any] = {
            "topic": "other",
            "topic_key": "en:other",
            "type": found.type,
            "language": "en",
            "title": "Other",
            "content": revision.content,
            "markdown": "text",
            "sha256": "0" * 64,
            "fingerprint": "f",
            "evidence_ids": revision.evidence_ids,
            "quality": {"passed": True},
            "reviews": passed,
            "attempt": AttemptDraft(None, "en:other", "f", "p", found.type, "staged", "staged"),
            "actor": "synthesis",
        }
        return StageArticle(**{**base, **values})

    for change, reason in (
        ({"reviews": passed[:1]}, "review_missing"),
        ({"reviews": (passed[0], ReviewDraft("coverage", False, 0.5))}, "review_missing"),
        ({"quality": {"passed": False}}, "quality_failed"),
        ({"evidence_ids": (*revision.evidence_ids, "v_00000000000000000000000000")}, "evidence_missing"),
        ({"evidence_ids": ()}, "evidence_not_accepted"),
    ):
        outcome = await perform(store, operation(**change), actor="synthesis")
        assert (outcome.status, outcome.reason) == ("refused", reason)
    assert (await perform(store, operation(), actor="synthesis")).ok


async def test_a_stale_version_is_refused(store: Store) -> None:
    article_id = await staged(store)
    stale = ApproveArticle(article_id, 1, EVA, version=9)
    assert (await perform(store, stale, actor=EVA)).reason == "stale_version"
    assert (await perform(store, PublishArticle(article_id, 1, "x"), actor="export")).reason == "not_approved"


# -- export -------------------------------------------------------------------------------------------------------


def statements(text: str) -> list[dict[str, Any]]:
    """Read the statements out of the front matter by its own plain form, without the package's help."""
    front = text.split("---\n")[1]
    found: list[dict[str, Any]] = []
    for line in front.splitlines():
        if match := re.match(r"  - place: (.*)", line):
            found.append({"place": json.loads(match[1]), "citations": []})
        elif found and (match := re.match(r"    (kind|text|code|lead_in): (.*)", line)):
            found[-1][match[1]] = json.loads(match[2])
        elif found and (match := re.match(r"      - \{sha256: (\"\w+\"), start: (\d+), end: (\d+), url: (.*)\}", line)):
            found[-1]["citations"].append((json.loads(match[1]), int(match[2]), int(match[3]), json.loads(match[4])))
    return found


async def three(store: Store, publisher: Publisher) -> list[str]:
    ids = [
        await staged(store),
        await staged(store, "VPN error 809 on Windows 11", "en", VPN),
        await staged(store, "Let's-Encrypt-Zertifikat unter nginx erneuern", "de", NGINX),
    ]
    for article_id in ids[:2]:
        assert (await publisher.approve(article_id, 1, EVA)).ok
    return ids


async def test_export_writes_what_is_approved_with_every_citation(
    store: Store, publisher: Publisher, tmp_path: Path
) -> None:
    ids = await three(store, publisher)
    report = await publisher.export(tmp_path / "out")
    assert len(report.written) == 2
    assert sorted(report.published) == sorted(ids[:2])
    assert [await state(store, one) for one in ids] == [
        ArticleState.PUBLISHED,
        ArticleState.PUBLISHED,
        ArticleState.STAGED,
    ]
    files = EvidenceFiles(store.home)
    for name in report.written:
        text = (tmp_path / "out" / name).read_text(encoding="utf-8")
        found = statements(text)
        assert found
        body = text.split("---\n", 2)[2]
        assert not re.search(r"\b[a-z]_[0-9A-HJKMNP-TV-Z]{26}\b", text)
        for statement in found:
            assert statement["citations"], statement
            for sha256, start, end, url in statement["citations"]:
                source = files.get(sha256)
                assert hashlib.sha256(source.encode()).hexdigest() == sha256
                assert source[start:end].strip()
                assert url.startswith("https://")
        assert "## Sources" in body


async def test_export_is_repeatable_and_loses_no_edit(store: Store, publisher: Publisher, tmp_path: Path) -> None:
    await three(store, publisher)
    out = tmp_path / "out"
    first = await publisher.export(out)
    before = {path.name: path.read_bytes() for path in out.iterdir()}
    again = await publisher.export(out)
    assert (again.written, again.published) == ((), ())
    assert sorted(again.unchanged) == sorted(first.written)
    assert {path.name: path.read_bytes() for path in out.iterdir()} == before
    edited = out / first.written[0]
    edited.write_text(edited.read_text() + "\nMy own note.\n")
    third = await publisher.export(out)
    assert third.edited == (edited.name,)
    assert edited.read_text().endswith("My own note.\n")
    assert not list(out.glob("*.tmp"))


async def test_a_file_that_was_there_is_not_ours(store: Store, publisher: Publisher, tmp_path: Path) -> None:
    await three(store, publisher)
    first = await publisher.export(tmp_path / "a")
    other = tmp_path / "b"
    other.mkdir()
    (other / first.written[0]).write_text("Somebody's file.\n")
    report = await publisher.export(other)
    assert report.edited == (first.written[0],)
    assert (other / first.written[0]).read_text() == "Somebody's file.\n"
    assert report.written == (first.written[1],)


async def test_an_edited_file_does_not_count_as_published(store: Store, publisher: Publisher, tmp_path: Path) -> None:
    article_id = await staged(store)
    assert (await publisher.approve(article_id, 1, EVA)).ok
    out = tmp_path / "out"
    out.mkdir()
    name = "concept-kerberos-ticket-granting-ticket-" + article_id[-8:].lower() + ".md"
    (out / name).write_text("Not ours.\n")
    report = await publisher.export(out)
    assert report.edited == (name,)
    assert report.published == ()
    assert await state(store, article_id) is ArticleState.APPROVED


async def test_a_crash_between_file_and_manifest_is_no_edit(store: Store, publisher: Publisher, tmp_path: Path) -> None:
    article_id = await staged(store)
    assert (await publisher.approve(article_id, 1, EVA)).ok
    out = tmp_path / "out"
    name = (await publisher.export(out)).written[0]
    old = (out / name).read_bytes()
    # the next revision was named in the manifest and its file written, then the process died
    await run(store, TGT.upper(), "en", KERBEROS, directives=("write the topic in capitals",))
    assert (await publisher.approve(article_id, 2, EVA)).ok
    manifest = json.loads((out / MANIFEST).read_text())
    half = b"the next content"
    manifest["files"][name]["coming"] = [hashlib.sha256(half).hexdigest()]
    (out / MANIFEST).write_text(json.dumps(manifest))
    (out / name).write_bytes(half)
    report = await publisher.export(out)
    assert report.written == (name,)
    assert (out / name).read_bytes() not in {old, half}


async def test_a_retired_article_leaves_the_folder_unless_edited(
    store: Store, publisher: Publisher, tmp_path: Path
) -> None:
    ids = await three(store, publisher)
    out = tmp_path / "out"
    first = await publisher.export(out)
    for article_id in ids[:2]:
        assert (await publisher.retire(article_id, EVA)).ok
    (out / first.written[0]).write_text("edited\n")
    report = await publisher.export(out)
    assert report.removed == (first.written[1],)
    assert report.edited == (first.written[0],)
    assert (out / first.written[0]).exists()


async def test_an_altered_text_is_never_served_as_if_it_were_whole(
    store: Store, publisher: Publisher, tmp_path: Path
) -> None:
    article_id = await staged(store)
    view = await publisher.show(article_id)
    assert (await publisher.approve(article_id, 1, EVA)).ok
    files = EvidenceFiles(store.home)
    path = store.home / files.path_of(view.statements[0].citations[0][0].sha256)
    path.write_bytes(path.read_bytes()[:-4])
    with pytest.raises(EvidenceAltered):
        await publisher.show(article_id)
    report = await publisher.export(tmp_path / "out")
    assert list(report.failed) == [article_id]
    assert report.written == ()
    assert await state(store, article_id) is ArticleState.APPROVED
