"""The transaction coordinator assigns epochs, knows the partitions of each open transaction, decides how the transaction ends and has the
markers written (`markers`).

It is in the partitions of __transaction_state as groups are in those of __consumer_offsets (`hosting`): requests for an id are answered by
the node that leads its partition, and another node that loads the partition reads the id from the log. The states of an id are in `states`.

The order of its checks (TX-32): an empty id gets INVALID_REQUEST (42), an unknown one INVALID_PRODUCER_ID_MAPPING (49), an id whose markers
are being written CONCURRENT_TRANSACTIONS (51), another producer id 49, then the epoch is checked, then the state. An old client's EndTxn
gets 51 only after the check of the epoch, and so do requests before 4.0 that add to a transaction. An epoch that is not the current one is
`FENCED` here. Old versions of requests are answered INVALID_PRODUCER_EPOCH (47) for it, newer ones PRODUCER_FENCED (90) (`fenced_code`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Final

from groupmock_codec import error_codes
from groupmock_codec.units import NS_PER_MS

from ..hosting import Hosting
from ..log.names import OFFSETS_TOPIC, TRANSACTION_TOPIC
from ..work import A_FEW
from . import causes, levels
from .causes import Cause, Why
from .codes import (
    BUSY,
    ENDS,
    FENCED,
    NO_SUCH,
    NOBODY,
    NOT_ADDED,
    NOT_LOGGED,
    NOT_VALID,
    OK,
    TOO_MANY_IDS,
    TOO_MANY_PARTITIONS,
    Given,
    fenced_code,
)
from .markers import TIMER, Markers
from .producer_ids import ProducerIds
from .states import COMPLETED, IDLE, NEW, OLD, PREPARED, RETRIED, End, State
from .transactional_id import LAST_EPOCH, NONE, At, Holder, TransactionalId

if TYPE_CHECKING:
    from ..environment import Environment
    from ..log.topics import Topics
    from ..turn import TimerHandler, Turn
    from ..work import Steps

TIMEOUTS: Final = ("transaction_timeout",)
EXPIRY: Final = ("transaction_expiry",)


class TransactionCoordinator:
    """The coordinator of all transactional ids of the cluster, whichever nodes coordinate them."""

    def __init__(self, environment: Environment, topics: Topics, hosting: Hosting) -> None:
        self._environment = environment
        self._topics = topics
        self._ids: dict[str, TransactionalId] = {}
        self.producer_ids = ProducerIds()
        self._logs: dict[int, dict[str, TransactionalId]] = {}
        self._markers = Markers(environment, topics, self._complete)
        self.hosting = hosting
        """Places the partitions of __transaction_state on nodes."""
        self.timer_handlers: dict[str, TimerHandler] = {
            TIMEOUTS[0]: self._on_timeouts,
            EXPIRY[0]: self._on_expiry,
            TIMER: self._on_markers,
        }
        self.ended: Counter[Cause] = Counter()
        """The number of transactions that ended since the start, by cause."""

    def gate(self, name: str, node: int) -> int:
        """Return the error with which the node refuses to answer for the id: INVALID_REQUEST (42) for an empty id, 14 while loading, 16
        if another node coordinates it, or 0."""
        if not name:
            return NOT_VALID
        return self.hosting.gate(self.hosting.partition_of(name), node)

    def find(self, name: str) -> TransactionalId | None:
        """Return the transactional id, or None if it does not exist or has no coordinator now."""
        return self._ids.get(name)

    def on(self, node: int) -> list[TransactionalId]:
        """Return the transactional ids that the node coordinates, by partition."""
        mine = [each for each in self._ids.values() if self.hosting.gate(each.partition, node) == OK]
        return sorted(mine, key=lambda each: each.partition)

    def all(self) -> Iterable[TransactionalId]:
        """Return all transactional ids that have a coordinator."""
        return self._ids.values()

    def _known(self, turn: Turn, name: str, by: Holder, client_id: str | None, waits: bool = True) -> int | TransactionalId:
        """Return the transactional id if the producer has its current epoch, or else an error code (TX-32). With `waits`, an id between
        two states is an error, too."""
        known = self._ids.get(name)
        if known is None:
            return NO_SUCH
        busy = waits and known.busy
        if busy and not turn.quirks.producer_checked_before_busy:
            return BUSY
        if known.producer_id != by.producer_id:
            return NO_SUCH
        if known.epoch != by.epoch:
            return self._fenced(turn, known, by, client_id)
        return BUSY if busy else known

    def _fenced(self, turn: Turn, known: TransactionalId, by: Holder, client_id: str | None) -> int:
        why = causes.fenced(by.producer_id, by.epoch, known.epoch)
        fields = {"transactional_id": known.name, "producer_id": by.producer_id, "producer_epoch": by.epoch}
        turn.note("producer_fenced", **fields, client_id=client_id, current_epoch=known.epoch, cause=why.cause, reason=why.sentence)
        return FENCED


    def init(self, turn: Turn, name: str, timeout_ms: int, own: Holder | None, client_id: str | None) -> Given:
        """Assign the producer id and the next epoch of a transactional id to a producer. `own` is its producer id and epoch, if it goes
        on after an error (KIP-360)."""
        known = self._ids.get(name)
        if known is None:
            return self._create(turn, name, timeout_ms, client_id)
        if known.busy:
            return Given(BUSY)
        if own is not None and not known.may_be(own):
            return Given(self._fenced(turn, known, own, client_id))
        if known.state is State.ONGOING:
            self.abort(turn, known, causes.producer_replaced(client_id))
            return Given(BUSY)
        return self._next(turn, known, timeout_ms, own, client_id)

    def _create(self, turn: Turn, name: str, timeout_ms: int, client_id: str | None) -> Given:
        most = turn.settings.cluster_max_transactional_ids
        if len(self._ids) + sum(map(len, self._logs.values())) >= most:
            turn.note("transactional_id_refused", transactional_id=name, reason=f"groupmock.cluster.max.transactional.ids is {most}")
            return Given(TOO_MANY_IDS)
        self.hosting.make_topic(turn)
        partition = self.hosting.partition_of(name)
        producer_id = self._fresh(partition)
        known = TransactionalId(name, partition, producer_id, timeout_ms, turn.wall_ms)
        self._ids[name] = known
        self._moved(turn, known, "", causes.id_created(client_id))
        return Given(OK, Holder(producer_id, 0))

    def _fresh(self, partition: int) -> int:
        """Return a new producer id, from the node that coordinates the transactional ids of that partition."""
        leader = self.hosting.leader_of(partition)
        assert leader is not None, f"nobody leads partition {partition} of {TRANSACTION_TOPIC}, and an id of it was asked for"
        return self.producer_ids.of(leader)

    def _next(self, turn: Turn, known: TransactionalId, timeout_ms: int, own: Holder | None, client_id: str | None) -> Given:
        """Raise the epoch of a transactional id without an open transaction (TransactionMetadata.prepareIncrementProducerEpoch)."""
        epoch = known.epoch
        if known.exhausted and (own is None or own.epoch == epoch):
            why = causes.epochs_ended(known.producer_id)
            known.rotate(self._fresh(known.partition), NONE if own is None else epoch)
        elif own is None:
            why = causes.producer_came(client_id, epoch)
            known.bump(NONE)
        elif own.epoch == epoch:
            why = causes.producer_went_on(client_id)
            known.bump(epoch)
        elif own.epoch == known.last_epoch:
            # The producer must have missed the answer to its last InitProducerId, so it gets the same epoch again.
            why = causes.producer_went_on(client_id)
        else:
            return Given(self._fenced(turn, known, own, client_id))
        known.timeout_ms = timeout_ms
        self._emptied(turn, known, why)
        return Given(OK, Holder(known.producer_id, known.epoch))

    def _emptied(self, turn: Turn, known: TransactionalId, why: Why) -> None:
        before, known.state = known.state, State.EMPTY
        if not turn.quirks.start_of_transaction_stays:
            known.started_ms = NONE
        self._moved(turn, known, before, why)


    def add(
        self, turn: Turn, name: str, by: Holder, places: Iterable[At], why: Why, client_id: str | None, *, new: bool = False
    ) -> int:
        """Add partitions to the producer's transaction; the first partitions begin the transaction. `new`: the first write of a new
        client adds them."""
        known = self._known(turn, name, by, client_id)
        if isinstance(known, int):
            return known
        before = known.state
        fresh = [at for at in places if before is not State.ONGOING or at not in known.partitions]
        if not fresh and before is State.ONGOING:
            return OK  # A request without partitions begins a transaction, too (seen on 4.3.0, 3.9.1, 2.8.2).
        if new and not levels.logs_new_clients(turn):
            return self._not_logged(turn, known)
        most = turn.settings.transaction_max_partitions
        if len(known.partitions) + len(fresh) > most:
            turn.note("partitions_refused", transactional_id=name, reason=f"groupmock.transaction.max.partitions is {most}")
            return TOO_MANY_PARTITIONS
        most = turn.settings.cluster_max_transaction_partitions
        if self._markers.partitions + len(fresh) > most:
            turn.note("partitions_refused", transactional_id=name, reason=f"groupmock.cluster.max.transaction.partitions is {most}")
            return TOO_MANY_PARTITIONS
        if before is not State.ONGOING:
            known.state, known.started_ms, known.marked = State.ONGOING, turn.wall_ms, 0
        self._markers.partitions -= len(known.partitions)
        known.partitions.update(dict.fromkeys(fresh))
        self._markers.partitions += len(known.partitions)
        known.changed_ms = turn.wall_ms
        if before is not State.ONGOING:
            self._moved(turn, known, before, why)
            self._watch_timeout(turn, known)
        return OK

    def verify(self, turn: Turn, name: str, by: Holder, at: At, client_id: str | None) -> int:
        """Return an error code that says whether the partition is in the producer's open transaction (KIP-890). A partition that is not
        logged yet is not waited for (TransactionCoordinator.handleVerifyPartitionsInTransaction)."""
        known = self._known(turn, name, by, client_id, waits=False)
        if isinstance(known, int):
            return known
        if known.state in PREPARED:
            return BUSY
        return OK if known.state is State.ONGOING and at in known.partitions else NOT_ADDED

    def check(self, turn: Turn, name: str, by: Holder, at: At, adds: bool, client_id: str | None) -> int:
        """Verify or add a partition to which a transaction writes for the first time, on behalf of the partition's leader. `adds`: the
        write adds the partition to the transaction. Without a coordinator the code is 19, so that clients retry without looking for
        another leader (ReplicaManager.handleProduceAppend)."""
        if not name:
            return NOT_VALID
        partition = self.hosting.partition_of(name)
        leader = self.hosting.leader_of(partition)
        if leader is None or self.hosting.gate(partition, leader) != OK:
            return error_codes.NOT_ENOUGH_REPLICAS
        if adds:
            why = causes.group_added(at[0]) if at[0] == OFFSETS_TOPIC else causes.partitions_added(1)
            code = self.add(turn, name, by, (at,), why, client_id, new=True)
        else:
            code = self.verify(turn, name, by, at, client_id)
        if code == BUSY and not adds:
            return error_codes.NOT_ENOUGH_REPLICAS
        return fenced_code(code, 1, 0)


    def end(self, turn: Turn, name: str, by: Holder, committed: bool, bumps: bool, client_id: str | None) -> Given:
        """End the producer's open transaction. `bumps`: a new client's (v5), whose next transaction has an epoch of its own."""
        known = self._ids.get(name)
        if known is None:
            return Given(NO_SUCH)
        if known.busy and bumps:
            return Given(BUSY)
        overflow = bumps and (known.previous_id, known.epoch) == (by.producer_id, 0) and by.epoch == LAST_EPOCH
        if known.producer_id != by.producer_id and not overflow:
            return Given(NO_SUCH)
        table = OLD if not bumps else RETRIED if overflow or known.epoch == by.epoch + 1 else NEW
        if table is not RETRIED and known.epoch != by.epoch:
            return Given(self._fenced(turn, known, by, client_id))
        if known.busy:
            return Given(BUSY)
        what = table[known.state, committed]
        if what is End.DECIDE:
            return self._decide(turn, known, committed, bumps, causes.ended(committed, client_id))
        if what is End.FENCED:
            return Given(self._fenced(turn, known, by, client_id))
        return Given(ENDS[what], Holder(known.producer_id, known.epoch) if what is End.DONE else NOBODY)

    def _decide(self, turn: Turn, known: TransactionalId, committed: bool, bumps: bool, why: Why) -> Given:
        before = known.state
        if bumps:
            if not levels.logs_new_clients(turn):
                return Given(self._not_logged(turn, known))
            if known.exhausted:
                known.next_id = self._fresh(known.partition)
            known.bump(known.epoch)
        if before is not State.ONGOING:  # A new client may abort a transaction that has not begun.
            known.started_ms, known.marked = turn.wall_ms, 0
        else:
            self.ended[why.cause] += 1
        known.state = State.PREPARE_COMMIT if committed else State.PREPARE_ABORT
        self._moved(turn, known, before, why)
        self._markers.owe(known)
        return Given(OK, Holder(known.producer_id, known.epoch) if known.next_id == NONE else Holder(known.next_id, 0))

    def abort(self, turn: Turn, known: TransactionalId, why: Why) -> None:
        """Abort a transaction because the coordinator itself decides so, for instance at a timeout, and fence the producer. At level 2
        it may still come again with its old epoch (TX-23, TX-24)."""
        before = known.state
        known.bump(known.epoch if levels.keeps_the_aborted(turn) else NONE)
        known.state = State.PREPARE_ABORT
        self.ended[why.cause] += 1
        self._moved(turn, known, before, why)
        self._markers.owe(known)

    def fence(self, turn: Turn, known: TransactionalId) -> None:
        """Fence the current producer of a transactional id. One InitProducerId does that if the id is idle (TX-20); with an open
        transaction it takes two, the second after the transaction was aborted (TX-21)."""
        if known.state is State.ONGOING:
            known.fencing = True
            self.abort(turn, known, causes.FENCE_ORDERED)
            return
        known.fencing = False
        if known.exhausted:
            known.rotate(self._fresh(known.partition), NONE)
        else:
            known.bump(NONE)
        self._emptied(turn, known, causes.FENCE_ORDERED)


    def settle(self, turn: Turn) -> None:
        """Write the markers of transactions whose end was decided in the present turn."""
        self._markers.settle(turn)

    def _complete(self, turn: Turn, known: TransactionalId) -> None:
        before, known.state = known.state, COMPLETED[known.state]
        if known.next_id != NONE:
            known.rotate(known.next_id, known.last_epoch)
        self._moved(turn, known, before, causes.markers_written(known.marked))
        if known.fencing:
            self.fence(turn, known)

    def release(self, turn: Turn, name: str) -> None:
        """Write the markers of the transactional id, because a command no longer holds them back."""
        known = self._ids.get(name)
        if known is not None:
            self._markers.release(turn, known)

    def topic_deleted(self, turn: Turn, topic: str) -> None:
        """Forget what a deleted topic had of transactions."""
        if topic == TRANSACTION_TOPIC:
            self._markers.partitions -= sum(len(known.partitions) for log in self._logs.values() for known in log.values())
            self._logs.clear()
        else:
            self._markers.topic_deleted(turn)

    def _on_markers(self, subject: tuple[str, ...], turn: Turn) -> bool:
        self._markers.write(turn, self._ids[subject[0]])
        return True

    def _watch_timeout(self, turn: Turn, known: TransactionalId) -> None:
        """Set the timer for the first of the coordinator's fixed times at which a transaction has timed out (TX-91)."""
        self._arm(turn, TIMEOUTS, known.started_ms + known.timeout_ms + 1, turn.settings.transaction_abort_cleanup_interval_ms)

    def _arm(self, turn: Turn, key: tuple[str], due_ms: int, interval_ms: int) -> None:
        interval = interval_ms * NS_PER_MS
        wanted = max((due_ms - turn.environment.epoch_ms) * NS_PER_MS, turn.now + 1)
        at = -(-wanted // interval) * interval
        armed = turn.timers.get(key)
        if armed is None or at < armed.deadline:
            turn.timers.set(key, at)

    def _on_timeouts(self, subject: tuple[str, ...], turn: Turn) -> bool:
        turn.begin(self._end_overdue)
        return True

    def _end_overdue(self, turn: Turn) -> Steps:
        now_ms = turn.wall_ms
        for number, known in enumerate(list(self._ids.values())):
            if known.state is State.ONGOING and not known.stuck and self._ids.get(known.name) is known:
                if known.started_ms + known.timeout_ms < now_ms:
                    self.abort(turn, known, causes.timed_out(known.timeout_ms))
                else:
                    self._watch_timeout(turn, known)
            if not number % A_FEW:
                yield
        self.settle(turn)

    def _watch_expiry(self, turn: Turn, known: TransactionalId) -> None:
        settings = turn.settings
        self._arm(turn, EXPIRY, known.changed_ms + settings.transactional_id_expiration_ms, settings.transactional_id_cleanup_interval_ms)

    def _on_expiry(self, subject: tuple[str, ...], turn: Turn) -> bool:
        turn.begin(self._forget_old)
        return True

    def _forget_old(self, turn: Turn) -> Steps:
        lifetime_ms, now_ms = turn.settings.transactional_id_expiration_ms, turn.wall_ms
        for number, known in enumerate(list(self._ids.values())):
            if known.state in IDLE and not known.stuck and self._ids.get(known.name) is known:
                if known.changed_ms + lifetime_ms <= now_ms:
                    self.forget(turn, known, causes.id_expired(lifetime_ms))
                else:
                    self._watch_expiry(turn, known)
            if not number % A_FEW:
                yield

    def forget(self, turn: Turn, known: TransactionalId, why: Why) -> None:
        """Remove a transactional id without a transaction, so that the next producer with this id is new (TX-93)."""
        del self._ids[known.name]
        self._told(turn, known, known.state, "", why)

    def _not_logged(self, turn: Turn, known: TransactionalId) -> int:
        known.stuck = True
        known.note(turn, "transaction_not_logged", causes.NOT_LOGGED)
        return NOT_LOGGED


    def _moved(self, turn: Turn, known: TransactionalId, before: str, why: Why) -> None:
        known.changed_ms = turn.wall_ms
        self._told(turn, known, before, known.state, why)
        if known.state in IDLE:
            self._watch_expiry(turn, known)

    def _told(self, turn: Turn, known: TransactionalId, before: str, after: str, why: Why) -> None:
        known.note(turn, "transaction_moved", why, before=str(before), after=str(after))

    def unload(self, turn: Turn, partition: int, node: int | None) -> None:
        """Move the transactional ids of a partition from memory to the log."""
        why = causes.coordinator_left(partition, node)
        log = self._logs[partition] = {each.name: each for each in self._ids.values() if each.partition == partition}
        for known in log.values():
            del self._ids[known.name]
            self._markers.forget(turn, known)
            self._told(turn, known, known.state, "", why)

    def load(self, turn: Turn, partition: int, node: int | None) -> None:
        """Restore the transactional ids of a partition from the log, and continue transactions whose end was decided."""
        why = causes.coordinator_loaded(partition, node)
        log: Mapping[str, TransactionalId] = self._logs.pop(partition, {})
        for known in log.values():
            known.stuck = False  # If the change could not be logged, another coordinator that loads the transactional id does not see it.
            self._ids[known.name] = known
            self._told(turn, known, "", known.state, why)
            if known.state is State.ONGOING:
                self._watch_timeout(turn, known)
            elif known.state in PREPARED:
                self._markers.owe(known)
            else:
                self._watch_expiry(turn, known)
        self.settle(turn)

