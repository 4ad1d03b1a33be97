"""Tickets of GLPI become nodes: what is new, what changed, what is gone (spec 14, "connector sync is a diff").

The first reading goes by id and remembers its place. From then on a pass reads by modification, newest first, down to
a little before where the last complete pass was, in the list and in the bin; and once a day the ids of all tickets are
compared with ours, for what was purged. A pass that ends early leaves what it did, and the next one goes on.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from data.clock import from_iso, to_iso
from data.crud.ingest import NodeDraft
from data.glpi import KnownItem, known_among, known_items
from data.glpi_items import TICKET_URI, ticket_draft, ticket_uri, updated_of
from data.inbox_gates import InboxRefusal
from research.glpi.address import item_page
from research.glpi.client import GlpiClient
from research.glpi.errors import GlpiDenied, GlpiNotFound
from research.glpi.intake import Intake
from research.glpi.listing import item, listing
from research.glpi.report import Tally
from research.glpi.standing import BEGINNING, Standing, floor_of, load_standing, save_standing

__all__ = ["import_tickets"]

_KIND: Final = "Ticket"
_NAMED: Final = {"expand_dropdowns": "true"}
"""Names of categories instead of their numbers."""
_CHUNK: Final = 20
_IDS: Final = 500

Row = Mapping[str, Any]


async def import_tickets(client: GlpiClient, intake: Intake, *, since: str = "", full: bool = False) -> Tally:
    """Bring the tickets of the store to what GLPI shows.

    `since` (GLPI's time) reads what was modified from then on, and counts as the start where there was none; `full`
    reads everything again and looks for removals. Raises GlpiError; what was done before it stands.
    """
    run = _Run(client, intake)
    before = await load_standing(intake.store, _KIND, client.api)
    if full or (not before.watermark and not since):
        done = await run.first_reading(replace(before, watermark="", offset=0, last=0) if full else before)
    else:
        done = await run.changes(replace(before, watermark=since) if since else before, keep=before.watermark)
    if done and (full or run.sweep_is_due(await load_standing(intake.store, _KIND, client.api), before.swept)):
        await run.sweep()
    return run.tally


class _Run:
    def __init__(self, client: GlpiClient, intake: Intake) -> None:
        self.client = client
        self.intake = intake
        self.store = intake.store
        self.tally = Tally()
        self._slots = asyncio.Semaphore(intake.policy.parallel)

    async def first_reading(self, standing: Standing) -> bool:
        """Read everything by id, from where it was left; tell whether the end was reached."""
        if not standing.newest or not standing.last:
            standing = replace(standing, newest=await self._newest())
        async for page in listing(self.client, _KIND, _NAMED, place=standing.place):
            if not await self._take(page.rows):
                self.tally.more = True
                return False
            if not self.tally.failed:  # else the next reading begins with the page whose write did not stand
                standing = standing.at(page.place)
                await save_standing(self.store, _KIND, standing)
            self.intake.progress("tickets", page.place.offset, page.total)
        if self.tally.failed:
            return False
        standing = replace(standing, watermark=standing.newest or BEGINNING, newest="", offset=0, last=0)
        await save_standing(self.store, _KIND, standing)
        return True

    async def changes(self, standing: Standing, *, keep: str) -> bool:
        """Read what was modified since the watermark, and what went into the bin; tell whether that was all of it."""
        floor = floor_of(standing.watermark)
        newest = standing.watermark
        done = 0
        async for page in listing(self.client, _KIND, _NAMED, newest_first=True):
            rows = [row for row in page.rows if updated_of(row) >= floor]
            if not await self._take(rows):
                self.tally.more = True
                return False
            newest = max([newest, *map(updated_of, rows)])
            done += len(rows)
            self.intake.progress("tickets", done, None)
            if len(rows) < len(page.rows):
                break
        newest = max(newest, await self._bin(floor))
        if self.tally.failed:
            return False
        await save_standing(self.store, _KIND, replace(standing, watermark=max(newest, keep)))
        return True

    async def _bin(self, floor: str) -> str:
        """Take out what went into GLPI's bin; return the newest date in it."""
        newest = ""
        leaving: list[str] = []
        async for page in listing(self.client, _KIND, {"is_deleted": "true"}, newest_first=True):
            rows = [row for row in page.rows if updated_of(row) >= floor]
            newest = max([newest, *map(updated_of, rows)])
            known = await self.store.read(known_among, TICKET_URI, [row["id"] for row in rows])
            leaving += [ticket_uri(number) for number, one in known.items() if one.active and one.connected]
            if len(rows) < len(page.rows):
                break
        if leaving:
            active = await self._active()
            await self.intake.retire(self.tally, leaving, len(active), "deleted in GLPI")
        return newest

    def sweep_is_due(self, standing: Standing, swept: str) -> bool:
        if not standing.watermark:
            return False
        if not swept:
            return True
        passed = self.store.clock.now() - from_iso(swept)
        return passed >= self.intake.policy.sweep_every or passed.total_seconds() < 0

    async def sweep(self) -> None:
        """Compare all ids; whatever is missing is asked for by itself before it counts as gone."""
        active = await self._active()
        listed: set[int] = set()
        async for page in listing(self.client, _KIND, {"only_id": "true"}, size=_IDS):
            listed.update(row["id"] for row in page.rows)
            self.intake.progress("removals", len(listed), page.total)
            if self.intake.stopping():
                self.tally.more = True
                return
        missing = [number for number in active if number not in listed]
        if not self.intake.holds_back(len(missing), len(active)):
            missing = [number for number in missing if await self._is_gone(number)]
        await self.intake.retire(
            self.tally, [ticket_uri(number) for number in missing], len(active), "no longer shown by GLPI"
        )
        standing = await load_standing(self.store, _KIND, self.client.api)
        swept = to_iso(self.store.clock.now())
        await save_standing(self.store, _KIND, replace(standing, swept=swept, held_back=self.tally.held_back))

    async def _is_gone(self, number: int) -> bool:
        try:
            row = await item(self.client, _KIND, number)
        except GlpiNotFound:
            return True
        except GlpiDenied as error:
            if error.code != "ERROR_RIGHT_MISSING":
                raise
            return True  # it is there and not ours to read any more
        return bool(int(row.get("is_deleted") or 0))

    async def _active(self) -> dict[int, KnownItem]:
        known = await self.store.read_bulk(known_items, TICKET_URI)
        return {number: one for number, one in known.items() if one.active and one.connected}

    async def _newest(self) -> str:
        async for page in listing(self.client, _KIND, newest_first=True, size=1):
            return updated_of(page.rows[0])
        return ""

    async def _take(self, rows: Sequence[Row]) -> bool:
        """Write what of `rows` is new or changed; False where the run should end before the last of them."""
        known = await self.store.read(known_among, TICKET_URI, [row["id"] for row in rows])
        fresh = []
        for row in rows:
            one = known.get(row["id"])
            if one is not None and one.active and one.connected and one.updated and one.updated == updated_of(row):
                self.tally.unchanged += 1
            elif updated_of(row) and self.intake.refused.get(ticket_uri(row["id"])) == updated_of(row):
                self.tally.refused["refused_before"] += 1
            else:
                fresh.append(row)
        start = 0
        while start < len(fresh):
            if self.intake.ends():
                return False
            room = self.intake.room
            chunk = fresh[start : start + (_CHUNK if room is None else min(_CHUNK, room))]
            await self._write(chunk)
            start += len(chunk)
        return not self.intake.stopping()

    async def _write(self, rows: Sequence[Row]) -> None:
        read = await asyncio.gather(*map(self._parts, rows), return_exceptions=True)
        drafts: list[NodeDraft] = []
        for row, parts in zip(rows, read, strict=True):
            if isinstance(parts, BaseException):
                raise parts
            if parts is None:
                self.tally.refused["gone_meanwhile"] += 1
                continue
            try:
                drafts.append(
                    await asyncio.to_thread(
                        ticket_draft,
                        row,
                        *parts,
                        page=item_page(self.client.api, _KIND, row["id"]),
                        policy=self.intake.policy.inbox,
                    )
                )
            except InboxRefusal as refusal:
                origin = f"glpi:Ticket/{row['id']}"
                await self.intake.refuse(self.tally, ticket_uri(row["id"]), updated_of(row), refusal, origin)
        if drafts:
            await self.intake.write_each(self.tally, drafts)

    async def _parts(self, row: Row) -> tuple[list[Row], list[Row]] | None:
        """Return follow-ups and solutions, oldest first; None where the ticket went meanwhile."""
        try:
            followups = await self._below(row["id"], "ITILFollowup")
            return followups, await self._below(row["id"], "ITILSolution")
        except GlpiNotFound:
            return None

    async def _below(self, number: int, kind: str) -> list[Row]:
        async with self._slots:
            return [row async for page in listing(self.client, f"{_KIND}/{number}/{kind}") for row in page.rows]
