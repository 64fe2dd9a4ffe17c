"""Follows the committed offsets of one group, as far as rows show them.

A plain commit counts at once. The offsets of a transaction count when the transaction is committed, unless the partition got a later commit
(docs/kafka/transactions.md#tx-70). Some changes leave no complete row, and then the offsets are unknown.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, Final

from groupmock_codec.group_states import DEAD

from ..journal.rows import CommandRow, MovedRow, NoteRow
from ..rounds import Partition
from ..rounds.group_fold import LIVES_ON

REMEMBERED: Final = 100_000
"""At most this many partitions of one group are remembered."""
PRODUCER: Final = re.compile(r"the transaction of producer (-?\d+) ")
COMMIT, RESET = "commit_offsets", "reset_offsets"
EXPIRED, REMOVED, OF_TRANSACTION = "offset_expired", "offset_removed", "offsets_of_transaction"
OFFSETS_TOPIC: Final = "__consumer_offsets"
STAYS: Final = "its offsets stay"
"""The reason of a move to Dead ends with this text if the log does not know of the move (core.groups.causes.MISLAID)."""


class Committed:
    """The committed `offsets` of one group by partition. `known` is true if no other offsets can exist. `waiting` maps producer ids to
    the offsets of their open transactions."""

    def __init__(self) -> None:
        self.offsets: dict[Partition, int] = {}
        self.known = True
        self.waiting: dict[int, dict[Partition, int]] = {}
        self._orders: dict[Partition, int] = {}  # The order of the row that brought each partition's offset.
        self._waiting_orders: dict[tuple[int, Partition], int] = {}

    def store(self, offsets: Mapping[Partition, int], order: int) -> None:
        """Store a plain commit that was handled as row `order`."""
        for partition, offset in offsets.items():
            if order < self._orders.get(partition, 0):
                continue
            if partition not in self.offsets and len(self.offsets) >= REMEMBERED:
                self.known = False
                continue
            self.offsets[partition], self._orders[partition] = offset, order

    def found(self, offsets: Mapping[Partition, int], order: int) -> None:
        """Store the offsets of an answer to OffsetFetch. Unknown offsets were committed before the rows begin, or are not in the rows."""
        new = {partition: offset for partition, offset in offsets.items() if partition not in self.offsets}
        if new:
            self.known = False
            self.store(new, order)

    def wait(self, producer: int, offsets: Mapping[Partition, int], order: int) -> None:
        """Remember offsets in an open transaction, which count when the transaction is committed."""
        if len(self._waiting_orders) + len(offsets) > REMEMBERED:
            self.known = False
            return
        self.waiting.setdefault(producer, {}).update(offsets)
        self._waiting_orders.update({(producer, partition): order for partition in offsets})

    def end(self, row: NoteRow) -> dict[Partition, int]:
        """Return the offsets that are committed because their transaction was."""
        found = PRODUCER.match(str(row.fields.get("reason", "")))
        producer = int(found[1]) if found is not None else -1
        mine = self.waiting.pop(producer, {})
        orders = {partition: self._waiting_orders.pop((producer, partition)) for partition in mine}
        if row.fields.get("cause") != "transaction_committed":
            return {}
        won = {each: offset for each, offset in mine.items() if orders[each] >= self._orders.get(each, 0)}
        if len(won) != row.fields.get("offsets"):
            self.known = False
        for partition, offset in won.items():
            self.store({partition: offset}, orders[partition])
        return won

    def forget(self, partitions: Iterable[Partition]) -> None:
        for partition in partitions:
            self.offsets.pop(partition, None)
            for producer, mine in self.waiting.items():
                if mine.pop(partition, None) is not None:
                    del self._waiting_orders[producer, partition]

    def forget_topic(self, topic: str) -> None:
        """Forget a deleted topic and its committed offsets."""
        if topic == OFFSETS_TOPIC:
            self.known = False
        waiting = {partition for mine in self.waiting.values() for partition in mine}
        self.forget([each for each in (*self.offsets, *waiting) if each[0] == topic])

    def moved(self, row: MovedRow) -> None:
        """Forget all offsets if the group is deleted, unless it comes back as another type or from the log."""
        if row.after == DEAD and row.cause not in (*LIVES_ON, "group_created") and not row.reason.endswith(STAYS):
            self.forget(list(self.offsets))
            self.waiting.clear()
            self._waiting_orders.clear()
            self._orders.clear()

    def ordered(self, row: CommandRow) -> None:
        """Note that a command commits or resets offsets, which are then unknown."""
        if row.name == COMMIT:
            self.store({_place(each): int(each["offset"]) for each in row.arguments["offsets"]}, row.seq)
        elif row.name == RESET:
            self.known = False


def _place(each: Mapping[str, Any]) -> Partition:
    return str(each["topic"]), int(each["partition"])
