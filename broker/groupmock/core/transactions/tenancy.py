"""The transaction coordinator is made when the first request or command needs it, because most clusters have no transactions. Until then,
the partitions of __transaction_state are led by nodes and have nothing in them."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property, partial
from typing import TYPE_CHECKING, Final

from ..hosting import Hosting
from ..java.hashes import partition_for
from ..log.internal import TRANSACTION_PARTITIONS
from ..log.names import TRANSACTION_TOPIC

if TYPE_CHECKING:
    from ..environment import Environment
    from ..log.topics import Topics
    from ..turn import TimerHandler, Turn
    from .coordinator import TransactionCoordinator

LOAD: Final = "load_transactions"
TIMERS: Final = ("transaction_timeout", "transaction_expiry", "markers")
"""The timers that the coordinator sets."""


class TransactionTenancy:
    """The coordinator of all transactional ids, as the hosting of __transaction_state sees it."""

    def __init__(self, environment: Environment, topics: Topics) -> None:
        self._environment = environment
        self._topics = topics
        places = TRANSACTION_PARTITIONS
        self.hosting = Hosting(environment, topics, TRANSACTION_TOPIC, partial(partition_for, partitions=places), places, LOAD, self)
        """Places the partitions of __transaction_state on nodes."""
        topics.when_deleted(self._topic_deleted)

    @cached_property
    def coordinator(self) -> TransactionCoordinator:
        """Return the coordinator, which is made on first use."""
        from .coordinator import TransactionCoordinator

        return TransactionCoordinator(self._environment, self._topics, self.hosting)

    @property
    def _made(self) -> TransactionCoordinator | None:
        made: TransactionCoordinator | None = self.__dict__.get("coordinator")
        return made

    def timer_handlers(self) -> dict[str, TimerHandler]:
        """Return the handlers of the transaction timers, by timer name."""
        return {**{name: self._of_coordinator(name) for name in TIMERS}, **self.hosting.timer_handlers()}

    def _of_coordinator(self, name: str) -> TimerHandler:
        return lambda subject, turn: self.coordinator.timer_handlers[name](subject, turn)

    def _topic_deleted(self, turn: Turn, topic: str) -> None:
        if self._made is not None:
            self._made.topic_deleted(turn, topic)

    def led(self, partitions: Iterable[int], node: int) -> None:
        """Do nothing, because transactional ids are not kept by node."""

    def left(self, partition: int, node: int) -> None:
        """Do nothing, because transactional ids are not kept by node."""

    def stopped(self, node: int) -> None:
        """Forget the stopped node's block of producer ids."""
        if self._made is not None:
            self._made.producer_ids.stopped(node)

    def unload(self, turn: Turn, partition: int, node: int | None) -> None:
        """Move the transactional ids of a partition from memory to the log."""
        if self._made is not None:
            self._made.unload(turn, partition, node)

    def load(self, turn: Turn, partition: int, node: int | None) -> None:
        """Restore the transactional ids of a partition from the log, and continue transactions whose end was decided."""
        if self._made is not None:
            self._made.load(turn, partition, node)
