"""Fixtures of the command line's tests."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.brain.cli_tools import Brain, build_sample_home, copy_home, make_brain


@pytest.fixture
def brain(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Brain:
    return make_brain(monkeypatch, capsys, tmp_path)


@pytest.fixture(scope="session")
def worked_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home that holds some of everything; to look at, never to change."""
    return build_sample_home(tmp_path_factory.mktemp("worked") / "home")


@pytest.fixture
def own_home(worked_home: Path, tmp_path: Path) -> Path:
    """A copy of the worked home that may be changed."""
    return copy_home(worked_home, tmp_path / "home")
