"""Homes for the processes."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from tests.brain.cli_tools import build_sample_home, copy_home

# A shell starts its background jobs with SIGINT ignored, and children inherit that: Ctrl-C would reach nobody.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session")
def learned_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The sample ingested and embedded, nothing thought about yet; to copy, never to change."""
    return build_sample_home(tmp_path_factory.mktemp("learned") / "home", pairs=0, tasks=0)


@pytest.fixture
def home(learned_home: Path, tmp_path: Path) -> Path:
    return copy_home(learned_home, tmp_path / "home")
