"""A waiter for rows sees the same rows as a search and costs the cluster almost nothing."""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import Any

import pytest
from turns_of_loop import until

from groupmock.control import arrivals
from groupmock.control.arrivals import Arrivals, kept
from groupmock.control.row_test import Filter, RowTest
from groupmock.journal.journal import Journal
from groupmock.journal.ring import Ring
from groupmock.journal.rows import (
    AbandonedRow,
    CommandRow,
    FaultRow,
    Header,
    MemberRow,
    MovedRow,
    NoteRow,
    OpenRow,
    ReplyRow,
    RequestRow,
    Row,
    TimerRow,
)  # fmt: skip

HEADER = Header(v=1, run="t", product="groupmock", seed=1, epoch_ns=0, profile="groupmock", config={}, complete=False)
ASKED = {"connection": 1, "correlation_id": 1, "api_key": 11, "api_name": "JoinGroup", "api_version": 5}
FILTERS = [
    {}, {"kind": "reply"}, {"kind": "request", "group": "g"}, {"group": "g"}, {"group": "h"}, {"group": "none"}, {"api": "JoinGroup"},
    {"client_id": "anna"}, {"client_id": "nobody"}, {"member_id": "m"}, {"member_id": "m", "group": "h"}, {"connection": 2},
    {"error": "none"}, {"error": "UNKNOWN_MEMBER_ID", "group": "g"}, {"after": "Stable"}, {"after": "Stable", "group": "h"},
    {"what": "added"}, {"rule": "mine", "group": "g"}, {"name": "reseed"}, {"timer": "session", "group": "g"}, {"since": 7},
    {"since": 7, "kind": "moved"}, {"kind": "abandoned", "group": "h"},
]  # fmt: skip


def asked(ticket: int, group: str, connection: int = 1, client: str = "anna") -> RequestRow:
    message = {"group_id": group, "member_id": "m"}
    fields = ASKED | {"connection": connection}
    return RequestRow(t=0, ticket=ticket, received=0, handled=0, size=1, message=message, client_id=client, **fields)


def rows() -> list[Row]:
    return [
        OpenRow(t=0, connection=1, client_host="/127.0.0.1", client_port=1),
        asked(1, "g"), asked(2, "h", 2, "ben"),
        FaultRow(t=0, rule="mine", stage="reply", action="delay", connection=1, ticket=1, fields={"member_id": "m"}),
        FaultRow(t=0, rule="mine", stage="connect", action="refuse", connection=2),
        ReplyRow(t=0, ticket=1, size=1, error="UNKNOWN_MEMBER_ID", message={}, **ASKED),
        ReplyRow(t=0, ticket=2, size=1, message={"member_id": "m"}, **ASKED | {"connection": 2}),
        asked(3, "h"), AbandonedRow(t=0, ticket=3, reason="replaced", **ASKED),
        MovedRow(t=0, group="g", before="Empty", after="Stable", generation=1, reason="x"),
        MovedRow(t=0, group="h", before="Empty", after="Stable", generation=1, reason="x"),
        MemberRow(t=0, group="g", member_id="m", what="added", reason="x", client_id="anna"),
        TimerRow(t=0, timer="session", subject=("g", "m")), CommandRow(t=0, name="reseed", arguments={}), NoteRow(t=0, what="added"),
    ]  # fmt: skip


class House:
    """A journal with a ring buffer and tasks that wait for its rows."""

    def __init__(self, **ring: int) -> None:
        self.ring = Ring(**ring)
        self.journal = Journal(HEADER, [self.ring])
        self.arrivals = Arrivals(self.journal, self.ring)

    def wait(self, count: int, **wanted: Any) -> asyncio.Task[list[Row]]:
        return asyncio.ensure_future(self.arrivals.wait(RowTest(Filter(**wanted)), count, 3600))

    async def waited_for(self, *tasks: asyncio.Task[list[Row]]) -> None:
        """Run the loop until each task has examined the rows that exist."""
        await until(lambda: self.arrivals.waiting + sum(task.done() for task in tasks) == len(tasks))

    async def come(self, *new: Row) -> None:
        for row in new:
            self.journal.append(row)
        for _ in range(3):
            await asyncio.sleep(0)


