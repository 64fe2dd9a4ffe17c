"""What the functions behind the routes work on: the running cluster, and how it is started anew."""

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
"""Some milliseconds of a turn of the loop."""


class Done(msgspec.Struct):
    """A command was done. `seq`: the number of its row; what it caused has the rows behind it."""

    seq: int


class ControlContext:
    """One control API. `restart` stops the cluster and gives a new one on the same ports, with that configuration."""

    def __init__(self, running: Running, restart: Callable[[Running, Config], Awaitable[Running]]) -> None:
        self.running = running
        self._begin()
        self._restart = restart
        self._one_at_a_time = asyncio.Lock()
        self._resets: set[asyncio.Task[None]] = set()

    @property
    def ring(self) -> Ring:
        """The rows that are kept in memory."""
        assert self.running.ring is not None, "a cluster with a control API keeps rows"
        return self.running.ring

    def submit(self, name: str, /, **arguments: Any) -> Done:
        """Run a command."""
        seq = self.running.server.journal.sequence + 1
        self.running.submit(Command(name, arguments))
        return Done(seq)

    def cannot_accept(self, reason: str) -> None:
        """Write and count that a connection of the control API could not be accepted."""
        if self.running.closed:  # a reset is under way
            return
        driver = self.running.server.driver
        driver.counters.accept_failures += 1
        driver.record.remark(CANNOT_ACCEPT, self.running.clock.now(), reason=f"control API: {reason}")

    async def reset(self, config: Config | None = None) -> None:
        """Forget everything but configuration (None: the one that there is) and addresses. It is done to its end, also if who asked for it
        hangs up meanwhile."""
        task = asyncio.get_running_loop().create_task(self._reset(config))
        self._resets.add(task)
        task.add_done_callback(self._resets.discard)
        await asyncio.shield(task)

    async def settle(self) -> None:
        """Until no reset is under way."""
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
    """Rows as they stand in a journal file. Kafka's clients are served between slices of them."""
    plain: list[Any] = []
    for at in range(0, len(rows), ROWS_AT_ONCE):
        plain += [msgspec.Raw(without_empty_tags(msgspec.json.encode(row))) for row in rows[at : at + ROWS_AT_ONCE]]
        await asyncio.sleep(0)
    return plain
