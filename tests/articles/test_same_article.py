"""Same input, same article: whole runs in processes of their own, with other hash seeds, give the same bytes."""

from __future__ import annotations

import asyncio
import hashlib
import os
import subprocess
import sys
from pathlib import Path

import pytest

from articles.codec import article_from_content
from articles.export_items import ExportItem
from articles.export_markdown import markdown_file
from data.articles import get_revision
from data.models import ArticleState
from data.store import Store
from tests.articles.corpus import TOPICS, evidence
from tests.articles.runs import run

ROOT = Path(__file__).parents[2]


async def _articles(home: Path, *, backwards: bool) -> bytes:
    """Return every topic's article as its Markdown file, in one piece, from whole runs in a store of their own."""
    found = []
    async with await Store.open(home) as store:
        for topic, language, names, questions, _ in TOPICS:
            given = tuple(reversed(names)) if backwards else names
            result = await run(store, topic, language, given, questions)
            assert result.article_id is not None, (topic, result.reason)
            revision = await store.read(get_revision, result.article_id, result.revision or 1)
            assert revision is not None
            # ids are those of a home and stand in no exported file: the texts are told by their digests
            sources = {one.evidence.sha256: one for one in evidence(*names)}
            ids = {citation["evidence"]: sources[citation["sha256"]] for citation in _citations(revision.content)}
            content = article_from_content(revision.content, ids)
            records = {name: source.evidence for name, source in ids.items()}
            records |= {source.evidence.id: source.evidence for source in sources.values()}
            item = ExportItem("a_1", 1, ArticleState.APPROVED, content, revision.markdown, records)
            found.append(markdown_file(item))
    return b"\n".join(found)


def _citations(value: object) -> list[dict[str, str]]:
    if isinstance(value, dict):
        own = value.get("citations", [])
        return [*own, *(one for inner in value.values() if inner is not own for one in _citations(inner))]
    if isinstance(value, list):
        return [one for inner in value for one in _citations(inner)]
    return []


@pytest.mark.slow
def test_two_processes_write_the_same_bytes(tmp_path: Path) -> None:
    said = []
    for seed, order in (("0", "forwards"), ("4242", "backwards")):
        home = tmp_path / seed
        home.mkdir()
        done = subprocess.run(
            [sys.executable, "-m", "tests.articles.test_same_article", str(home), order],
            capture_output=True,
            timeout=240,
            cwd=ROOT,
            env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": str(ROOT)},
            check=False,
        )
        assert done.returncode == 0, done.stderr.decode()[-2000:]
        said.append(done.stdout)
    assert len(said[0]) > 5_000
    assert hashlib.sha256(said[0]).hexdigest() == hashlib.sha256(said[1]).hexdigest()
    assert said[0] == said[1]


if __name__ == "__main__":
    sys.stdout.buffer.write(asyncio.run(_articles(Path(sys.argv[1]), backwards=sys.argv[2] == "backwards")))