@pytest.mark.parametrize("before", [0, 6], ids=["all of them come while it waits", "some were there"])
@pytest.mark.parametrize("at_once", [1, 4, 100])
async def test_waiter_gets_the_rows_of_a_search(before: int, at_once: int) -> None:
    """Every filter and count returns exactly the rows of a search, without missing or repeated rows, however many rows arrive in one
    turn of the loop."""
    whole = House()
    for row in rows():
        whole.journal.append(row)
    house = House()
    for row in rows()[:before]:
        house.journal.append(row)
    waiting = []
    for wanted in FILTERS:
        found = [row.seq for row in kept(whole.ring, RowTest(Filter(**wanted)))]
        waiting += [(wanted, count, found, house.wait(count, **wanted)) for count in range(1, len(found) + 2)]
    await house.waited_for(*(task for *_, task in waiting))
    for at in range(before, len(rows()), at_once):
        await house.come(*rows()[at : at + at_once])
    wrong = []
    for wanted, count, found, task in waiting:
        if task.done() != (count <= len(found)):
            wrong.append((wanted, count, "done" if task.done() else "still waits"))
        elif task.done() and [row.seq for row in task.result()] != found[: len(task.result())]:
            wrong.append((wanted, count, [row.seq for row in task.result()]))
    assert wrong == []
    for *_, task in waiting:
        task.cancel()
    await asyncio.gather(*(task for *_, task in waiting), return_exceptions=True)
    assert house.arrivals.waiting == 0


async def test_a_waiter_costs_its_own_filter_per_row_at_most_once(monkeypatch) -> None:
    """The test counts filter calls: 50 waiters for another kind of row cause none, one waiter causes one per row, and nobody rereads old
    rows."""
    asked_of: Counter[str] = Counter()
    fits = RowTest.fits

    def counted(self: RowTest, row: Row) -> bool:
        asked_of[str(self.key)] += 1
        return fits(self, row)

    house = House()
    tasks = [house.wait(1, kind="moved", group=f"none {number}") for number in range(50)]
    tasks += [house.wait(1, member_id="nobody"), house.wait(10**4, since=10**4), house.wait(10**4, kind="request", member_id="m")]
    await house.waited_for(*tasks)
    monkeypatch.setattr(RowTest, "fits", counted)
    monkeypatch.setattr(Ring, "of_group", lambda *_: pytest.fail("the ring is searched again"))
    for number in range(100):
        await house.come(asked(number, "g"), ReplyRow(t=0, ticket=number, size=1, message={}, **ASKED))
    assert asked_of == {str(("", None)): 200, str(("member_id", "m")): 100}
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


async def test_waiters_scan_old_rows_in_separate_loop_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each waiter scans all stored rows, so two waiters must not scan in the same turn of the loop."""
    house, looks, together = House(), 0, 0

    def counted(ring: Ring, test: RowTest) -> list[Row]:
        nonlocal looks
        looks += 1
        return kept(ring, test)

    monkeypatch.setattr(arrivals, "kept", counted)
    tasks = [house.wait(1, kind="moved") for _ in range(20)]
    while house.arrivals.waiting < len(tasks):
        before = looks
        await asyncio.sleep(0)
        together = max(together, looks - before)
    assert (looks, together) == (20, 1)
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


async def test_what_a_waiter_keeps_is_bounded_by_the_ring() -> None:
    house = House(max_rows=5)
    task = house.wait(6, group="g")
    await house.waited_for(task)
    for number in range(100):
        await house.come(asked(number, "g"))
    (waiter,) = house.arrivals._waiters
    assert len(waiter.found) == 5
    assert house.arrivals._groups is not None
    assert len(house.arrivals._groups._by_ticket) == 5
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


async def test_without_waiters_the_journal_has_one_sink_less() -> None:
    house = House()
    task = house.wait(1, kind="moved")
    await house.waited_for(task)
    assert house.arrivals in house.journal._sinks
    await house.come(*rows())
    assert [row.seq for row in await task] == [10, 11]
    assert house.arrivals not in house.journal._sinks


async def test_only_so_many_wait_at_a_time(api, monkeypatch) -> None:
    monkeypatch.setattr(arrivals, "MAX_WAITS", 2)
    query = {"params": {"kind": "moved", "timeout": "3600"}}
    asking = [asyncio.ensure_future(api.ask("GET", "/v1/journal/wait", **query)) for _ in range(2)]
    await until(lambda: api.control.context.arrivals.waiting == 2)
    status, answer = await api.ask("GET", "/v1/journal/wait", **query)
    assert (status, answer["error"][:21]) == (503, "2 wait already: let o")
    for each in asking:
        each.cancel()
