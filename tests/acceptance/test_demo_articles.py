"""What `brain demo` stages, judged by the checker that shares no code with the product, and exported twice alike."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PROGRAM = "import sys; from brain.cli.main import main; sys.exit(main())"


def brain(home: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", PROGRAM, *arguments, "--home", str(home)],
        capture_output=True,
        text=True,
        timeout=600,
        cwd=home.parent,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        check=False,
    )


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_every_article_of_the_demo_stands_in_its_evidence(tmp_path: Path) -> None:
    home = tmp_path / "home"
    made = brain(home, "demo")
    assert made.returncode == 0, made.stderr[-3000:]
    listed = brain(home, "articles", "list", "--json")
    assert listed.returncode == 0, listed.stderr
    articles = json.loads(listed.stdout)
    assert len(articles) >= 6
    assert len({article["type"] for article in articles}) >= 2
    for article in articles:
        approved = brain(home, "articles", "approve", article["id"], "--revision", "1", "--as", "tester")
        assert approved.returncode == 0, approved.stdout + approved.stderr
    exports = [tmp_path / "first", tmp_path / "second"]
    for folder in exports:
        written = brain(home, "articles", "export", str(folder))
        assert written.returncode == 0, written.stdout + written.stderr
    first, second = ({file.name: file.read_bytes() for file in folder.glob("*.md")} for folder in exports)
    assert len(first) == len(articles)
    assert first == second
    checked = subprocess.run(
        [sys.executable, "benchmarks/check_articles.py", "--evidence", str(home / "evidence"), str(exports[0])],
        capture_output=True,
        text=True,
        timeout=120,
        cwd=ROOT,
        check=False,
    )
    assert checked.returncode == 0, checked.stdout + checked.stderr
