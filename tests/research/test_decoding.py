"""Content codings: what is whole comes back whole, what is broken says so, a bomb comes in bounded pieces."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Callable

import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from research.decoding import Decoder, DecodingError, accepted_codings, decoder_for

RAW = zlib.compressobj(9, zlib.DEFLATED, -zlib.MAX_WBITS)
PACKERS: dict[str, tuple[str, Callable[[bytes], bytes]]] = {
    "identity": ("", bytes),
    "gzip": ("gzip", gzip.compress),
    "x-gzip": ("X-GZIP", gzip.compress),
    "deflate": ("deflate", zlib.compress),
    "raw deflate": ("deflate", lambda data: zlib.compress(data)[2:-4]),
    "zstd": ("zstd", zstandard.compress),
    "zstd, two frames": ("zstd", lambda data: zstandard.compress(data[:9]) + zstandard.compress(data[9:])),
    "gzip, two members": ("gzip", lambda data: gzip.compress(data[:9]) + gzip.compress(data[9:])),
    "gzip in zstd": ("gzip, zstd", lambda data: zstandard.compress(gzip.compress(data))),
}


def undone(decoder: Decoder, data: bytes, step: int = 1000) -> bytes:
    pieces = [piece for at in range(0, len(data), step) for piece in decoder.feed(data[at : at + step])]
    decoder.finish()
    return b"".join(pieces)


@pytest.mark.parametrize("name", PACKERS)
@given(data=st.binary(max_size=3000), step=st.integers(1, 700))
@settings(max_examples=15, deadline=None)
def test_what_was_packed_comes_back(name: str, data: bytes, step: int) -> None:
    header, pack = PACKERS[name]
    assert undone(decoder_for(header), pack(data), step) == data


@pytest.mark.parametrize("name", ["gzip", "deflate", "zstd"])
def test_a_broken_or_short_body_says_so(name: str) -> None:
    whole = PACKERS[name][1](b"some text that is long enough to be packed " * 50)
    with pytest.raises(DecodingError):
        undone(decoder_for(name), whole[:-5])
    with pytest.raises(DecodingError):
        undone(decoder_for(name), b"\x00\x01\x02\x03\x04\x05\x06\x07\x08 nonsense" * 5)
    with pytest.raises(DecodingError):
        undone(decoder_for(name), b"")


@pytest.mark.parametrize("header", ["compress", "x-snappy", "gzip, gzip, gzip", "zstd;q=1"])
def test_an_unknown_or_stacked_up_coding_is_refused(header: str) -> None:
    with pytest.raises(DecodingError):
        decoder_for(header)


@pytest.mark.parametrize(
    ("name", "bomb"),
    [
        ("gzip", gzip.compress(bytes(64 * 1024 * 1024))),
        ("zstd", zstandard.ZstdCompressor(level=19).compress(bytes(256 * 1024 * 1024))),
        ("gzip, zstd", zstandard.compress(gzip.compress(bytes(64 * 1024 * 1024)))),
    ],
    ids=["gzip", "zstd", "both"],
)
def test_a_bomb_comes_in_pieces_that_can_be_counted(name: str, bomb: bytes) -> None:
    largest, total = 0, 0
    for piece in decoder_for(name).feed(bomb):
        largest, total = max(largest, len(piece)), total + len(piece)
        if total > 5 * 1024 * 1024:
            break
    assert largest <= 8 * 1024 * 1024
    assert 5 * 1024 * 1024 < total < 14 * 1024 * 1024


def test_nothing_is_asked_for_that_cannot_be_undone() -> None:
    for name in accepted_codings().split(", "):
        assert decoder_for(name) is not None
