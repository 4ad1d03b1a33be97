"""What `brain doctor` says about the embedding model: a mostly German graph wants a multilingual one."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from brain.config import load_settings
from brain.doctor import _model
from data.nodes import count_by_language
from vector.embed import HashingEmbedder


class _Store:
    def __init__(self, languages: dict[str, int]) -> None:
        self._languages = languages

    async def read(self, what: Any, *_: Any) -> Any:
        return self._languages if what is count_by_language else "a model"


@pytest.mark.parametrize(
    ("languages", "model", "noted"),
    [
        ({"de": 60, "en": 40}, "", True),
        ({"de": 40, "en": 60}, "", False),
        ({}, "", False),
        ({"de": 60, "en": 40}, "/models/multilingual", False),
    ],
)
async def test_a_multilingual_model_is_named_for_a_mostly_german_graph(
    languages: dict[str, int], model: str, noted: bool
) -> None:
    settings, _ = load_settings(environment={"BRAIN_EMBED_MODEL": model})
    runtime: Any = SimpleNamespace(store=_Store(languages), embedder=HashingEmbedder())
    checks = [check async for check in _model(settings, runtime)]
    notes = [check for check in checks if check.verdict == "note"]
    assert bool(notes) is noted
    if noted:
        assert "paraphrase-multilingual-MiniLM-L12-v2" in str(notes[0])
        assert "60 of 100 nodes are German" in str(notes[0])
