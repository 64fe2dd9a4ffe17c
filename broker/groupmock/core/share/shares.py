"""Finds and changes share partitions, share sessions and stored states of a cluster for groups, APIs and commands."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Final, NamedTuple

from groupmock_codec import error_codes

from ..budget import OverBudget
from ..work import OF_SHARED_RECORDS
from . import causes
from .acknowledging import EXHAUSTED, REJECTED, AcknowledgedBatch, AcknowledgementRefused
from .rules import EARLIEST, LATEST, RecordRules, RulesOfGroups
from .runs import Run
from .sessions import ShareSession, ShareSessions, Slot
from .share_partition import Freed, Place, SharePartition
from .states import RecordStates, RunCount
from .stored import FENCED, FENCED_4_3, NEVER_WRITTEN, Key, Stored, StoredStates

if TYPE_CHECKING:
    from ..environment import Environment
    from ..groups.registry import GroupRegistry
    from ..log.partition import Partition
    from ..log.topics import Topics
    from ..turn import TimerHandler, Turn
    from ..work import Steps
    from .causes import Why
    from .waiting import ShareFetches

NOT_HOSTED: Final = "This server does not host this topic-partition."
MOST_RUNS: Final = 500_000
"""The largest number of runs of records in flight in the cluster (share.runs). A run takes about 100 bytes."""


class Unreachable(NamedTuple):
    """The error with which a share partition cannot be fetched from a node."""

    code: int


class Shares:
    def __init__(self, environment: Environment, topics: Topics, groups: GroupRegistry) -> None:
        self.environment = environment
        self.topics = topics
        self.rules_of = RulesOfGroups(groups.configs).of
        """Returns the rules by which records are delivered to a group: called with the group's id and a node."""
        self.states = StoredStates(FENCED_4_3 if environment.settings.quirks.unknown_share_topic_fails_fetch else FENCED)
        self.partitions: dict[Key, SharePartition] = {}
        self._of_topic: dict[str, dict[Key, SharePartition]] = {}
        self._sessions: dict[int, ShareSessions] = {}
        self._count = RunCount()
        self._fenced: list[SharePartition] = []
        self._written: list[SharePartition] = []
        self._dropped: dict[str, SharePartition] = {}
        """Share partitions that were dropped while members had records of them, by number. Their locks end nevertheless."""
        self._drops = 0
        self.held: set[str] = set()
        """The ids of the groups to which no records are delivered, because a command holds them."""
        topics.when_deleted(self._topic_deleted)
        topics.when_led(self._led)

    @cached_property
    def fetches(self) -> ShareFetches:
        from .waiting import ShareFetches

        return ShareFetches(self)

    def timer_handlers(self) -> dict[str, TimerHandler]:
        """Return the handlers of the timers of share partitions, by timer name."""
        return {"share_fetch": lambda subject, turn: self.fetches.expire(turn, subject), "record_lock": self._locks_ended}

    # Stored states, which the coordinator of the group initializes, describes and deletes.

    def initialize(
        self, turn: Turn, group_id: str, topic_id: bytes, partitions: Iterable[int], state_epoch: int, start_offset: int = NEVER_WRITTEN
    ) -> None:
        """Make the states of partitions of a group, or replace them because its offsets are altered. A share partition in memory notices
        that with its next write (SG-296)."""
        self.states.initialize(group_id, topic_id, partitions, state_epoch, start_offset)

    def delete(self, turn: Turn, group_id: str, topic_id: bytes | None = None) -> None:
        """Delete the states of one topic of a group, or all of the group's."""
        self.states.delete(group_id, topic_id)

    def stored(self, group_id: str, topic_id: bytes, partition: int) -> Stored | None:
        """Return the stored state of a partition, or None if it is not initialized."""
        return self.states.find(group_id, topic_id, partition)

    def lag(self, group_id: str, topic_id: bytes, partition: int) -> int:
        """Return how many records of a partition the group has not done, by its stored state, or -1 if nothing was written (SG-103)."""
        stored = self.states.find(group_id, topic_id, partition)
        log = self.log_of((topic_id, partition))
        if stored is None or log is None or stored.start_offset == NEVER_WRITTEN:
            return -1
        return log.end - stored.start_offset - stored.done

    # Share partitions.

    def log_of(self, slot: Slot) -> Partition | None:
        return self.topics.find(self.topics.name_of(slot[0]) or "", slot[1])

    def reach(self, turn: Turn, node: int, group_id: str, slot: Slot, topic: str | None) -> SharePartition | Unreachable:
        """Return the share partition for a fetch at the node, and load its state if it is not in memory."""
        if topic is None:
            return Unreachable(error_codes.UNKNOWN_TOPIC_ID)
        log = self.topics.find(topic, slot[1])
        if log is None or self.topics.topic_id(topic) != slot[0]:
            return Unreachable(error_codes.UNKNOWN_TOPIC_OR_PARTITION)
        if log.leader != node:
            return Unreachable(error_codes.NOT_LEADER_OR_FOLLOWER)
        key = group_id, *slot
        found = self.partitions.get(key)
        if found is None:
            stored = self.states.find(*key)
            if stored is None:
                return Unreachable(error_codes.UNKNOWN_SERVER_ERROR)
            found = self._load(turn, Place(group_id, topic, slot[1]), key, log, stored)
        return found

    def _load(self, turn: Turn, place: Place, key: Key, log: Partition, stored: Stored) -> SharePartition:
        fresh = stored.start_offset == NEVER_WRITTEN
        start = self._reset(turn, log, self.rules_of(place.group_id, log.leader)) if fresh else 0
        states = RecordStates(start, self._count) if fresh else stored.resumed(self._count)
        stored.read_at(log.leader_epoch)
        found = SharePartition(place, key, log, states, stored.state_epoch, self.states)
        self.partitions[key] = found
        self._of_topic.setdefault(place.topic, {})[key] = found
        return found

    def _reset(self, turn: Turn, log: Partition, rules: RecordRules) -> int:
        """Return the offset at which a group begins that has none (SG-184, SG-272, SG-273)."""
        if rules.reset == EARLIEST:
            return log.start
        if rules.reset == LATEST:
            return log.end
        from ..groups.configs import duration_ms
        from ..log.partition import NOTHING

        found = log.by_timestamp(turn.wall_ms - duration_ms(rules.reset.partition(":")[2]), turn.settings.room())
        return log.end if found is NOTHING else found.offset

    def drop(self, turn: Turn, partition: SharePartition, why: Why) -> None:
        """Drop a share partition from memory. The next fetch loads its stored state, which knows nothing of acquired records."""
        partition.close(turn, why)
        del self.partitions[partition.key]
        of_topic = self._of_topic[partition.place.topic]
        del of_topic[partition.key]
        if not of_topic:
            del self._of_topic[partition.place.topic]
        if partition.states.held:
            self._drops += 1
            partition.timer = (*partition.timer, str(self._drops))
            self._dropped[str(self._drops)] = partition
            partition.lock_next(turn)
        else:
            partition.states.forget_all()

    @property
    def crowded(self) -> bool:
        """True if the cluster has so many runs of records in flight that no fetch gets more."""
        return self._count.runs >= MOST_RUNS

    def check_room(self, parts: int) -> None:
        """Refuse a request whose acknowledgements would cut the records in flight into too many runs."""
        if self._count.runs + 2 * parts > MOST_RUNS:
            raise OverBudget(
                f"the share groups of this cluster have {self._count.runs} runs of records in flight, and {parts} acknowledgements could "
                f"make more than {MOST_RUNS}: acknowledge neighbouring records alike"
            )

    # What members and operators do with records.

    def acknowledge(
        self, turn: Turn, node: int, group_id: str, member_id: str, slot: Slot, batches: Sequence[AcknowledgedBatch]
    ) -> tuple[int, str | None]:
        """Take the acknowledgements of a member for one partition, and return the error code and text of the answer."""
        found = self.partitions.get((group_id, *slot))
        if found is None or found.node != node:
            return error_codes.UNKNOWN_TOPIC_OR_PARTITION, NOT_HOSTED
        rules = self.rules_of(group_id, node)
        try:
            outcome = found.acknowledge(turn, rules, member_id, batches)
        except AcknowledgementRefused as refused:
            if refused.code == error_codes.NOT_LEADER_OR_FOLLOWER:
                self._fenced.append(found)
            return refused.code, refused.text
        if outcome.acknowledged.changed:
            self._written.append(found)
        self._bury(turn, found, rules, outcome.acknowledged.rejected, REJECTED)
        self._bury(turn, found, rules, outcome.acknowledged.exhausted, EXHAUSTED)
        if outcome.moved:
            self.fetches.changed_for(turn, found)
        return error_codes.NONE, None

    def finish(self, turn: Turn) -> None:
        """Finish a request that may have acknowledged records. A broker learns only after the fetch of the same request whether it has
        written them: it drops the share partitions into whose stored states it could not write, because they were altered, and moves the
        start of the others also over records of aborted transactions, which that fetch has read."""
        while self._fenced:
            found = self._fenced.pop()
            if not found.dropped:
                self.drop(turn, found, causes.ALTERED)
        while self._written:
            found = self._written.pop()
            if not found.dropped and found.states.move_start():
                self.fetches.changed_for(turn, found)

    def settle(self, turn: Turn, partition: SharePartition, freed: Freed, wake: bool) -> None:
        """Send archived records to the dead letter queue, and wake the fetches that may get what is available again."""
        rules = self.rules_of(partition.place.group_id, partition.node)
        self._bury(turn, partition, rules, freed.archived, EXHAUSTED)
        if freed.moved or (wake and freed.any):
            self.fetches.changed_for(turn, partition)

    def look(self, turn: Turn, node: int, group_id: str, slots: Iterable[Slot]) -> None:
        """Try the waiting fetches of partitions before records are acknowledged or released there. A broker tries them before it has stored
        that, so that they get only what was released earlier, also of other partitions (SharePartitionManager.acknowledge,
        releaseSession)."""
        for slot in slots if "fetches" in self.__dict__ else ():
            found = self.partitions.get((group_id, *slot))
            if found is not None and found.node == node:
                self.fetches.changed_for(turn, found)

    def of_group(self, group_id: str) -> list[SharePartition]:
        """Return the share partitions of a group that are in memory."""
        return [each for each in self.partitions.values() if each.place.group_id == group_id]

    def free(self, turn: Turn, partition: SharePartition, matches: Callable[[Run], bool], why: Why) -> bool:
        """Release the acquired records that match, and return whether there are any."""
        freed = partition.free(turn, self.rules_of(partition.place.group_id, partition.node), matches, why)
        self.settle(turn, partition, freed, wake=True)
        return freed.any

    def archive(self, turn: Turn, partition: SharePartition, first: int, last: int) -> bool:
        """Archive the records from `first` to `last` that are not done, and return whether there are any."""
        freed = partition.archive(turn, first, last, causes.ARCHIVING_ORDERED)
        if freed.moved:
            self.fetches.changed_for(turn, partition)
        return freed.any

    def _bury(self, turn: Turn, partition: SharePartition, rules: RecordRules, runs: Sequence[Run], message: str) -> None:
        if runs and rules.dead_letters:
            from .dead_letters import bury  # This import is late, because few groups have a dead letter queue.

            bury(turn, self.topics, partition, rules, runs, message)

    def _locks_ended(self, subject: tuple[str, ...], turn: Turn) -> bool:
        if subject[3:]:
            return self._dropped_locks_ended(subject[3], turn)
        group_id, topic, index = subject
        topic_id = self.topics.topic_id(topic)
        found = None if topic_id is None else self.partitions.get((group_id, topic_id, int(index)))
        if found is None:
            return False
        freed = found.expire(turn, self.rules_of(group_id, found.node))
        self.settle(turn, found, freed, wake=True)
        return freed.any

    def _dropped_locks_ended(self, number: str, turn: Turn) -> bool:
        found = self._dropped.get(number)
        if found is None:
            return False
        rules = self.rules_of(found.place.group_id, found.node)
        self._bury(turn, found, rules, found.expire_dropped(turn, rules), EXHAUSTED)
        if not found.states.held:
            found.states.forget_all()
            del self._dropped[number]
        return True

    def invariants(self) -> None:
        """Raise AssertionError if an invariant of a share partition does not hold."""
        from .invariants import check

        for partition in self.partitions.values():
            check(partition, armed=partition.timer in self.environment.timers)
        there = (*self.partitions.values(), *self._dropped.values())
        assert self._count.runs == sum(partition.states.runs for partition in there), (
            "the runs of the cluster are counted"
        )

    # Sessions.

    def sessions(self, node: int) -> ShareSessions:
        if node not in self._sessions:
            self._sessions[node] = ShareSessions(node, self.environment.settings.group_share_max_share_sessions)
        return self._sessions[node]

    def all_sessions(self) -> Iterator[ShareSession]:
        for sessions in self._sessions.values():
            yield from sessions.all()

    def end_session(self, turn: Turn, session: ShareSession, why: Why) -> None:
        """End a session, and release what its member has acquired in its partitions. A share partition whose state was altered meanwhile is
        dropped (SharePartitionManager.releaseSession)."""
        sessions = self.sessions(session.node)
        self.look(turn, session.node, session.group_id, [*session.slots])
        for slot in session.slots:
            found = self.partitions.get((session.group_id, *slot))
            if found is not None and found.node == session.node:
                if found.holds(session.member_id) and found.altered:
                    self.drop(turn, found, causes.ALTERED)
                    continue
                freed = found.release(turn, self.rules_of(session.group_id, session.node), session.member_id, why)
                self.settle(turn, found, freed, wake=False)
        sessions.remove(session)

    def left(self, turn: Turn, node: int, group_id: str) -> None:
        """Drop the share partitions of a group on a node if the group has no session there, because a connection of its members has ended
        (SG-292; ShareSessionCache.checkAndNotifyListenersOnGroupEmpty)."""
        if not self.sessions(node).has_group(group_id):
            idle = [each for each in self.partitions.values() if each.key[0] == group_id and each.node == node]
            runs = sum(each.states.runs for each in idle)
            turn.begin_request(lambda turn: self._drop_idle(turn, idle), runs, (group_id,), OF_SHARED_RECORDS)

    def _drop_idle(self, turn: Turn, idle: list[SharePartition]) -> Steps:
        for found in idle:
            if not found.dropped:  # A topic may be deleted between two steps.
                self.drop(turn, found, causes.IDLE)
            yield

    def switched_off(self, turn: Turn) -> None:
        """Forget all sessions and what members have acquired, because the cluster serves no share groups any more (SG-05)."""
        for session in list(self.all_sessions()):
            self.sessions(session.node).remove(session)
        for found in list(self.partitions.values()):
            self.drop(turn, found, causes.IDLE)

    def disconnected(self, turn: Turn, connection: int) -> None:
        """Forget the fetch that waits on the connection, and end the sessions that were opened on it."""
        if "fetches" in self.__dict__:
            self.fetches.disconnected(connection)
        for sessions in self._sessions.values():
            for session in sessions.opened_on(connection):
                self.end_session(turn, session, causes.CONNECTION_CLOSED)
                self.left(turn, sessions.node, session.group_id)
            latest = sessions.latest_on(connection)
            if latest is not None:
                self.left(turn, sessions.node, latest)

    # What happens to topics.

    def _topic_deleted(self, turn: Turn, topic: str) -> None:
        topic_ids = {key[1] for key in self._of_topic.get(topic, ())}
        for found in list(self._of_topic.get(topic, {}).values()):
            self.drop(turn, found, causes.TOPIC_DELETED)
        for group_id in self.states.groups():
            for topic_id in topic_ids | {each for each, _ in self.states.of_group(group_id) if self.topics.name_of(each) is None}:
                self.states.delete(group_id, topic_id)

    def _led(self, turn: Turn, topic: str) -> None:
        """Drop the share partitions whose leader has moved, because the new leader reads their stored states."""
        for found in list(self._of_topic.get(topic, {}).values()):
            if found.log.leader_epoch != found.leader_epoch:
                self.drop(turn, found, causes.MOVED)
