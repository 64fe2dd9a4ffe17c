"""What the functions behind the routes work on: the running cluster, and how it is started anew."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

import msgspec

from ..core.events import Command
from ..journal.file import without_empty_tags
from ..journal.ring import Ring
from ..journal.rows import Row

if TYPE_CHECKING:
    from ..running import Running


class Done(msgspec.Struct):
    """A command was done. `seq`: the number of its row; what it caused has the rows behind it."""

    seq: int


class ControlContext:
    """One control API. `restart` stops the cluster and gives a new one on the same ports."""

    def __init__(self, running: Running, restart: Callable[[Running], Awaitable[Running]]) -> None:
        self.running = running
        self._restart = restart
        self._one_at_a_time = asyncio.Lock()

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

    async def reset(self) -> None:
        """Forget everything but configuration and addresses."""
        async with self._one_at_a_time:
            self.running = await self._restart(self.running)


def plain_row(row: Row) -> Any:
    """A row as it stands in a journal file."""
    return msgspec.Raw(without_empty_tags(msgspec.json.encode(row)))
