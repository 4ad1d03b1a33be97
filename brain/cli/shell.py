"""What every command shares: settings, output as text or one JSON document, progress, errors to exit status."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
import time
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from brain.cli.leaving import leave_soon
from brain.config import ConfigError, Origin, Settings, load_settings
from brain.errors import BrainError

if TYPE_CHECKING:
    from rich.console import Console

    from data.progress import Progress

__all__ = ["Context", "Invocation", "as_sentence", "run"]


@dataclass(frozen=True, slots=True)
class Invocation:
    """The three options that every command takes."""

    json: bool
    home: Path | None
    config: Path | None


class Context:
    """One command's run: its settings and where its words go."""

    def __init__(self, invocation: Invocation) -> None:
        self.json = invocation.json
        self.emitted = False
        """Whether something of the result stands on stdout already."""
        self.settings: Settings
        self.origins: tuple[Origin, ...]
        self.settings, self.origins = load_settings(config=invocation.config, home=invocation.home)

    @cached_property
    def console(self) -> Console:
        """Results for a person; stdout."""
        from rich.console import Console

        return Console(highlight=False, soft_wrap=True)

    def emit(self, document: Any, text: Callable[[Console], None]) -> None:
        """Print the result once: as JSON on stdout, or as text by `text(console)`."""
        if self.json:
            print(json.dumps(document, ensure_ascii=False, indent=2, default=str))
        else:
            text(self.console)
        self.emitted = True

    @contextmanager
    def progress(self) -> Iterator[Progress]:
        """Yield a Progress that draws on stderr: a bar at a terminal, else a line a phase."""
        if sys.stderr.isatty():
            yield from _bar()
        else:
            yield _lines()


Command = Callable[..., Coroutine[Any, Any, None]]


def run(load: Callable[[], Command], invocation: Invocation, **arguments: Any) -> None:
    """Run the command that `load` imports to its end; leave the process with the exit status of spec 09."""
    context: Context | None = None
    try:
        context = Context(invocation)
        asyncio.run(_stoppable(load()(context, **arguments)))
        sys.stdout.flush()
    except BrokenPipeError:  # whoever read has enough, as `head` has
        _close_quietly()
        sys.exit(0)
    except KeyboardInterrupt:
        _fail(invocation, context, "Stopped by Ctrl-C; what was done stays.", 130)
    except asyncio.CancelledError:
        _fail(invocation, context, "Stopped by SIGTERM; what was done stays.", 143)
    except ConfigError as error:
        _fail(invocation, context, str(error), 2)
    except BrainError as error:
        _fail(invocation, context, str(error), error.exit_status)
    except Exception as error:
        if not _is_store_error(error):
            raise
        _fail(invocation, context, str(error), 1)


async def _stoppable(command: Coroutine[Any, Any, None]) -> None:
    """Run a command so that SIGTERM ends it as Ctrl-C does: locks are given back, what was written stands."""
    task = asyncio.current_task()
    assert task is not None
    stopped = 130  # by Ctrl-C, until SIGTERM says otherwise

    def stop() -> None:
        nonlocal stopped
        stopped = 143
        task.cancel()

    with suppress(NotImplementedError, RuntimeError, ValueError):  # not in the main thread: nobody to tell
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop)
    status = 1
    try:
        await command
        status = 0
    except asyncio.CancelledError:
        status = stopped
        raise
    except BrainError as error:
        status = error.exit_status
        raise
    finally:
        leave_soon(status)


def _is_store_error(error: Exception) -> bool:
    # The store is imported only where a command needs it; a command that did not cannot have raised its errors.
    errors = sys.modules.get("data.errors")
    return errors is not None and isinstance(error, errors.StoreError)


def _fail(invocation: Invocation, context: Context | None, message: str, status: int) -> NoReturn:
    sentence = as_sentence(message)
    try:
        if invocation.json and (context is None or not context.emitted):  # stdout holds one document, never two
            print(json.dumps({"error": sentence, "exit_status": status}, ensure_ascii=False, indent=2))
        sys.stdout.flush()
    except BrokenPipeError:
        _close_quietly()
    print(f"brain: {sentence}", file=sys.stderr)
    sys.exit(status)


def as_sentence(message: str) -> str:
    """Return an error's message as a person reads it: on one line, with a capital and a full stop."""
    text = " ".join(message.split())
    if not text:
        return "Something failed without saying why."
    first = text.split(maxsplit=1)[0]
    if first.isalpha():  # a path, a variable or a file name stays as it is
        text = text[0].upper() + text[1:]
    return text if text[-1] in ".!?" else text + "."


def _close_quietly() -> None:
    """Give up stdout, so that the interpreter does not complain about it at its end."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _bar() -> Iterator[Progress]:
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        TaskID,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )
    from rich.progress import Progress as Bars

    columns = (
        TextColumn("{task.description:<28}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[rate]}"),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    with Bars(*columns, console=Console(stderr=True), transient=False) as bars:
        tasks: dict[str, tuple[TaskID, float]] = {}

        def show(phase: str, done: int, total: int | None) -> None:
            if phase not in tasks:
                tasks[phase] = (bars.add_task(phase, total=total, rate=""), time.monotonic())
            task, started = tasks[phase]
            elapsed = time.monotonic() - started
            rate = f"{done / elapsed:.1f}/s" if done and elapsed > 0.5 else ""
            bars.update(task, completed=done, total=total, rate=rate)

        yield show


def _lines() -> Progress:
    last: dict[str, float] = {}
    begun: dict[str, float] = {}

    def show(phase: str, done: int, total: int | None) -> None:
        now = time.monotonic()
        begun.setdefault(phase, now)
        finished = total is not None and done >= total
        if not finished and now - last.get(phase, -10.0) < 10.0:
            return
        last[phase] = now
        of = f"/{total}" if total is not None else ""
        print(f"{phase}: {done}{of} ({now - begun[phase]:.1f} s)", file=sys.stderr, flush=True)

    return show
