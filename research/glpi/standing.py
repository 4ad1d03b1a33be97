"""How far an import is, kept in the store so that the next one goes on from there (spec 14, a sync is a diff).

Dates are GLPI's own, never this machine's clock: `watermark` is the newest modification seen when everything up to it
was done. A pass looks again a little before it, because GLPI's clock is a local one and repeats an hour in autumn.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from datetime import datetime, timedelta
from typing import Final

from data.state import get_state, set_state
from data.store import Store
from research.glpi.listing import Place

__all__ = [
    "BEGINNING",
    "OVERLAP",
    "Standing",
    "floor_of",
    "load_refused",
    "load_standing",
    "save_refused",
    "save_standing",
]

BEGINNING: Final = "1970-01-01 00:00:00"
OVERLAP: Final = timedelta(hours=3)
"""An hour that is repeated in autumn, and clocks that were set back a little."""
_FORM: Final = "%Y-%m-%d %H:%M:%S"
_STATE: Final = "glpi.sync."
_REFUSED: Final = "glpi.refused"
_REMEMBERED: Final = 2_000


@dataclass(frozen=True, slots=True)
class Standing:
    """Of one kind of item in the GLPI at `api`."""

    api: str
    watermark: str = ""
    """"" until everything was read once."""
    newest: str = ""
    """The newest modification when the first reading began: what comes after it is not certain to have been read."""
    offset: int = 0
    last: int = 0
    swept: str = ""
    """When removals were last looked for (UTC, ISO-8601)."""
    held_back: int = 0
    """Removals found then that wait for a person's word."""

    @property
    def place(self) -> Place:
        return Place(self.offset, self.last)

    def at(self, place: Place) -> Standing:
        return replace(self, offset=place.offset, last=place.last)


def floor_of(watermark: str) -> str:
    """Return the date down to which a pass reads."""
    try:
        moment = datetime.strptime(watermark, _FORM)  # noqa: DTZ007 - GLPI's local time, compared with its like only
        return (moment - OVERLAP).strftime(_FORM)
    except (ValueError, OverflowError):
        return BEGINNING


async def load_standing(store: Store, kind: str, api: str) -> Standing:
    """Return how far the import of `kind` is; from the start where it was another GLPI's."""
    value = await store.read(get_state, _STATE + kind)
    if not isinstance(value, dict) or value.get("api") != api:
        return Standing(api)
    return Standing(**value)


async def save_standing(store: Store, kind: str, standing: Standing) -> None:
    await store.write(set_state, _STATE + kind, asdict(standing))


async def load_refused(store: Store) -> dict[str, str]:
    """Return what was refused, `source_uri` to the date it had: said once, not said again until it changes."""
    value = await store.read(get_state, _REFUSED)
    return dict(value) if isinstance(value, dict) else {}


async def save_refused(store: Store, refused: dict[str, str]) -> None:
    await store.write(set_state, _REFUSED, dict(list(refused.items())[-_REMEMBERED:]))
