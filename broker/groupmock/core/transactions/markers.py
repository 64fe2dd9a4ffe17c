"""When the end of a transaction is decided, a marker is written to each of its partitions as soon as possible.

Markers are written after the answer to the decision (`settle`), or groupmock.transaction.markers.delay.ms later, one partition per step of
work. Other requests may come between the steps, because an id whose end is decided refuses changes. Markers wait while an operator holds
them (`hold_markers`), and while a partition has no leader. A partition with its marker is removed from the transaction.

If a log refuses a marker, because it knows a later epoch, the transaction never ends, since the marker is not sent again. In Kafka:
TransactionMarkerChannelManager, TransactionMarkerRequestCompletionHandler.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Final

from groupmock_codec.compression import RecordsError

from ..log.names import TRANSACTION_TOPIC
from . import causes
from .states import PREPARED, State

if TYPE_CHECKING:
    from ..environment import Environment
    from ..log.topics import Topics
    from ..log.transactions import Marker
    from ..turn import Turn
    from ..work import Steps
    from .transactional_id import At, TransactionalId

TIMER: Final = "markers"


class Markers:
    """The transaction markers that still have to be written. `complete` is called for an id whose last partition has its marker."""

    def __init__(self, environment: Environment, topics: Topics, complete: Callable[[Turn, TransactionalId], None]) -> None:
        self._environment, self._topics, self._complete = environment, topics, complete
        self._decided: list[TransactionalId] = []
        self._writing: dict[str, list[At]] = {}
        """The partitions to which the running work has written markers so far, by transactional id."""
        self._without_leader: dict[str, TransactionalId] = {}
        self._elections = 0
        self._refused: set[str] = set()
        self.partitions = 0
        """The total number of partitions of transactions that are open or still need markers."""
        topics.when_led(lambda turn, topic: self._go_on(turn))

    def owe(self, known: TransactionalId) -> None:
        """Add the transaction of an id to those whose markers must be written."""
        self._decided.append(known)

    def forget(self, turn: Turn, known: TransactionalId) -> None:
        """Forget an id whose coordinator has left, because the next coordinator writes its markers."""
        self._writing.pop(known.name, None)
        self._without_leader.pop(known.name, None)
        self._refused.discard(known.name)
        turn.timers.cancel((TIMER, known.name))

    def settle(self, turn: Turn) -> None:
        """Write the markers of transactions whose end was decided in the present turn, or set the timer for them."""
        decided, self._decided = self._decided, []
        delay_ms = turn.settings.transaction_markers_delay_ms
        for known in decided:
            if delay_ms:
                turn.timers.set((TIMER, known.name), turn.after(delay_ms))
            else:
                self.write(turn, known)

    def release(self, turn: Turn, known: TransactionalId) -> None:
        """Write the markers of an id that a command no longer holds back, unless their delay is not over yet."""
        if known.state in PREPARED and known.name not in self._refused and (TIMER, known.name) not in turn.timers:
            self.write(turn, known)

    def topic_deleted(self, turn: Turn) -> None:
        """Continue to write the waiting markers, because the partitions of a deleted topic need none (TX-58)."""
        self._go_on(turn)

    def write(self, turn: Turn, known: TransactionalId) -> None:
        """Write all markers of an id that can be written now."""
        if known.name not in self._writing:
            written = self._writing[known.name] = []
            turn.begin(partial(self._write, known, written))

    def _write(self, known: TransactionalId, written: list[At], turn: Turn) -> Steps:
        from ..log.transactions import Marker  # This import is late, because a server that only listens does not need it.

        if self._environment.holds.keeps_markers(known.name):
            known.note(turn, "markers_held", causes.markers_held(len(known.partitions)))
            self._writing.pop(known.name, None)
            return
        marker = Marker(known.producer_id, known.epoch, known.state is State.PREPARE_COMMIT, self._coordinator_epoch(known))
        self._without_leader.pop(known.name, None)
        seen = self._elections
        for at in list(known.partitions):
            if self._writing.get(known.name) is not written:
                break  # The coordinator of the transactional id has left, and the next one writes the remaining markers.
            if self._written(turn, known, at, marker):
                written.append(at)
            yield
        known.marked += len(written)
        self._topics.fetches.changed(turn, written)
        if self._writing.get(known.name) is not written:
            return
        del self._writing[known.name]
        if not known.partitions:
            self._complete(turn, known)
        elif known.name not in self._refused:
            self._without_leader[known.name] = known
            if seen != self._elections:
                self.write(turn, known)

    def _written(self, turn: Turn, known: TransactionalId, at: At, marker: Marker) -> bool:
        """Write one marker of a transaction, and return False if the partition cannot take it now. A deleted partition needs
        none."""
        partition = self._topics.find(*at)
        if partition is not None and partition.leader not in {node.node_id for node in self._environment.up}:
            return False
        if partition is None:
            self._done(known, at)
            return False
        try:
            self._topics.mark(turn, self._topics.require(at[0]), partition, marker)
        # The log refuses the marker, because the producer has written there with a later epoch, or its marker is there already
        # (WriteTxnMarkers).
        except RecordsError as refused:
            self._refused.add(known.name)
            turn.note("marker_refused", topic=at[0], partition=at[1], producer_id=marker.producer_id, reason=refused.reason)
            return False
        self._done(known, at)
        return True

    def _done(self, known: TransactionalId, at: At) -> None:
        del known.partitions[at]
        self.partitions -= 1

    def _coordinator_epoch(self, known: TransactionalId) -> int:
        """Return the leader epoch of the partition that stores the id, which is the epoch of its coordinator."""
        partition = self._topics.find(TRANSACTION_TOPIC, known.partition)
        return 0 if partition is None else partition.leader_epoch

    def _go_on(self, turn: Turn) -> None:
        """Write the waiting markers, because partitions have got other leaders or were deleted."""
        self._elections += 1
        for known in list(self._without_leader.values()):
            self.write(turn, known)
