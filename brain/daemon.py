"""`brain run`: one process a home, loops and API beside each other, until it is told to stop (spec 10)."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import os
import signal
import socket
import sys
from collections.abc import Iterator
from dataclasses import asdict
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import structlog

from brain.api.access import access_policy
from brain.config import Settings
from brain.counting import Numbers
from brain.errors import BrainError
from brain.loops import Loop, Supervisor
from brain.passes import Passes
from brain.runtime import Runtime, open_runtime
from brain.status import Live, count, status_document
from brain.version import VERSION
from data.clock import Clock, SystemClock
from data.edges import count_by_kind
from data.events import DAEMON_STARTED, DAEMON_STOPPING
from data.locks import HomeLock
from data.migrations.prepare import prepare_home
from data.models import Event
from data.state import set_state
from data.vectors import embedded_nodes
from research.communities import LARGE
from research.communities import warm_up as warm_up_communities
from vector.warmup import COMPILED_FROM, warm_up

if TYPE_CHECKING:
    import uvicorn

__all__ = ["run_daemon"]

WORKER_POLL: Final = timedelta(seconds=5)
MAINTENANCE_POLL: Final = timedelta(minutes=1)
"""Spec 03: at least once a minute the maintenance loop asks what is due."""
SWITCH_S: Final = 0.001
"""How long a thread of a pass may keep the interpreter while an answer waits for it: an answer takes it several times,
and each take costs up to this."""
HOUSEKEEPING: Final = timedelta(hours=1)

log = structlog.get_logger()


async def run_daemon(settings: Settings, *, clock: Clock | None = None) -> None:
    """Run until SIGTERM or SIGINT; a second signal aborts.

    Raises ConfigError for an open bind without a token, BrainError for a taken port,
    data.errors.HomeLocked for a second daemon on this home, StoreError for a home that cannot be used.
    """
    clock = clock or SystemClock()
    sys.setswitchinterval(SWITCH_S)
    access = access_policy(settings.api_host, settings.api_token)
    stop = asyncio.Event()
    await asyncio.to_thread(prepare_home, settings.home)
    with HomeLock(settings.home, clock=clock), _listen(settings) as listener, _signals(settings, stop):
        async with open_runtime(settings, clock=clock) as runtime:
            await _Daemon(settings, runtime, clock, stop).run(listener, access)


class _Daemon:
    def __init__(self, settings: Settings, runtime: Runtime, clock: Clock, stop: asyncio.Event) -> None:
        self.settings, self.runtime, self.clock = settings, runtime, clock
        self.passes = Passes(runtime, stopping=stop.is_set)
        self.started_at, self.started = clock.now(), clock.monotonic()
        self.numbers = Numbers(partial(count, settings), clock)
        self.supervisor = Supervisor(self._loops(), journal=_Journal(runtime), clock=clock, stop=stop)

    async def run(self, listener: socket.socket, access: Any) -> None:
        from brain.api.app import create_app
        from brain.api.opportunities import opportunity_routes

        await self._warm_up()
        # What is there by now stays: no later collection needs to walk it, with everything else waiting.
        gc.collect()
        gc.freeze()
        app = create_app(
            version=VERSION,
            access=access,
            status=self.status,
            ready=self.ready,
            routes=[opportunity_routes(self.runtime.store)],
        )
        host, port = listener.getsockname()[:2]
        await self.runtime.store.log(Event(DAEMON_STARTED, {"pid": os.getpid(), "version": VERSION, "port": port}))
        url = f"http://{f'[{host}]' if ':' in host else host}:{port}/status"
        log.info("Neural Brain runs", url=url, home=str(self.settings.home))
        async with asyncio.TaskGroup() as group:
            server = _server(app)
            serving = group.create_task(server.serve(sockets=[listener]))
            probing = group.create_task(self.probe())
            await self.supervisor.run(grace=self.settings.shutdown_grace)
            probing.cancel()
            server.should_exit = True
            await serving
        self.numbers.close()
        await self.runtime.store.log(Event(DAEMON_STOPPING, {"pid": os.getpid()}))
        log.info("Neural Brain stopped")

    async def probe(self) -> None:
        """Say at the start whether the search can answer, and if not, which setting to change."""
        try:
            probe = await self.runtime.search.probe()
        except Exception as error:  # what the store or a backend raises is told; the loops meet it themselves
            log.warning("search was not probed", error=f"{type(error).__name__}: {error}")
            return
        if probe.ok:
            log.info("search answers", backends=list(self.settings.search_backends), said=probe.message)
        else:
            log.warning("search cannot answer", said=probe.message, change=probe.setting)

    async def _warm_up(self) -> None:
        """Load what passes over a large house use, before anybody waits for an answer."""
        if self.settings.vector_maintenance:
            nodes = await self.runtime.store.read_bulk(embedded_nodes, self.runtime.embedder.name)
            if len(nodes) >= COMPILED_FROM:
                await asyncio.to_thread(warm_up)
        if self.settings.autonomous_research:
            edges = await self.runtime.store.read_bulk(count_by_kind)
            if sum(edges.values()) >= LARGE:
                await asyncio.to_thread(warm_up_communities)

    async def status(self) -> dict[str, Any]:
        """Build the status document: nothing here waits for the writer, nor long for the counts of a large house."""
        live = Live(
            started_at=self.started_at,
            uptime_s=self.clock.monotonic() - self.started,
            loops=self.supervisor.document(),
            waiting=self.runtime.mutex.waiting(),
            process_totals=asdict(self.runtime.queue.process_totals),
        )
        return status_document(self.settings, now=self.clock.now(), live=live, seen=await self.numbers.latest())

    async def ready(self) -> list[str]:
        try:
            await self.runtime.store.write(lambda tx: set_state(tx, "ready", {"pid": os.getpid()}))
        except Exception as error:
            return [f"the store cannot be written: {error}"]
        return []

    def _loops(self) -> list[Loop]:
        settings, passes = self.settings, self.passes
        return [
            Loop("learning", settings.learning_interval, passes.learn, settings.learning),
            Loop("thinking", settings.thinking_interval, passes.think, settings.thinking),
            Loop("scanning", settings.autonomous_research_interval, passes.scan, settings.autonomous_research),
            Loop("working", WORKER_POLL, passes.work, settings.research_worker),
            Loop("maintaining", MAINTENANCE_POLL, passes.maintain, settings.vector_maintenance),
            Loop("housekeeping", HOUSEKEEPING, passes.keep_house),
        ]


class _Journal:
    def __init__(self, runtime: Runtime) -> None:
        self._store = runtime.store

    async def log(self, *events: Event) -> None:
        await self._store.log(*events)

    async def remember(self, name: str, value: Any) -> None:
        await self._store.write(set_state, name, value)


@contextlib.contextmanager
def _listen(settings: Settings) -> Iterator[socket.socket]:
    host, port = settings.api_host, settings.api_port
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        listener = socket.create_server((host, port), family=family, backlog=128)
    except OSError as error:
        raise BrainError(
            f"The API cannot listen on {host} port {port} ({error.strerror or error}); set a free BRAIN_API_PORT."
        ) from error
    # Connections inherit it. asyncio sets it only on sockets that name their protocol, which these do not; without it
    # an answer's body waits for the receipt of its head, up to 40 ms.
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    with listener:
        yield listener


@contextlib.contextmanager
def _signals(settings: Settings, stop: asyncio.Event) -> Iterator[None]:
    """The first signal sets `stop` and asks for an orderly end; the second takes the default way out."""
    loop = asyncio.get_running_loop()

    def first() -> None:
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.remove_signal_handler(number)
        log.info("stopping", grace_s=settings.shutdown_grace.total_seconds())
        stop.set()

    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, first)
    try:
        yield
    finally:
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.remove_signal_handler(number)


def _server(app: Any) -> uvicorn.Server:
    import uvicorn

    class Server(uvicorn.Server):
        @contextlib.contextmanager
        def capture_signals(self) -> Iterator[None]:
            yield  # the daemon's own handlers stand

    return Server(
        uvicorn.Config(
            app, lifespan="off", log_config=None, access_log=False, timeout_graceful_shutdown=5, server_header=False
        )
    )
