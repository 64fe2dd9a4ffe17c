"""The markers of transactions whose end is decided: one in every partition of each, as soon as it may be written.

A decision is written behind the answer that tells of it (`settle`), or groupmock.transaction.markers.delay.ms later, one partition per
step of work: an id whose end is decided is busy, whatever else happens between them. It waits where somebody holds it (`hold_markers`), and
for a leader where a partition has none; what has its marker is out of the transaction by then.
Where a log refuses one, since it knows a later epoch, the transaction never ends: nobody sends it again.
In Kafka: TransactionMarkerChannelManager, TransactionMarkerRequestCompletionHandler.
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
    """The markers that are still to be written. `complete` is called for an id whose last partition has its marker."""

    def __init__(self, environment: Environment, topics: Topics, complete: Callable[[Turn, TransactionalId], None]) -> None:
        self._environment, self._topics, self._complete = environment, topics, complete
        self._decided: list[TransactionalId] = []
        self._writing: dict[str, list[At]] = {}
        """Id -> where they were written by the work that is under way."""
        self._without_leader: dict[str, TransactionalId] = {}
        self._elections = 0
        self._refused: set[str] = set()
        self.partitions = 0
        """How many are in transactions that are open, or have no marker yet."""
        topics.when_led(lambda turn, topic: self._go_on(turn))

    def owe(self, known: TransactionalId) -> None:
        """How its transaction ends is decided."""
        self._decided.append(known)

    def forget(self, turn: Turn, known: TransactionalId) -> None:
        """Its coordinator is gone; the next one owes them anew."""
        self._writing.pop(known.name, None)
        self._without_leader.pop(known.name, None)
        self._refused.discard(known.name)
        turn.timers.cancel((TIMER, known.name))

    def settle(self, turn: Turn) -> None:
        """Write the markers of what was decided in this entry, or see to it that they are written later."""
        decided, self._decided = self._decided, []
        delay_ms = turn.settings.transaction_markers_delay_ms
        for known in decided:
            if delay_ms:
                turn.timers.set((TIMER, known.name), turn.after(delay_ms))
            else:
                self.write(turn, known)

    def release(self, turn: Turn, known: TransactionalId) -> None:
        """Nobody holds them any more: they are written now, unless their delay is not over yet."""
        if known.state in PREPARED and known.name not in self._refused and (TIMER, known.name) not in turn.timers:
            self.write(turn, known)

    def topic_deleted(self, turn: Turn) -> None:
        """A partition that is gone needs no marker (TX-58)."""
        self._go_on(turn)

    def write(self, turn: Turn, known: TransactionalId) -> None:
        """All of them that can be written."""
        if known.name not in self._writing:
            told = self._writing[known.name] = []
            turn.begin(partial(self._write, known, told))

    def _write(self, known: TransactionalId, told: list[At], turn: Turn) -> Steps:
        from ..log.transactions import Marker  # a server that listens has no need of it yet

        if self._environment.holds.keeps_markers(known.name):
            known.note(turn, "markers_held", causes.markers_held(len(known.partitions)))
            self._writing.pop(known.name, None)
            return
        marker = Marker(known.producer_id, known.epoch, known.state is State.PREPARE_COMMIT, self._coordinator_epoch(known))
        self._without_leader.pop(known.name, None)
        seen = self._elections
        for at in list(known.partitions):
            if self._writing.get(known.name) is not told:
                break  # its coordinator is gone, the next one owes what is left
            if self._written(turn, known, at, marker):
                told.append(at)
            yield
        known.marked += len(told)
        self._topics.fetches.changed(turn, told)
        if self._writing.get(known.name) is not told:
            return
        del self._writing[known.name]
        if not known.partitions:
            self._complete(turn, known)
        elif known.name not in self._refused:
            self._without_leader[known.name] = known
            if seen != self._elections:
                self.write(turn, known)

    def _written(self, turn: Turn, known: TransactionalId, at: At, marker: Marker) -> bool:
        """Does it stand in the log now? A partition that is gone needs none any more."""
        partition = self._topics.find(*at)
        if partition is not None and partition.leader not in {node.node_id for node in self._environment.up}:
            return False
        if partition is None:
            self._done(known, at)
            return False
        try:
            self._topics.mark(turn, self._topics.require(at[0]), partition, marker)
        except RecordsError as refused:  # somebody wrote there with an epoch of the future, or its marker (WriteTxnMarkers)
            self._refused.add(known.name)
            turn.note("marker_refused", topic=at[0], partition=at[1], producer_id=marker.producer_id, reason=refused.reason)
            return False
        self._done(known, at)
        return True

    def _done(self, known: TransactionalId, at: At) -> None:
        del known.partitions[at]
        self.partitions -= 1

    def _coordinator_epoch(self, known: TransactionalId) -> int:
        """That of its partition's leader."""
        partition = self._topics.find(TRANSACTION_TOPIC, known.partition)
        return 0 if partition is None else partition.leader_epoch

    def _go_on(self, turn: Turn) -> None:
        """Partitions have other leaders, or are gone: markers may wait for that."""
        self._elections += 1
        for known in list(self._without_leader.values()):
            self.write(turn, known)
