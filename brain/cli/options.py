"""Options that every command takes, and how a command is run: light, for help must start at once."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

__all__ = ["ActorOption", "ConfigOption", "HomeOption", "JsonFlag", "LimitOption", "invoke"]

JsonFlag = Annotated[bool, typer.Option("--json", help="Print one JSON document on stdout.")]
HomeOption = Annotated[
    Path | None, typer.Option("--home", metavar="DIR", help="The brain's home (default: BRAIN_HOME, ./var).")
]
ConfigOption = Annotated[
    Path | None, typer.Option("--config", metavar="FILE", help="Configuration file (default: ./config.env).")
]
LimitOption = Annotated[int | None, typer.Option("--limit", min=1, help="Do at most this many.")]
ActorOption = Annotated[str, typer.Option("--as", metavar="NAME", help="Who decides; kept in the journal.")]


def invoke(module: str, function: str, as_json: bool, home: Path | None, config: Path | None, **arguments: Any) -> None:
    """Run `function` of `brain.cli.module`, which is imported only now, and leave with its exit status."""
    from importlib import import_module

    from brain.cli.shell import Invocation, run

    def load() -> Any:
        return getattr(import_module(f"brain.cli.{module}"), function)

    run(load, Invocation(as_json, home, config), **arguments)
