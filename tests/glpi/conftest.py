"""A stand-in of GLPI for each test, and a client of it that waits for nothing."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, field

import pytest

from research.glpi.client import GlpiClient, GlpiPolicy
from tests.glpi.standin import APP_TOKEN, USER_TOKEN, StandIn


@dataclass
class Naps:
    """Notes how long somebody would have slept."""

    taken: list[float] = field(default_factory=list)

    async def __call__(self, seconds: float) -> None:
        self.taken.append(seconds)


def policy(glpi: StandIn, *, user_token: str = USER_TOKEN, app_token: str = APP_TOKEN, **other: float) -> GlpiPolicy:
    return GlpiPolicy(glpi.url, user_token, app_token, **other)  # type: ignore[arg-type]


@pytest.fixture
def glpi() -> Iterator[StandIn]:
    with StandIn() as running:
        yield running


@pytest.fixture
def naps() -> Naps:
    return Naps()


@pytest.fixture
async def client(glpi: StandIn, naps: Naps) -> AsyncIterator[GlpiClient]:
    async with GlpiClient(policy(glpi), sleep=naps) as opened:
        yield opened
