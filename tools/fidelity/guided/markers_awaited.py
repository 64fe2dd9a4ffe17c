"""Wait for the markers of a transaction, which a broker writes after its answer to EndTxn (docs/kafka/transactions.md#tx-57) and the core
writes at once.

What a script asks in between is chance. So the player waits until the broker is where the core is: no marker is under way, and the groups
have what was committed."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import Final, NamedTuple

from groupmock.core.transactions.states import COMPLETED, State
from groupmock.core.transactions.transactional_id import TransactionalId
from groupmock_codec import error_codes
from groupmock_codec.declare import Message
from groupmock_codec.messages.k09_offset_fetch import OffsetFetchRequest, OffsetFetchRequestTopic, OffsetFetchResponse
from groupmock_codec.messages.k26_end_txn import EndTxnRequest, EndTxnResponse

from ..generated.transcript import Facts
from .core_player import CorePlayer

COMPLETE: Final = frozenset(COMPLETED.values())
OLD_END: Final = 2
"""A version of EndTxn of old clients, which can be repeated without an effect once the transaction has ended."""
MOMENT_S: Final = 0.002
PATIENCE_S: Final = 5.0

PendingAt = tuple[str, str, int]
"""The key of an offset in an open transaction: group, topic and partition."""


Ask = Callable[[int, int, Message], Message]
"""A function that sends a request of the player's own, given API key, version and message."""
Ends = dict[str, tuple[State, int]]
"""Maps a transactional id to its state and epoch."""


class Standing(NamedTuple):
    """The core's transactions and pending offsets at one moment of a play."""

    ids: Ends
    pending: frozenset[PendingAt]


class MarkersAwaited:
    """Waits until the broker's transactions are in the core's state, during one play."""

    def __init__(self, core: CorePlayer, ask: Ask, facts: Facts) -> None:
        self._core, self._ask, self._facts = core, ask, facts

    def standing(self) -> Standing:
        """Return the core's state, to be passed to `wait` after the next event."""
        cluster = self._core.core.cluster
        groups = ((name, cluster.groups.find(name)) for name in self._facts.groups)
        pending = frozenset((name, *at) for name, group in groups if group is not None for at in group.offsets.unstable)
        return Standing({each.name: (each.state, each.epoch) for each in cluster.transactions.all()}, pending)

    def wait(self, before: Standing) -> None:
        """Wait until the broker has ended the transactions that the core has ended since `before`, at most some seconds."""
        now = self.standing()
        for known in list(self._core.core.cluster.transactions.all()):
            if known.state in COMPLETE and before.ids.get(known.name) != now.ids[known.name]:
                self._until(partial(self._is_complete, known))
        if now.ids != before.ids and before.pending != now.pending:
            self._until(partial(self._is_pending, now.pending))

    @staticmethod
    def _until(there: Callable[[], bool]) -> None:
        end = time.monotonic() + PATIENCE_S
        while True:
            if there() or time.monotonic() > end:
                return
            time.sleep(MOMENT_S)  # The broker is polled, because it offers no event to wait for.

    def _is_complete(self, known: TransactionalId) -> bool:
        """Tell whether all markers of a transaction are written; before, a repeated EndTxn is answered with CONCURRENT_TRANSACTIONS (51)
        (TX-50)."""
        committed = known.state is State.COMPLETE_COMMIT
        asked = EndTxnRequest(transactional_id=known.name, producer_id=known.producer_id, producer_epoch=known.epoch, committed=committed)
        answer = self._ask(26, OLD_END, asked)
        assert isinstance(answer, EndTxnResponse)
        return answer.error_code != error_codes.CONCURRENT_TRANSACTIONS

    def _is_pending(self, wanted: frozenset[PendingAt]) -> bool:
        topics = [OffsetFetchRequestTopic(name=fact.name, partition_indexes=list(range(fact.partitions))) for fact in self._facts.topics]
        found: set[PendingAt] = set()
        for name in self._facts.groups:
            answer = self._ask(9, 7, OffsetFetchRequest(group_id=name, topics=topics, require_stable=True))
            assert isinstance(answer, OffsetFetchResponse)
            rows = ((topic.name, row) for topic in answer.topics for row in topic.partitions)
            found |= {(name, topic, row.partition_index) for topic, row in rows if row.error_code == error_codes.UNSTABLE_OFFSET_COMMIT}
        return found == wanted
