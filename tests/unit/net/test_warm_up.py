"""A server imports and compiles modules ahead of their first use, in moments without requests."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from groupmock.core import work
from groupmock.net import warm_up
from groupmock.rig import WireRig

STEPS = 5
TURNS = 1000


async def test_warm_up_goes_on_beside_a_client_that_pings_all_the_time(
    build: Callable[[], Awaitable[Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    done = []

    def step() -> list[warm_up.Step]:
        done.append(house.server.counters.handled)
        return []

    for pause in ("PAUSE_S", "PAUSE_WHEN_BUSY_S"):
        monkeypatch.setattr(warm_up, pause, 0.0)
    monkeypatch.setattr(warm_up.WarmUp, "steps", lambda self: [step] * STEPS)
    house = await build()
    for _ in range(TURNS):
        house.server.counters.handled += 1
        await asyncio.sleep(0)
    assert len(done) == STEPS
    assert len(set(done)) == STEPS, "clients are served between two steps"


def test_warm_up_prepares_the_newest_codec_of_every_api_that_asks_about_groups() -> None:
    driver = WireRig.make().driver
    todo = warm_up.WarmUp(driver.core, driver.codecs, driver.counters).steps()
    while todo:
        todo += todo.pop()()
    newest = {key: driver.codecs.advertised[key].highest for key in (*work.OF_GROUPS, *work.OF_SHARED_RECORDS)}
    assert [key for key, version in newest.items() if not {"decode", "encode"} <= vars(driver.codecs.of(key, version)).keys()] == []
