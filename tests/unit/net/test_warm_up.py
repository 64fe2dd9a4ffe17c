"""A server imports and compiles modules ahead of their first use, in moments without requests."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from groupmock.net import server

STEPS = 5
TURNS = 1000


async def test_warm_up_goes_on_beside_a_client_that_pings_all_the_time(
    build: Callable[[], Awaitable[Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    done = []

    def step() -> list[server.Step]:
        done.append(house.server.counters.handled)
        return []

    for pause in ("WARM_UP_PAUSE_S", "WARM_UP_WHEN_BUSY_S"):
        monkeypatch.setattr(server, pause, 0.0)
    monkeypatch.setattr(server.Server, "_to_warm_up", lambda self: [step] * STEPS)
    house = await build()
    for _ in range(TURNS):
        house.server.counters.handled += 1
        await asyncio.sleep(0)
    assert len(done) == STEPS
    assert len(set(done)) == STEPS, "clients are served between two steps"
