"""What the store remembers of GLPI: nodes that came from there, how far an import is, which article is which item."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from sqlalchemy import Connection, select

from data.nodes import nodes_by_uris
from data.schema import node, state
from data.state import clear_state, get_state, set_state
from data.tx import Tx

__all__ = [
    "ItemLink",
    "KnownItem",
    "exported_items",
    "forget_link",
    "item_link",
    "keep_link",
    "known_among",
    "known_items",
]

_LINK: Final = "glpi.article."


@dataclass(frozen=True, slots=True)
class KnownItem:
    """A node that came from GLPI. `updated` and `ends` are GLPI's own dates, "" where it had none."""

    node_id: str
    active: bool
    updated: str
    ends: str
    connected: bool
    """It came over the API; what came in a file is taken again, with all that a file lacks."""


@dataclass(frozen=True, slots=True)
class ItemLink:
    """Which item of which GLPI (`api`) an exported article is, and what was last written there."""

    article_id: str
    api: str
    item_id: int
    revision: int
    digest: str
    written: str
    """UTC, ISO-8601."""


def known_items(conn: Connection, prefix: str) -> dict[int, KnownItem]:
    """Return the nodes named `prefix` and a number, by that number; large: use `read_bulk`."""
    columns = (node.c.id, node.c.source_uri, node.c.active, node.c.meta)
    statement = select(*columns).where(node.c.source_uri.startswith(prefix, autoescape=True)).order_by(node.c.id)
    found: dict[int, KnownItem] = {}
    for node_id, uri, active, meta in conn.execute(statement):
        number = uri.removeprefix(prefix)
        if not number.isdecimal():
            continue  # a section of one
        known = found.get(int(number))
        if known is not None and known.active:
            continue
        found[int(number)] = _known(node_id, active, meta)
    return found


def known_among(conn: Connection, prefix: str, ids: Iterable[int]) -> dict[int, KnownItem]:
    """Return those of `known_items` that are among `ids`."""
    found = nodes_by_uris(conn, (f"{prefix}{number}" for number in ids))
    return {int(uri.removeprefix(prefix)): _known(one.id, one.active, one.meta) for uri, one in found.items()}


def _known(node_id: str, active: bool, meta: Mapping[str, Any]) -> KnownItem:
    updated, ends = (meta.get(name) for name in ("updated", "ends"))
    return KnownItem(
        node_id,
        active,
        updated if isinstance(updated, str) else "",
        ends if isinstance(ends, str) else "",
        "origin" in meta,
    )


def item_link(conn: Connection, article_id: str, api: str) -> ItemLink | None:
    """Return the item that the article is in the GLPI at `api`, or None."""
    return _link(article_id, get_state(conn, _LINK + article_id), api)


def exported_items(conn: Connection, api: str) -> dict[int, ItemLink]:
    """Return every link into the GLPI at `api`, by the item's id."""
    statement = select(state.c.name, state.c.value).where(state.c.name.startswith(_LINK, autoescape=True))
    links = (_link(name.removeprefix(_LINK), value, api) for name, value in conn.execute(statement))
    return {link.item_id: link for link in links if link is not None}


def keep_link(tx: Tx, link: ItemLink) -> None:
    """Remember the link in place of an earlier one of this article."""
    value = {name: getattr(link, name) for name in ("api", "item_id", "revision", "digest", "written")}
    set_state(tx, _LINK + link.article_id, value)


def forget_link(tx: Tx, article_id: str) -> None:
    """Forget what the article is in GLPI."""
    clear_state(tx, _LINK + article_id)


def _link(article_id: str, value: Mapping[str, Any] | None, api: str) -> ItemLink | None:
    if value is None or value["api"] != api:
        return None
    return ItemLink(article_id, **value)
