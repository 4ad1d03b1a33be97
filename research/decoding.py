"""Content codings, undone piece by piece, so that a bomb ends at the limit and not in memory (spec 10).

Each decoder takes what came from the wire in small slices and never hands out much more than one slice can
hold: gzip and deflate are bounded by zlib itself, br by its output limit, zstd by feeding it so little that
its highest ratio (128 KiB from four bytes) stays within some MiB.
"""

from __future__ import annotations

import importlib
import zlib
from collections.abc import Iterator
from typing import Any, Final, Protocol

__all__ = ["Decoder", "DecodingError", "accepted_codings", "decoder_for"]

_PIECE: Final = 64 * 1024
_GZIP: Final = zlib.MAX_WBITS | 16
_GZIP_MAGIC: Final = b"\x1f\x8b"
_ZSTD_SLICE: Final = 128
_ZSTD_WINDOW: Final = 8 * 1024 * 1024
"""RFC 8878 asks a decoder for 8 MiB; browsers allow no more for HTTP."""
_MAX_CODINGS: Final = 2


class DecodingError(Exception):
    """A body that is not what its Content-Encoding says, or a coding that is not known."""


class Decoder(Protocol):
    """Undoes one coding."""

    def feed(self, data: bytes) -> Iterator[bytes]:
        """Yield the plain pieces of the next encoded `data`; raise DecodingError for a broken one."""
        ...

    def finish(self) -> None:
        """Raise DecodingError if the coded stream is not at its end."""
        ...


class _Identity:
    def feed(self, data: bytes) -> Iterator[bytes]:
        if data:
            yield data

    def finish(self) -> None:
        return


class _Zlib:
    """gzip (several members), or deflate in the zlib frame."""

    def __init__(self, wbits: int) -> None:
        self._wbits = wbits
        self._inner = zlib.decompressobj(wbits)
        self._after = b""

    def feed(self, data: bytes) -> Iterator[bytes]:
        while data:
            if self._inner.eof:
                data = self._after = self._after + data
                if self._wbits != _GZIP or not data.startswith(_GZIP_MAGIC):
                    self._after = data[:1]  # padding, or the first byte of another member
                    return
                self._inner, self._after = zlib.decompressobj(self._wbits), b""
            yield from self._pieces(data)
            data = self._inner.unused_data if self._inner.eof else b""

    def _pieces(self, data: bytes) -> Iterator[bytes]:
        """Yield what `data` holds up to the end of the stream, at most `_PIECE` bytes at a time."""
        while True:
            try:
                piece = self._inner.decompress(data, _PIECE)
            except zlib.error as error:
                raise DecodingError(f"broken compressed body: {error}") from None
            if piece:
                yield piece
            data = self._inner.unconsumed_tail
            if self._inner.eof or not (piece or data):
                return

    def finish(self) -> None:
        if not self._inner.eof:
            raise DecodingError("the compressed body ends too early")


class _Deflate:
    """deflate as it is sent: in the zlib frame of RFC 9110, or bare, as some servers send it."""

    def __init__(self) -> None:
        self._first = b""
        self._inner: _Zlib | None = None

    def feed(self, data: bytes) -> Iterator[bytes]:
        if self._inner is None:
            data = self._first = self._first + data
            if len(data) < 2:
                return
            framed = data[0] & 0x0F == 8 and int.from_bytes(data[:2], "big") % 31 == 0
            self._inner = _Zlib(zlib.MAX_WBITS if framed else -zlib.MAX_WBITS)
        yield from self._inner.feed(data)

    def finish(self) -> None:
        (self._inner or _Zlib(zlib.MAX_WBITS)).finish()


class _Zstd:
    def __init__(self) -> None:
        import zstandard

        self._error = zstandard.ZstdError
        self._context = zstandard.ZstdDecompressor(max_window_size=_ZSTD_WINDOW)
        self._inner: Any = self._context.decompressobj()

    def feed(self, data: bytes) -> Iterator[bytes]:
        for at in range(0, len(data), _ZSTD_SLICE):
            piece = data[at : at + _ZSTD_SLICE]
            while piece:
                if self._inner.eof:
                    self._inner = self._context.decompressobj()
                try:
                    plain = self._inner.decompress(piece)
                except self._error as error:
                    raise DecodingError(f"broken compressed body: {error}") from None
                if plain:
                    yield plain
                piece = self._inner.unused_data if self._inner.eof else b""

    def finish(self) -> None:
        if not self._inner.eof:
            raise DecodingError("the compressed body ends too early")


class _Brotli:
    def __init__(self, module: Any) -> None:
        self._error = module.error
        self._inner = module.Decompressor()

    def feed(self, data: bytes) -> Iterator[bytes]:
        while True:
            try:
                plain: bytes = self._inner.process(data, output_buffer_limit=_PIECE)
            except self._error as error:
                raise DecodingError(f"broken compressed body: {error}") from None
            if plain:
                yield plain
            data = b""
            if self._inner.is_finished() or self._inner.can_accept_more_data():
                return

    def finish(self) -> None:
        if not self._inner.is_finished():
            raise DecodingError("the compressed body ends too early")


def _brotli() -> Any | None:
    """Return the brotli module where it is installed and can bound its output (1.2 and later)."""
    try:
        module = importlib.import_module("brotli")
    except ImportError:
        return None
    return module if hasattr(module.Decompressor, "can_accept_more_data") else None


def accepted_codings() -> str:
    """Return the Accept-Encoding header: what can be undone within bounds here."""
    return "gzip, deflate, zstd, br" if _brotli() is not None else "gzip, deflate, zstd"


class _Chain:
    """Codings one after the other, the last applied undone first."""

    def __init__(self, outer: Decoder, inner: Decoder) -> None:
        self._outer, self._inner = outer, inner

    def feed(self, data: bytes) -> Iterator[bytes]:
        for piece in self._outer.feed(data):
            yield from self._inner.feed(piece)

    def finish(self) -> None:
        self._outer.finish()
        self._inner.finish()


def decoder_for(content_encoding: str) -> Decoder:
    """Return the decoder for a Content-Encoding header; raise DecodingError for an unknown or stacked-up one."""
    codings = [name for name in (part.strip().lower() for part in content_encoding.split(",")) if name]
    codings = [name for name in codings if name != "identity"]
    if len(codings) > _MAX_CODINGS:
        raise DecodingError(f"{len(codings)} content codings on top of each other")
    chain: Decoder = _Identity()
    for name in codings:
        one = _one(name)
        chain = one if isinstance(chain, _Identity) else _Chain(one, chain)
    return chain


def _one(name: str) -> Decoder:
    if name in {"gzip", "x-gzip"}:
        return _Zlib(_GZIP)
    if name == "deflate":
        return _Deflate()
    if name == "zstd":
        return _Zstd()
    module = _brotli() if name == "br" else None
    if module is None:
        raise DecodingError(f"the content coding {name!r} was not asked for")
    return _Brotli(module)
