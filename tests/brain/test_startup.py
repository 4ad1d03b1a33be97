"""What starts at once: help and status reach no heavy package, and no module needs another to be imported first."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
HEAVY = (
    "torch", "sentence_transformers", "numba", "scipy", "numpy", "networkx", "trafilatura", "lxml", "docx", "pypdf",
    "sqlalchemy", "alembic", "fastapi", "uvicorn", "httpx", "jinja2",
)  # fmt: skip
PACKAGES = ("brain", "articles", "research", "vector", "data")


def modules() -> list[str]:
    names = []
    for package in PACKAGES:
        for path in sorted((ROOT / package).rglob("*.py")):
            parts = path.relative_to(ROOT).with_suffix("").parts
            if "versions" in parts or parts[-1] in {"__init__", "env"}:
                continue
            names.append(".".join(parts))
    return names


def imported(statement: str) -> set[str]:
    script = f"import sys\n{statement}\nprint(*sorted(sys.modules))"
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, encoding="utf-8", check=True
    )
    return set(done.stdout.split())


@pytest.mark.parametrize("module", ["brain.cli.main", "brain.cli.telemetry"])
def test_help_and_status_reach_no_heavy_package(module: str) -> None:
    seen = imported(f"import {module}")
    assert module in seen
    assert seen.isdisjoint(HEAVY)


@pytest.mark.parametrize("module", ["data.store", "data.text", "research.queue"])
def test_light_modules_leave_the_mathematics_alone(module: str) -> None:
    seen = imported(f"import {module}")
    assert seen.isdisjoint({"torch", "sentence_transformers", "numba", "scipy", "networkx", "trafilatura", "alembic"})


@pytest.mark.slow
@pytest.mark.parametrize("module", modules())
def test_every_module_imports_alone(module: str) -> None:
    assert module in imported(f"import {module}")


def test_package_files_are_empty() -> None:
    for package in PACKAGES:
        for path in (ROOT / package).rglob("__init__.py"):
            assert path.read_text(encoding="utf-8") == "" or "migrations" in path.parts, path


@pytest.mark.parametrize(
    ("word", "home"),
    [("os.environ", "brain/config.py"), ("sentence_transformers", "vector/embed.py")],
)
def test_each_has_one_door(word: str, home: str) -> None:
    places = {
        path.relative_to(ROOT).as_posix()
        for package in PACKAGES
        for path in (ROOT / package).rglob("*.py")
        if word in path.read_text(encoding="utf-8")
    }
    assert places == {home}


def test_no_benchmark_is_named_like_a_module_of_the_standard_library() -> None:
    """A script started by its path stands before the standard library with everything beside it."""
    beside = {path.stem for path in (ROOT / "benchmarks").glob("*.py")}
    assert beside
    assert not beside & sys.stdlib_module_names
