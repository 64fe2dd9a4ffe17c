"""The functions of routes get this context: the running cluster and the means to restart it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Any, Final

import msgspec

from ..core.events import Command
from ..journal.file import without_empty_tags
from ..journal.ring import Ring
from ..journal.rows import CANNOT_ACCEPT, Row
from .arrivals import Arrivals
from .listening import Listeners
from .pictures import Pictures

if TYPE_CHECKING:
    from ..config.resolve import Config
    from ..server.running import Running

ROWS_AT_ONCE: Final = 200
"""The number of rows that are encoded in one turn of the loop, which takes some milliseconds."""


class Done(msgspec.Struct):
    """The answer to a command. `seq` is the number of the command's row, which is followed by the rows that the command caused."""

    seq: int


class ControlContext:
    """The cluster that a control API serves, and its way to restart it. `restart` stops the cluster and starts a new one with a
    configuration on the same ports."""

    def __init__(self, running: Running, restart: Callable[[Running, Config], Awaitable[Running]]) -> None:
        self.running = running
        self._begin()
        self._restart = restart
        self._one_at_a_time = asyncio.Lock()
        self._resets: set[asyncio.Task[None]] = set()

    @property
    def ring(self) -> Ring:
        """The ring of rows that are kept in memory."""
        assert self.running.ring is not None, "a cluster with a control API keeps rows"
        return self.running.ring

    def submit(self, name: str, /, **arguments: Any) -> Done:
        """Run a command of the core."""
        seq = self.running.server.journal.sequence + 1
        self.running.submit(Command(name, arguments))
        return Done(seq)

    def cannot_accept(self, reason: str) -> None:
        """Record and count that a connection of the control API could not be accepted."""
        if self.running.closed:  # A closed cluster means here that a reset is under way.
            return
        driver = self.running.server.driver
        driver.counters.accept_failures += 1
        driver.record.remark(CANNOT_ACCEPT, self.running.clock.now(), reason=f"control API: {reason}")

    async def reset(self, config: Config | None = None) -> None:
        """Replace the cluster by a new one with this configuration, or with the present configuration (None). The addresses stay. A
        reset is completed even if its client disconnects."""
        task = asyncio.get_running_loop().create_task(self._reset(config))
        self._resets.add(task)
        task.add_done_callback(self._resets.discard)
        await asyncio.shield(task)

    async def settle(self) -> None:
        """Wait until no reset is under way."""
        if self._resets:
            await asyncio.wait(self._resets)

    def _begin(self) -> None:
        journal = self.running.server.journal
        self.arrivals = Arrivals(journal, self.ring)
        self.listeners = Listeners(journal, self.ring)
        self.pictures = Pictures(journal.header, self.ring, self.running.clock.now)

    async def _reset(self, config: Config | None) -> None:
        async with self._one_at_a_time:
            self.running = await self._restart(self.running, config or self.running.config)
            self._begin()


async def plain_rows(rows: Sequence[Row]) -> list[Any]:
    """Return rows in the form of a journal file. The loop serves Kafka's clients between slices of them."""
    plain: list[Any] = []
    for start in range(0, len(rows), ROWS_AT_ONCE):
        plain += [msgspec.Raw(without_empty_tags(msgspec.json.encode(row))) for row in rows[start : start + ROWS_AT_ONCE]]
        await asyncio.sleep(0)
    return plain
