"""`brain glpi …` as typed; the work is in `brain.cli.glpi`."""

from __future__ import annotations

from typing import Annotated

import typer

from brain.cli.options import ConfigOption, HomeOption, JsonFlag, LimitOption, invoke

__all__ = ["glpi_app"]

glpi_app = typer.Typer(no_args_is_help=True, help="GLPI: import tickets and articles, export approved ones as drafts.")


@glpi_app.command("import")
def glpi_import(
    tickets: Annotated[bool, typer.Option("--tickets", help="Tickets alone.")] = False,
    articles: Annotated[bool, typer.Option("--articles", help="Articles of its knowledge base alone.")] = False,
    since: Annotated[
        str, typer.Option("--since", metavar="DATE", help="What was modified from then on, e.g. 2026-01-31.")
    ] = "",
    full: Annotated[bool, typer.Option("--full", help="Read the whole list again, and look for removals.")] = False,
    confirm: Annotated[bool, typer.Option("--confirm-removals", help="Also where very many are gone at once.")] = False,
    limit: LimitOption = None,
    as_json: JsonFlag = False,
    home: HomeOption = None,
    config: ConfigOption = None,
) -> None:
    """Bring in what is new or changed, take out what is gone; a daemon does it by itself (BRAIN_GLPI_INTERVAL)."""
    chosen = tuple(name for name, wanted in (("tickets", tickets), ("articles", articles)) if wanted)
    arguments = {"kinds": chosen, "since": since, "full": full, "confirm": confirm, "limit": limit}
    invoke("glpi", "import_items", as_json, home, config, **arguments)


@glpi_app.command("export")
def glpi_export(
    again: Annotated[
        list[str] | None,
        typer.Option("--again", metavar="ARTICLE", help="Add its item once more, which somebody deleted in GLPI."),
    ] = None,
    as_json: JsonFlag = False,
    home: HomeOption = None,
    config: ConfigOption = None,
) -> None:
    """Write approved articles as drafts into its knowledge base; an item that somebody edited is reported, not
    overwritten."""
    invoke("glpi", "export", as_json, home, config, again=again or [])


@glpi_app.command("status")
def glpi_status(as_json: JsonFlag = False, home: HomeOption = None, config: ConfigOption = None) -> None:
    """How far the import is, what was exported; asks the store alone (`brain doctor` asks GLPI)."""
    invoke("glpi", "status", as_json, home, config)
