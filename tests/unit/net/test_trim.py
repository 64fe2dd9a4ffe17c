"""After many answers the driver gives memory back."""

from __future__ import annotations

import asyncio
import sys
from typing import Any, cast

import pytest

from groupmock.core.effects import Reply
from groupmock.net import backlog, trim
from groupmock.net.backlog import Backlog
from groupmock.net.call import Tickets
from groupmock.net.trim import LONGEST_NS, SELDOM_NS, give_back
from groupmock_codec.declare import Message


class Library:
    """Stands for the C library and the clocks. A call of malloc_trim takes `takes` ns."""

    def __init__(self) -> None:
        self.calls: list[int] = []
        self.now, self.takes = 5, 1

    def release(self, pad: int) -> None:
        self.calls.append(pad)
        self.now += self.takes


@pytest.fixture(autouse=True)
def library(monkeypatch: pytest.MonkeyPatch) -> Library:
    found = Library()
    monkeypatch.setattr(trim, "_release", found.release)
    monkeypatch.setattr(trim, "_clock", lambda: found.now)
    monkeypatch.setattr(trim, "_cpu", lambda: found.now)
    monkeypatch.setattr(trim, "_not_before", [0])
    return found


def test_the_tickets_of_many_requests_leave_no_room_behind(library: Library) -> None:
    tickets = Tickets()
    tickets.update({number: cast(Any, None) for number in range(10_000)})
    while len(tickets) > 2:
        tickets.popitem()
    before = sys.getsizeof(tickets)
    tickets.tidy()
    assert (sys.getsizeof(tickets) < before / 100, list(tickets), library.calls) == (True, [0, 1], [0])


def test_a_backlog_is_done_again_when_the_receivers_of_its_answers_have_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    """The requests that follow many answers take room as well, whose end no backlog sees."""
    monkeypatch.setattr(backlog, "SETTLED_S", 0)
    replies = [Reply(ticket, Message()) for ticket in range(2 * backlog.LOOK_AT_CLOCK_EVERY)]
    events: list[int | str] = []

    async def send_all() -> None:
        sending, settled = Backlog(0), asyncio.Event()
        sending.again = lambda: sending.send(lambda reply, now: events.append(reply.ticket), 0)

        def done() -> None:
            events.append("done")
            if events.count("done") == 2:
                settled.set()

        sending.done = done
        sending.send(lambda reply, now: events.append(reply.ticket), 0, iter(replies))
        await settled.wait()

    asyncio.run(send_all())
    assert events == [*range(len(replies)), "done", "done"]


def test_memory_is_given_back_once_in_a_while(library: Library) -> None:
    done = []
    for library.now in (5, 7, 5 + SELDOM_NS, 7 + SELDOM_NS):
        done.append(give_back())
    assert (done, library.calls) == ([True, False, True, False], [0, 0])


def test_no_memory_is_given_back_after_a_call_that_took_long(library: Library) -> None:
    library.takes = LONGEST_NS + 1
    assert give_back()
    library.now += 1000 * SELDOM_NS
    assert not give_back()


def test_a_library_without_the_function_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trim, "_release", None)
    assert not give_back()
