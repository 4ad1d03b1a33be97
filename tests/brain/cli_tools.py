"""The command line as a person uses it, run inside this process, with the light embedder instead of the model."""

from __future__ import annotations

import asyncio
import json
import logging
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import structlog

from brain.cli.main import app
from brain.config import load_settings
from brain.passes import Passes
from brain.runtime import open_runtime
from brain.sample import load_sample
from vector.embed import HashingEmbedder

DIMENSIONS = 384

Brain = Callable[..., "Done"]


@dataclass(frozen=True)
class Done:
    """One command's end."""

    status: int
    out: str
    err: str

    @property
    def document(self) -> Any:
        """The one JSON document that stands alone on stdout."""
        return json.loads(self.out)

    @property
    def sentence(self) -> str:
        """What was said on stderr, without the lines of progress."""
        lines = [line for line in self.err.splitlines() if line.startswith("brain: ")]
        assert len(lines) == 1, self.err
        return lines[0].removeprefix("brain: ")


def light_embedder(model: str | None = None) -> HashingEmbedder:
    return HashingEmbedder(DIMENSIONS)


def make_brain(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], folder: Path) -> Brain:
    """Return a function that runs `brain ARGUMENTS…` in `folder` with no other BRAIN_ settings than `env`."""
    monkeypatch.setattr("brain.embedding.SentenceTransformerEmbedder", light_embedder)
    monkeypatch.chdir(folder)

    def brain(*arguments: object, **env: str) -> Done:
        capsys.readouterr()
        with pytest.MonkeyPatch.context() as patch:
            for name, value in env.items():
                patch.setenv(name, value)
            try:
                with pytest.raises(SystemExit) as end:
                    app([str(argument) for argument in arguments], prog_name="brain")
            finally:
                structlog.reset_defaults()
                logging.getLogger().handlers.clear()
        written = capsys.readouterr()
        code = end.value.code
        return Done(code if isinstance(code, int) else 0 if code is None else 1, written.out, written.err)

    return brain


def build_sample_home(home: Path, *, pairs: int = 10, tasks: int = 3) -> Path:
    """Make a home in which every part of the job was done on the shipped sample, in small."""

    async def build() -> None:
        settings, _ = load_settings(home=home, environment={})
        async with open_runtime(settings, embedder=light_embedder()) as runtime:
            passes = Passes(runtime)
            await load_sample(runtime)
            await passes.learn()
            await passes.maintain()
            if pairs:
                await passes.think(limit=pairs)
            if tasks:
                await passes.scan()
                await passes.work(limit=tasks)

    asyncio.run(build())
    return home


def copy_home(source: Path, target: Path) -> Path:
    shutil.copytree(source, target)
    target.chmod(0o700)
    return target
