"""The page cache: what goes in comes out, what is damaged does not, and the folder stays small."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from data.clock import ManualClock
from research.cache import CachedPage, PageCache


@pytest.fixture
def cache(tmp_path: Path, clock: ManualClock) -> PageCache:
    return PageCache(tmp_path / "cache", max_bytes=40_000, max_age=timedelta(days=30), now=clock.now)


def page(clock: ManualClock, url: str = "https://example.org/a", body: bytes = b"text") -> CachedPage:
    now = clock.now()
    return CachedPage(url, url + "#2", "text/html", '"e"', "", now, now + timedelta(days=1), False, body)


def test_a_page_comes_back_as_it_was(cache: PageCache, clock: ManualClock, tmp_path: Path) -> None:
    stored = page(clock, "https://example.org/ä?x=\udc80", b"\x00\xff" * 400)
    cache.put(stored)
    assert cache.get(stored.url) == stored
    assert (
        PageCache(tmp_path / "cache", max_bytes=40_000, max_age=timedelta(days=30), now=clock.now).get(stored.url)
        == stored
    )
    assert cache.get("https://example.org/b") is None


def test_fresh_until_it_is_not(clock: ManualClock) -> None:
    stored = page(clock)
    assert stored.is_fresh(clock.now())
    assert not stored.is_fresh(clock.now() + timedelta(days=1))
    assert not stored.is_fresh(clock.now() - timedelta(days=2))  # the clock was wrong when it was written


def test_an_old_entry_is_dropped_and_a_confirmed_one_is_new_again(cache: PageCache, clock: ManualClock) -> None:
    cache.put(page(clock))
    clock.advance(timedelta(days=29))
    stale = cache.get("https://example.org/a")
    assert stale is not None and not stale.is_fresh(clock.now())
    assert cache.refresh(stale, clock.now() + timedelta(days=1)).is_fresh(clock.now())
    clock.advance(timedelta(days=29))
    assert cache.get("https://example.org/a") is not None
    clock.advance(timedelta(days=2))
    assert cache.get("https://example.org/a") is None
    assert cache.size() == 0


@pytest.mark.parametrize("damage", [b"", b"{}", b"{}\n", b"[1]\nxx", b"\xff\xfe", b"{" * 100_000])
def test_a_damaged_file_is_dropped(cache: PageCache, clock: ManualClock, tmp_path: Path, damage: bytes) -> None:
    cache.put(page(clock))
    (path,) = (tmp_path / "cache").glob("*/*.page")
    path.write_bytes(damage)
    assert cache.get("https://example.org/a") is None
    assert not path.exists()


def test_an_altered_body_is_never_served(cache: PageCache, clock: ManualClock, tmp_path: Path) -> None:
    cache.put(page(clock, body=b"true" * 100))
    (path,) = (tmp_path / "cache").glob("*/*.page")
    whole = path.read_bytes()
    cache.put(page(clock, body=b"lies" * 100))
    head = whole.split(b"\n", 1)[0]
    path.write_bytes(head + b"\n" + path.read_bytes().split(b"\n", 1)[1])
    assert cache.get("https://example.org/a") is None


def test_a_file_under_the_wrong_name_is_not_taken_for_another_page(
    cache: PageCache, clock: ManualClock, tmp_path: Path
) -> None:
    cache.put(page(clock))
    (path,) = (tmp_path / "cache").glob("*/*.page")
    data = path.read_bytes()
    cache.put(page(clock, "https://example.org/b"))
    (other,) = set((tmp_path / "cache").glob("*/*.page")) - {path}
    other.write_bytes(data)
    assert cache.get("https://example.org/b") is None


def test_the_folder_is_bounded_and_what_was_used_longest_ago_goes(
    cache: PageCache, clock: ManualClock, tmp_path: Path
) -> None:
    import random

    noise = random.Random(7)
    for number in range(12):
        clock.advance(60)
        cache.put(page(clock, f"https://example.org/{number}", noise.randbytes(5_000)))
        if number > 0:
            assert cache.get("https://example.org/0") is not None  # used all the time
            clock.advance(1)
    assert cache.size() <= 40_000
    assert sum(path.stat().st_size for path in (tmp_path / "cache").glob("*/*")) == cache.size()
    assert cache.get("https://example.org/0") is not None
    assert cache.get("https://example.org/1") is None
    assert cache.get("https://example.org/11") is not None
    cache.put(page(clock, "https://example.org/huge", noise.randbytes(20_000)))
    assert cache.get("https://example.org/huge") is None  # one page does not push all others out


def test_a_disk_that_takes_nothing_is_no_error(tmp_path: Path, clock: ManualClock) -> None:
    (tmp_path / "cache").write_text("a file where the folder should be", encoding="utf-8")
    cache = PageCache(tmp_path / "cache", max_bytes=40_000, max_age=timedelta(days=30), now=clock.now)
    cache.put(page(clock))
    assert cache.get("https://example.org/a") is None
    assert replace(page(clock), cut=True).cut


def test_leftovers_of_a_crash_are_cleared(cache: PageCache, clock: ManualClock, tmp_path: Path) -> None:
    (tmp_path / "cache" / "ab").mkdir(parents=True)
    leftover = tmp_path / "cache" / "ab" / ".0123.tmp"
    leftover.write_bytes(b"half")
    cache.put(page(clock))
    assert not leftover.exists()
