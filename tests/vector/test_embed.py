from __future__ import annotations

import socket
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from vector.embed import (
    CachedEmbedder,
    EmbeddingError,
    HashingEmbedder,
    ModelUnavailable,
    SentenceTransformerEmbedder,
    node_vector,
    node_vectors,
    passages,
)


class Scripted:
    """An embedder whose vectors are given by hand, and which counts what it is asked."""

    name = "scripted"
    dim = 2

    def __init__(self, table: dict[str, tuple[float, float]]) -> None:
        self.table = table
        self.asked: list[str] = []

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        self.asked.extend(texts)
        return np.array([self.table[text] for text in texts], np.float32).reshape(-1, 2)


def test_hashing_dim_below_two_is_refused() -> None:
    with pytest.raises(ValueError, match="dim must be at least 2"):
        HashingEmbedder(1)


def test_a_model_that_is_not_there_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(ModelUnavailable, match=r"no sentence-transformers model.*modules\.json"):
        SentenceTransformerEmbedder(str(tmp_path))


def test_an_embedder_that_returns_nonsense_is_refused_by_index() -> None:
    embedder = Scripted({"a": (1.0, 0.0), "b": (float("nan"), 0.0)})
    with pytest.raises(EmbeddingError, match="text 1 of 2"):
        node_vectors([("a", ""), ("b", "")], embedder)


def test_hashing_is_deterministic_unit_and_lexical() -> None:
    texts = ["VPN error 809 on Windows", "VPN error 809 under Windows 11", "printer queue is stuck", ""]
    first, second = HashingEmbedder().encode(texts), HashingEmbedder().encode(texts)
    assert first.dtype == np.float32
    assert first.shape == (4, 64)
    assert np.array_equal(first, second)
    assert np.linalg.norm(first, axis=1) == pytest.approx(1.0)
    assert first[0] @ first[1] > 0.6
    assert first[0] @ first[2] < 0.4
    assert HashingEmbedder().encode([]).shape == (0, 64)


def test_the_space_names_the_dimension() -> None:
    assert HashingEmbedder(64).name != HashingEmbedder(128).name


def test_node_vector_weighs_the_label_passage() -> None:
    body = "\n\n".join(["word " * 180] * 5)
    cut = passages(f"label\n\n{body}")
    assert len(cut) > 3
    table = dict.fromkeys(cut, (0.0, 1.0))
    table[cut[0]] = (1.0, 0.0)
    vector = node_vector("label", body, Scripted(table))
    # 0.3 of the label's passage against 0.7 of all others: tan of the angle is 7/3.
    assert vector[1] / vector[0] == pytest.approx(7 / 3, rel=1e-5)
    assert np.linalg.norm(vector) == pytest.approx(1.0)


def test_passages_that_cancel_out_fall_back_to_the_label() -> None:
    first, second = "label " * 100, "word " * 200
    cut = passages(f"{first.strip()}\n\n{second}")
    assert len(cut) == 2
    embedder = Scripted({cut[0]: (1.0, 0.0), cut[1]: (-1.0, 0.0)})
    vector = node_vectors([(first, second)], embedder)[0]
    assert np.isfinite(vector).all()
    assert abs(np.linalg.norm(vector) - 1.0) < 1e-6


def test_all_nodes_go_to_the_embedder_in_one_call() -> None:
    embedder = Scripted({"a": (1.0, 0.0), "b": (0.0, 1.0)})
    vectors = node_vectors([("a", ""), ("b", "")], embedder)
    assert embedder.asked == ["a", "b"]
    assert vectors.tolist() == [[1.0, 0.0], [0.0, 1.0]]
    assert node_vectors([], embedder).shape == (0, 2)


def test_cache_asks_once_and_forgets_the_oldest() -> None:
    inner = Scripted({"a": (1.0, 0.0), "b": (0.0, 1.0), "c": (0.6, 0.8)})
    cached = CachedEmbedder(inner, size=2)
    assert cached.encode(["a", "b", "a"]).tolist() == [[1.0, 0.0], [0.0, 1.0], [1.0, 0.0]]
    cached.encode(["a"])
    assert inner.asked == ["a", "b"]
    cached.encode(["c"])
    cached.encode(["a"])
    assert inner.asked == ["a", "b", "c"]
    cached.encode(["b"])
    assert inner.asked == ["a", "b", "c", "b"]
    assert cached.encode([]).shape == (0, 2)


def test_no_model_library_is_imported_before_the_first_text() -> None:
    code = (
        "import sys, vector.embed; e = vector.embed.SentenceTransformerEmbedder(); assert e.dim == 384 and e.name;"
        "print([m for m in ('torch', 'sentence_transformers', 'transformers', 'numba', 'scipy') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.slow
def test_a_model_that_cannot_be_loaded_names_the_setting(tmp_path: Path) -> None:
    (tmp_path / "modules.json").write_text("[]", encoding="utf-8")
    with pytest.raises(ModelUnavailable, match="BRAIN_EMBED_MODEL"):
        SentenceTransformerEmbedder(str(tmp_path)).encode(["text"])


@pytest.mark.slow
def test_bundled_model_loads_and_ranks_without_network(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*args: object, **kwargs: object) -> None:
        raise AssertionError(f"network access attempted: {args}")

    for name in ("connect", "connect_ex", "sendto"):
        monkeypatch.setattr(socket.socket, name, refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    embedder = SentenceTransformerEmbedder(threads=1)
    texts = ["The VPN connection fails", "Cannot connect to the virtual private network", "Recipe for apple pie"]
    vectors = embedder.encode(texts)
    assert vectors.shape == (3, 384)
    assert vectors.dtype == np.float32
    assert np.linalg.norm(vectors, axis=1) == pytest.approx(1.0, abs=1e-5)
    assert vectors[0] @ vectors[1] > 0.5 > 0.2 > vectors[0] @ vectors[2]
    assert np.array_equal(vectors, embedder.encode(texts))


@pytest.mark.slow
def test_length_model_keeps_real_passages_inside_the_models_window() -> None:
    from transformers import AutoTokenizer

    from vector.embed import _bundled_path

    tokenizer = AutoTokenizer.from_pretrained(str(_bundled_path()))
    source = Path(__file__).parents[2] / "vector"
    texts = [path.read_text(encoding="utf-8") for path in source.glob("*.py")] + [GERMAN * 12]
    lengths = np.array([len(tokenizer(part)["input_ids"]) for text in texts for part in passages(text)])
    assert len(lengths) > 20
    assert (lengths > 256).mean() < 0.02
    assert lengths.max() < 300
    assert np.median(lengths) > 120


GERMAN = """Nach dem Einspielen der Sicherheitsaktualisierung melden mehrere Arbeitsplätze, dass die
Netzlaufwerke beim Anmelden nicht mehr verbunden werden. Ursache ist eine geänderte Vorgabe für die
Namensauflösung: Die Gruppenrichtlinie erzwingt verschlüsselte Verbindungen, der Dateiserver bietet sie aber
nicht an. Abhilfe schafft das Zurücksetzen der Richtlinie oder das Nachrüsten der Verschlüsselung am Server.
Anschließend muss der Zwischenspeicher der Anmeldeinformationen geleert und der Rechner neu gestartet werden.

"""
