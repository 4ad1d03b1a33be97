"""The shipped sample against its hand-made key, with the real model: run with -s to read the table."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from brain.config import load_settings
from brain.runtime import Runtime, open_runtime
from brain.sample import judge_decoys, judge_pairs, load_sample, sample_key

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]


@pytest.fixture
async def runtime(tmp_path: Path) -> AsyncIterator[Runtime]:
    settings, _ = load_settings(home=tmp_path / "var", environment={})
    async with open_runtime(settings) as opened:
        await load_sample(opened)
        await opened.library.index()
        yield opened


async def test_every_decoy_is_stopped_by_the_gate_the_key_names(runtime: Runtime) -> None:
    verdicts = await judge_decoys(runtime)
    for verdict in verdicts:
        mark = "ok " if verdict.right else "BAD"
        print(f"{mark} {verdict.kind:<20} {verdict.expected:<18} {verdict.found:<18} {verdict.path}", file=sys.stderr)
    assert len(verdicts) >= 30
    assert [verdict for verdict in verdicts if not verdict.right] == []


async def test_pairs_end_as_the_key_says_in_38_of_40(runtime: Runtime) -> None:
    verdicts = await judge_pairs(runtime)
    for verdict in verdicts:
        mark = "ok " if verdict.right else "BAD"
        ends = f"{verdict.source} / {verdict.target}"
        print(f"{mark} {ends:<48} {verdict.expected:<60} {verdict.found}", file=sys.stderr)
    wrong = [verdict for verdict in verdicts if not verdict.right]
    assert len(verdicts) == len(sample_key()["pairs"]) >= 40
    assert len(wrong) / len(verdicts) <= 2 / 40, wrong
