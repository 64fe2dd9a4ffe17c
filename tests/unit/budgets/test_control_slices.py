"""The control API processes a request of any size in slices that each cost less than 50 ms."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import prometheus_client.core  # noqa: F401  # a scrape imports it on another thread
import pytest
from cases import for_each

from groupmock.control import cluster_calls, slicing
from groupmock.control.metrics import Scrape
from groupmock.data import seed, writing
from groupmock.data.lines import BadLine
from groupmock.data.seed import BadSeedData, SeedData
from groupmock.data.writing import MOST_RECORDS, Reader, Writing
from groupmock.net.clock import LoopClock
from groupmock.rig import WireRig
from tools.budgets.meter import MOST_BYTES, MOST_MS, STEPS_PER_MS, counted

STEPS = MOST_MS * STEPS_PER_MS // 60
"""Maximum number of steps in one slice. The requests below have a sixtieth of the lines that a body may have."""


class Target:
    def __init__(self) -> None:
        self.rig = WireRig.make(topics={"orders": 3}, settings={"groupmock.cluster.max.partitions": 100})
        self.cluster, self.clock = self.rig.core.cluster, self.rig.clock
        self.config: Any = type("Config", (), {"settings": self.rig.core.environment.settings})
        self.submit = self.rig.driver.submit


def seeded(target: Target, body: bytes) -> Iterator[None]:
    data = SeedData("body")
    yield from data.read(body)
    yield from data.slices(target)


def written(target: Target, body: bytes) -> Iterator[None]:
    reader = Reader(target, "orders", 3)
    yield from reader.read(body)
    yield from Writing(target, target.cluster.topics.require("orders"), reader.lines).slices()


@for_each(
    "work, body",
    [
        (seeded, b"\n" * (4 << 20)),
        (seeded, b"".join(b'{"topic":"s%d"}\n' % number for number in range(2600))),
        (seeded, b"".join(b'{"topic":"orders","value":%d}\n' % number for number in range(500))),
        (seeded, b"".join(b'{"group":"g%d","topic":"orders","partition":0,"offset":1}\n' % number for number in range(500))),
        (written, b"{}\n" * 1000),
        (written, b"\n" * (4 << 20)),
    ],
)
def test_control_request_of_many_lines_is_worked_off_in_slices(
    work: Callable[[Target, bytes], Iterator[None]], body: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(seed, "AT_ONCE", 100)
    monkeypatch.setattr(writing, "MOST_IN_A_BATCH", 100)
    spent(work(Target(), body))


@for_each("call", [lambda context: cluster_calls.groups(context, context), lambda context: Scrape(context.running)._groups()])
def test_answers_about_every_group_are_made_in_slices(call: Callable[[Any], Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(slicing, "AT_ONCE", 50)
    rig = WireRig.make(topics={"orders": 1})
    for number in range(1000):
        rig.command("commit_offsets", group=f"g{number}", offsets=[{"topic": "orders", "partition": 0, "offset": 1}])
    context = SimpleNamespace(running=SimpleNamespace(cluster=rig.core.cluster))
    assert spent(call(context).__await__()) >= 10


def spent(slices: Iterator[object]) -> int:
    """Return the number of slices and check the budget of each."""
    count, ended = 0, False

    def one() -> None:
        nonlocal ended
        try:
            next(slices)
        # The iterator of time slices ends with StopIteration, or with BadSeedData at the limit of partitions.
        except (StopIteration, BadSeedData):
            ended = True

    while not ended:
        cost = counted(one, STEPS, MOST_BYTES)
        assert not cost.over, f"a slice has more than {STEPS} steps or {MOST_BYTES} bytes"
        count += 1
    return count


def test_records_of_one_control_request_are_bounded() -> None:
    target = Target()
    reader = Reader(target, "orders", 3)
    refused = f"line {MOST_RECORDS + 1}: more than {MOST_RECORDS} records: write those from this line on in another request"
    with pytest.raises(BadLine, match=refused):
        for _ in reader.read(b"{}\n" * (MOST_RECORDS + 1)):
            pass


def test_topics_without_configs_of_their_own_share_their_limits() -> None:
    rig = WireRig.make(topics={f"t{number}": 1 for number in range(5)})
    topics = rig.core.cluster.topics
    assert len({id(topics.limits(topics.require(f"t{number}"), 1)) for number in range(5)}) == 1
    rig.command("configure_topic", name="t0", set={"retention.ms": "5"})
    assert [topics.limits(topics.require(f"t{number}"), 1).retention_ms for number in range(2)] == [5, 604_800_000]
    rig.command("configure_topic", name="t0", unset=["retention.ms"])
    rig.command("configure_node", set={"log.retention.ms": "7"})
    assert {topics.limits(topics.require(f"t{number}"), 1).retention_ms for number in range(5)} == {7}


async def test_step_of_the_clock_arms_no_timer_of_the_loop_for_what_is_over_by_its_end() -> None:
    clock, rung, armed = LoopClock(), [], []
    loop: Any = asyncio.get_running_loop()
    call_later = loop.call_later

    def counting(delay: float, *more: Any) -> Any:
        armed.append(delay)
        return call_later(delay, *more)

    loop.call_later = counting

    def again() -> None:
        rung.append(clock.now())
        clock.call_at(clock.now() + 1_000_000_000, again)

    clock.call_at(clock.now() + 1_000_000_000, again)
    clock.step(1_000_000_000 * 1000)
    assert 999 <= len(rung) <= 1000 and rung == sorted(rung)
    assert len(armed) <= 2, "the first one, and the one that is left"
    assert clock.alarms.first() is not None and not clock.stepping
