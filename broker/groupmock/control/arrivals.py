"""HTTP requests can wait for journal rows. New rows are checked once per iteration of the loop, however many requests wait: a table for
each condition in use shows a row only to the waiters whose most selective condition it meets, and to each of them once."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

from ..journal.journal import Sink
from ..journal.ring import Ring
from ..journal.rows import AbandonedRow, FaultRow, ReplyRow, RequestRow, Row
from ..journal.whose import group_of
from .row_test import ANY, ERROR, GROUP, MEMBER_ID, READ, RowTest, errors_of, member_ids

if TYPE_CHECKING:
    from ..journal.journal import Journal

MAX_WAITS: Final = 200
"""At most this many requests wait at a time, which leaves some of the `visitor.MAX_VISITORS` connections for commands."""


class TooMany(Exception):
    """Raised if too many HTTP requests wait already. The message says how many."""


class Waiter:
    """An HTTP request that waits for rows, with the matching rows that are still kept. `cursor` is the number of the last row that it
    has seen."""

    def __init__(self, test: RowTest, count: int, seen: Iterable[Row], cursor: int) -> None:
        self.test = test
        self.found = deque(seen)
        self.done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._count = count
        self._cursor = cursor

    def see(self, row: Row, group: str | None) -> None:
        """Add a new row, which already meets the waiter's most selective condition, if it meets the other conditions."""
        if row.seq > self._cursor and self.test.group in (None, group) and self.test.fits(row):
            self.found.append(row)

    def settle(self, oldest: int) -> None:
        """Drop rows that are no longer kept, and end the wait if enough rows are left."""
        while self.found and self.found[0].seq < oldest:
            self.found.popleft()
        if len(self.found) >= self._count and not self.done.done():
            self.done.set_result(None)


class Arrivals(Sink):
    """The HTTP requests that wait for rows of one cluster. It is a sink of the journal while there are any."""

    routine = True

    def __init__(self, journal: Journal, ring: Ring) -> None:
        self._journal = journal
        self._ring = ring
        self._new: list[Row] = []
        self._waiters: set[Waiter] = set()
        self._tables: dict[str, dict[Any, list[Waiter]]] = {}
        self._groups: OpenRequests | None = None
        self._guests = 0
        self._one_by_one = asyncio.Lock()

    @property
    def waiting(self) -> int:
        """The number of waiting requests, including those that wait for something other than rows."""
        return len(self._waiters) + self._guests

    @contextmanager
    def place(self) -> Iterator[None]:
        """Count a request as waiting while the context is open, because it waits for something other than rows. Raises TooMany."""
        self._check_room()
        self._guests += 1
        try:
            yield
        finally:
            self._guests -= 1

    async def wait(self, test: RowTest, count: int, seconds: float) -> list[Row]:
        """Return the matching rows once there are `count` of them, or the rows so far when the time is over or the cluster is closed.
        Raises TooMany."""
        async with self._one_by_one:
            await asyncio.sleep(0)  # Only one wait begins in a turn of the event loop, because each wait first reads all kept rows.
            self._check_room()
            waiter = Waiter(test, count, kept(self._ring, test), self._journal.sequence)
            waiter.settle(0)
            self._add(waiter)
        try:
            async with asyncio.timeout(seconds):
                await waiter.done
        except TimeoutError:
            self._look()
        finally:
            self._remove(waiter)
        waiter.settle(self._oldest)
        return list(waiter.found)

    def take(self, row: Row) -> None:
        """Keep a new row until the end of this turn of the loop, because the request that caused the row is answered first."""
        if not self._new:
            asyncio.get_running_loop().call_soon(self._look)
        self._new.append(row)

    def close(self) -> None:
        """End all waits, because the run is over."""
        self._look()
        for waiter in self._waiters:
            if not waiter.done.done():
                waiter.done.set_result(None)

    def _check_room(self) -> None:
        if self.waiting >= MAX_WAITS:
            raise TooMany(f"{MAX_WAITS} wait already: let one of them end, or ask /v1/journal/count now and then")

    def _add(self, waiter: Waiter) -> None:
        if not self._waiters:
            self._journal.add(self)
        self._waiters.add(waiter)
        name, value = waiter.test.key
        self._tables.setdefault(name, {}).setdefault(value, []).append(waiter)
        if waiter.test.group is not None and self._groups is None:
            self._groups = OpenRequests(self._ring.rows)

    def _remove(self, waiter: Waiter) -> None:
        self._waiters.remove(waiter)
        name, value = waiter.test.key
        table = self._tables[name]
        table[value].remove(waiter)
        if not table[value]:
            del table[value]
        if not table:
            del self._tables[name]
        if all(each.test.group is None for each in self._waiters):
            self._groups = None
        if not self._waiters:
            self._journal.remove(self)
            self._new.clear()

    def _look(self) -> None:
        rows, self._new = self._new, []
        touched: set[Waiter] = set()
        for row in rows:
            group = self._groups.group_of(row) if self._groups is not None else None
            for name, table in self._tables.items():
                for value in _values(name, row, group):
                    for waiter in table.get(value, ()):
                        waiter.see(row, group)
                        touched.add(waiter)
        for waiter in touched:
            waiter.settle(self._oldest)
        if self._groups is not None:
            self._groups.forget(self._oldest)

    @property
    def _oldest(self) -> int:
        return self._ring.rows[0].seq if self._ring.rows else 0


class OpenRequests:
    """Finds the group of each row, also of replies, which name none. A reply belongs to the group of its request, as long as that is
    kept."""

    def __init__(self, rows: Iterable[Row]) -> None:
        self._by_ticket: dict[int, tuple[str, int]] = {}
        for row in rows:
            self.group_of(row)

    def group_of(self, row: Row) -> str | None:
        """Return a row's group as `Ring.of_group` does. All rows have to be passed in order."""
        if isinstance(row, ReplyRow | AbandonedRow | FaultRow):
            asked = self._by_ticket.get(row.ticket) if row.ticket is not None else None
            return asked[0] if asked is not None else None
        group = group_of(row)
        if group is not None and isinstance(row, RequestRow):
            self._by_ticket[row.ticket] = (group, row.seq)
        return group

    def forget(self, oldest: int) -> None:
        """Drop the requests whose rows have a number below `oldest`."""
        while self._by_ticket:
            ticket = next(iter(self._by_ticket))
            if self._by_ticket[ticket][1] >= oldest:
                return
            del self._by_ticket[ticket]


def _values(name: str, row: Row, group: str | None) -> Iterable[Any]:
    """Return the values of a row that a condition compares, each once."""
    if name == MEMBER_ID:
        return set(member_ids(row))
    if name == ERROR:
        return set(errors_of(row))
    return (group if name == GROUP else None if name == ANY else READ[name](row),)


def kept(ring: Ring, test: RowTest) -> list[Row]:
    """Return the matching rows that are still in memory."""
    rows: Iterable[Row] = ring.rows if test.group is None else ring.of_group(test.group)
    return [row for row in rows if test.fits(row)]
