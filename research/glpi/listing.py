"""Lists of GLPI, page by page, that lose nothing while they change (API documentation, "Get all items").

A page is a range of an order. What is removed or modified between two pages moves the rest, and rows would be passed
over. So each page begins with the last row of the one before: where that is not what comes back, the list has become
shorter before it, and reading goes a page back. The total of `Content-Range` is only a hint: GLPI counts an item once
for each of its joined rows, and lists it once.
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from research.glpi.client import GlpiClient
from research.glpi.errors import GlpiRefused, GlpiTooLong, GlpiUnreachable

__all__ = ["PAGE", "Page", "Place", "item", "listing", "rows_of"]

PAGE: Final = 100
"""Rows asked for at once."""
_SMALLEST: Final = 2
"""Pages whose answer is too long are asked for smaller, down to the row that is known and one more."""
_STEPS_BACK: Final = 60
"""A list that makes one go back more often is changing faster than it can be read, or contradicts itself."""
_CONTENT_RANGE: Final = re.compile(r"\s*(\d+)\s*-\s*(-?\d+)\s*/\s*(\d+)\s*")


@dataclass(frozen=True, slots=True)
class Place:
    """Where a reading by id was left: `offset` rows from the start stands the row `last`."""

    offset: int = 0
    last: int = 0


@dataclass(frozen=True, slots=True)
class Page:
    """New rows in order, how many GLPI says there are (None: it did not say), and where to go on."""

    rows: tuple[Mapping[str, Any], ...]
    total: int | None
    place: Place = field(default_factory=Place)


async def listing(
    client: GlpiClient,
    path: str,
    parameters: Mapping[str, Any] | None = None,
    *,
    newest_first: bool = False,
    place: Place = Place(),
    size: int = PAGE,
) -> AsyncIterator[Page]:
    """Yield the rows under `path` by ascending id, or by descending `date_mod`, each once.

    `place` goes on with a reading by id. Raises GlpiError; GlpiUnreachable where the list does not hold still.
    """
    order = {"sort": "date_mod", "order": "DESC"} if newest_first else {"sort": "id", "order": "ASC"}
    asked = {**(parameters or {}), **order, "get_hateoas": "false"}
    seen: set[int] = set()
    highest = place.last
    start, steps, back = place.offset, 0, 1
    while True:
        known = bool(seen) or (not newest_first and highest > 0)
        begin = max(0, start - 1) if known else start
        try:
            rows, total = await _page(client, path, asked, begin, size)
        except GlpiTooLong:
            if size <= _SMALLEST:
                raise
            size = max(_SMALLEST, size // 4)
            continue
        if begin > 0 and not _continues(rows, seen, highest, newest_first=newest_first):
            steps += 1
            if steps > _STEPS_BACK:
                raise GlpiUnreachable(f"{client.api}/{path}: the list changes faster than it can be read; try later")
            start = max(0, begin - size * back + 2)
            back *= 2
            continue
        fresh = [row for row in rows if row["id"] not in seen and (newest_first or row["id"] > highest)]
        seen.update(row["id"] for row in fresh)
        highest = max([highest, *(row["id"] for row in fresh)]) if not newest_first else highest
        start = begin + len(rows)
        if fresh:
            back = 1
            yield Page(tuple(fresh), total, Place(start, highest))
        short = len(rows) < size
        if short and (not fresh or total is None or start >= total):
            return


def _continues(rows: list[dict[str, Any]], seen: set[int], highest: int, *, newest_first: bool) -> bool:
    """Tell whether a page begins with a row that was read already."""
    if not rows:
        return False
    return rows[0]["id"] in seen if newest_first else rows[0]["id"] <= highest


async def _page(
    client: GlpiClient, path: str, asked: Mapping[str, Any], begin: int, size: int
) -> tuple[list[dict[str, Any]], int | None]:
    try:
        answer = await client.get(path, {**asked, "range": f"{begin}-{begin + size - 1}"})
    except GlpiRefused as error:
        if error.code == "ERROR_RANGE_EXCEED_TOTAL":
            return [], None
        raise
    return rows_of(client, path, answer.body), _total(answer.headers.get("content-range", ""))


def rows_of(client: GlpiClient, path: str, body: object) -> list[dict[str, Any]]:
    """Return the rows of a list; raise GlpiUnreachable for anything that is none."""
    if not isinstance(body, list) or not all(isinstance(row, dict) for row in body):
        raise GlpiUnreachable(f"{client.api}/{path}: GLPI sent no list; see BRAIN_GLPI_URL")
    for row in body:
        row["id"] = _id(row.get("id"), client, path)
    return body


async def item(client: GlpiClient, itemtype: str, item_id: int, parameters: Mapping[str, Any] | None = None) -> Any:
    """Return the fields of one item; raises GlpiNotFound, GlpiDenied."""
    path = f"{itemtype}/{item_id}"
    answer = await client.get(path, {**(parameters or {}), "get_hateoas": "false"})
    return rows_of(client, path, [answer.body])[0]


def _id(value: object, client: GlpiClient, path: str) -> int:
    """Return an id as a number: PHP's drivers give numbers as text on some installations."""
    if isinstance(value, int) and not isinstance(value, bool) and value >= 0:
        return value
    if isinstance(value, str) and re.fullmatch(r"\d{1,18}", value):
        return int(value)
    raise GlpiUnreachable(f"{client.api}/{path}: GLPI sent a row without an id")


def _total(header: str) -> int | None:
    match = _CONTENT_RANGE.fullmatch(header)
    return int(match[3]) if match else None
