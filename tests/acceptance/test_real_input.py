"""The whole job over real documentation, as `make real-input` does it, judged from outside."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
CACHE = ROOT / ".cache" / "real-input"
PAIRS = 400
SECONDS = 40 * 60


@pytest.mark.slow
@pytest.mark.timeout(SECONDS + 60)
def test_real_documents_become_relations_and_articles(tmp_path: Path) -> None:
    if shutil.which("apt-get") is None and not os.environ.get("CI"):
        pytest.skip("the documents come from Debian packages, and there is no apt-get")
    said = tmp_path / "said.json"
    script = ROOT / "benchmarks" / "real_input.py"
    command = [
        sys.executable,
        str(script),
        "--cache",
        str(CACHE),
        "--fresh",
        "--pairs",
        str(PAIRS),
        "--json",
        str(said),
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, cwd=ROOT, check=False)
    assert done.returncode == 0, f"{done.stdout[-4000:]}\n{done.stderr[-4000:]}"
    print(done.stdout)
    document = json.loads(said.read_text(encoding="utf-8"))
    assert document["nodes_with_content"] >= 1_000
    assert len(document["relations"]) >= 10
    assert all(relation["evidence"] >= 1 for relation in document["relations"])
    staged = [article for article in document["articles"] if article["state"] == "staged"]
    assert len(staged) >= 8
    assert len({article["type"] for article in staged}) >= 3
    assert document["traced"], document["trace"]
    exports = tmp_path / "exports"
    home = CACHE / "home"
    for arguments in (
        ["-m", "benchmarks.mutate_articles", str(home), "--exports", str(exports)],
        ["benchmarks/check_articles.py", "--evidence", str(home / "evidence"), str(exports)],
    ):
        checked = subprocess.run(
            [sys.executable, *arguments],
            capture_output=True,
            text=True,
            timeout=300,
            cwd=ROOT,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            check=False,
        )
        assert checked.returncode == 0, f"{checked.stdout[-4000:]}\n{checked.stderr[-4000:]}"
    assert {task["state"] for task in document["tasks"]} <= {"completed", "cancelled", "deferred"}
    assert not any("Traceback" in line for line in done.stderr.splitlines())
