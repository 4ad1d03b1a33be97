from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import vector

MODULES = sorted(path.stem for path in Path(vector.__path__[0]).glob("*.py") if path.stem != "__init__")
HEAVY = ("torch", "sentence_transformers", "transformers", "numba", "scipy", "networkx", "threadpoolctl")
PURE = ("neighbours", "layout", "affinity", "quality", "packing", "mesh", "forces", "springs", "passages", "similarity")


def loaded(module: str, watched: tuple[str, ...]) -> list[str]:
    """Import one module in a fresh interpreter and return which of `watched` came with it."""
    code = f"import sys, vector.{module}; print(*(name for name in {watched!r} if name in sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return done.stdout.split()


def test_no_module_brings_a_heavy_library_along() -> None:
    names = ", ".join(f"vector.{name}" for name in MODULES if not name.endswith("kernels"))
    code = f"import sys, {names}; print(*(name for name in {HEAVY!r} if name in sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []


@pytest.mark.slow
@pytest.mark.parametrize("module", PURE)
def test_pure_mathematics_knows_no_store(module: str) -> None:
    assert loaded(module, ("sqlalchemy", "aiosqlite", "httpx", "data.store")) == []
