"""Pages on disk, so that a second pass over the same subjects asks nobody (spec 04, Fetch).

One file a URL: a line of JSON, then the body, compressed. A file that does not hold together is dropped, never
served. The folder is bounded in bytes and age; the entries that were used longest ago go first.
"""

from __future__ import annotations

import hashlib
import json
import os
import secrets
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, Final

from data.clock import from_iso, to_iso

__all__ = ["CachedPage", "PageCache"]

_SUFFIX: Final = ".page"
_MAX_HEADER: Final = 64 * 1024
_MAX_BODY: Final = 64 * 1024 * 1024
_CLOCK_SLACK: Final = timedelta(hours=1)
"""An entry dated further in the future than this was written under a wrong clock and is stale."""


@dataclass(frozen=True, slots=True)
class CachedPage:
    """An answer as it was read: `body` is decoded, and cut where `cut` says so."""

    url: str
    final_url: str
    content_type: str
    etag: str
    last_modified: str
    fetched_at: datetime
    fresh_until: datetime
    cut: bool
    body: bytes

    def is_fresh(self, now: datetime) -> bool:
        """Tell whether the page may be used without asking its server."""
        return self.fetched_at - _CLOCK_SLACK <= now < self.fresh_until


class PageCache:
    """The folder `cache/fetch` of a home; every method is synchronous and quick (run it in a thread)."""

    def __init__(self, folder: Path, *, max_bytes: int, max_age: timedelta, now: Callable[[], datetime]) -> None:
        self._folder = folder
        self._max_bytes = max_bytes
        self._max_age = max_age
        self._now = now
        self._sizes: dict[Path, tuple[float, int]] | None = None

    def get(self, url: str) -> CachedPage | None:
        """Return the stored page of `url`, fresh or stale; None where there is none that holds together."""
        path = self._path(url)
        try:
            page = _unpack(path.read_bytes())
        except FileNotFoundError:
            return None
        except (OSError, ValueError, KeyError, TypeError):
            self._drop(path)
            return None
        if page.url != url or self._now() - page.fetched_at > self._max_age:
            self._drop(path)
            return None
        self._touch(path)
        return page

    def put(self, page: CachedPage) -> None:
        """Store `page`; a full or read-only disk is no error, the page is then asked for again next time."""
        data = _pack(page)
        if len(data) > self._max_bytes // 4:
            return
        path = self._path(page.url)
        temporary = path.with_name(f".{secrets.token_hex(8)}.tmp")
        try:
            path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            temporary.write_bytes(data)
            temporary.replace(path)
        except OSError:
            with suppress(OSError):
                temporary.unlink()
            return
        self._known()[path] = (self._now().timestamp(), len(data))
        self._shrink()

    def refresh(self, page: CachedPage, fresh_until: datetime) -> CachedPage:
        """Store `page` as confirmed now and return it so."""
        renewed = replace(page, fetched_at=self._now(), fresh_until=fresh_until)
        self.put(renewed)
        return renewed

    def size(self) -> int:
        """Return the bytes held."""
        return sum(size for _, size in self._known().values())

    def _path(self, url: str) -> Path:
        name = hashlib.sha256(url.encode("utf-8", "surrogatepass")).hexdigest()
        return self._folder / name[:2] / (name + _SUFFIX)

    def _known(self) -> dict[Path, tuple[float, int]]:
        """Return (last use, bytes) of every entry; the folder is read once, leftovers of a crash go."""
        if self._sizes is None:
            self._sizes = {}
            for path in self._folder.glob("*/*"):
                try:
                    status = path.stat()
                    if path.suffix == _SUFFIX:
                        self._sizes[path] = (status.st_mtime, status.st_size)
                    elif path.suffix == ".tmp":
                        path.unlink()
                except OSError:
                    continue
        return self._sizes

    def _touch(self, path: Path) -> None:
        at = self._now().timestamp()
        try:
            os.utime(path, (at, at))
            self._known()[path] = (at, path.stat().st_size)
        except OSError:
            return

    def _drop(self, path: Path) -> None:
        try:
            path.unlink(missing_ok=True)
        except OSError:
            return
        self._known().pop(path, None)

    def _shrink(self) -> None:
        """Drop the entries used longest ago until nine tenths of the bound are kept."""
        known = self._known()
        total = self.size()
        if total <= self._max_bytes:
            return
        for path in sorted(known, key=lambda entry: known[entry][0]):
            if total <= self._max_bytes * 0.9:
                break
            total -= known[path][1]
            self._drop(path)


def _pack(page: CachedPage) -> bytes:
    import zstandard

    head: dict[str, Any] = asdict(page)
    body = head.pop("body")
    head |= {"fetched_at": to_iso(page.fetched_at), "fresh_until": to_iso(page.fresh_until)}
    head["sha256"] = hashlib.sha256(body).hexdigest()
    return json.dumps(head, ensure_ascii=True).encode("ascii") + b"\n" + zstandard.compress(body, 3)


def _unpack(data: bytes) -> CachedPage:
    """Return the page in `data`; raise ValueError, KeyError or TypeError where it does not hold together."""
    import zstandard

    line, _, packed = data[: _MAX_HEADER + 1].partition(b"\n")
    if len(line) > _MAX_HEADER:
        raise ValueError("no header line")
    packed = data[len(line) + 1 :]
    head = json.loads(line)
    try:
        body = zstandard.ZstdDecompressor().decompress(packed, max_output_size=_MAX_BODY)
    except zstandard.ZstdError as error:
        raise ValueError(str(error)) from None
    if hashlib.sha256(body).hexdigest() != head.pop("sha256"):
        raise ValueError("the body was altered")
    head |= {"fetched_at": from_iso(head["fetched_at"]), "fresh_until": from_iso(head["fresh_until"])}
    return CachedPage(**head, body=body)
