"""Offsets that transactions have committed and whose end is still to come: one group's (KIP-98, KIP-447; docs/kafka/transactions.md#tx-70).

They are invisible until the marker of their producer stands in the group's partition of __consumer_offsets. A commit makes them the
group's, an abort drops them. What wins is the order of writing, not of ending: what was written later, by a plain commit or by another
transaction, stands whatever ends last. So each one has a number, and `_settled` knows the number of what stands, as long as somebody has
something pending there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from .committed import At, Offset


class Pending(NamedTuple):
    """One of them; `number`: in the order of writing."""

    offset: Offset
    number: int


class PendingOffsets:
    """By producer id and partition."""

    __slots__ = ("_by_producer", "_number", "_settled")

    def __init__(self) -> None:
        self._by_producer: dict[int, dict[At, Pending]] = {}
        self._settled: dict[At, int] = {}
        self._number = 0

    def __bool__(self) -> bool:
        return bool(self._by_producer)

    def __contains__(self, at: At) -> bool:
        return any(at in mine for mine in self._by_producer.values())

    def places(self) -> frozenset[At]:
        """Every partition in which somebody has one."""
        return frozenset(at for mine in self._by_producer.values() for at in mine)

    def in_topic(self, topic: str) -> bool:
        """Has somebody one there?"""
        return any(at[0] == topic for mine in self._by_producer.values() for at in mine)

    def write(self, producer_id: int, at: At, offset: Offset) -> None:
        """A transaction commits that offset; the last one of a partition counts."""
        self._number += 1
        self._by_producer.setdefault(producer_id, {})[at] = Pending(offset, self._number)

    def overtaken(self, at: At) -> None:
        """A plain commit was written there: it is later than all that is pending."""
        self._number += 1
        if at in self:
            self._settled[at] = self._number

    def ended(self, producer_id: int, committed: bool) -> dict[At, Offset]:
        """The producer's transaction is over; what becomes the group's now."""
        mine = self._by_producer.pop(producer_id, {})
        won = {at: each for at, each in mine.items() if committed and each.number > self._settled.get(at, 0)}
        self._settled.update({at: each.number for at, each in won.items()})
        for at in mine:
            if at not in self:
                self._settled.pop(at, None)
        return {at: each.offset for at, each in won.items()}

    def discard(self, at: At) -> None:
        """Nothing of that partition is pending any more."""
        for producer_id, mine in list(self._by_producer.items()):
            mine.pop(at, None)
            if not mine:
                del self._by_producer[producer_id]
        self._settled.pop(at, None)

    def discard_topic(self, topic: str) -> None:
        """Nothing of that topic is."""
        for at in [at for at in self.places() if at[0] == topic]:
            self.discard(at)
