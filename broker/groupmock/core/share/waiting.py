"""Answers share fetches with the records that there are, and parks a fetch that gets nothing until its max wait is over.

A parked fetch is tried again when records are written, when a lock ends, when a start offset moves, and when another fetch has read the
partition. It is also tried when records are acknowledged and when a session ends, but Kafka looks before it has stored what is released
then (SG-177). So these records come with the next of these events, when max wait is over, or with the next fetch.
In Kafka: DelayedShareFetch, SharePartitionManager.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Final

import msgspec

from groupmock_codec import error_codes
from groupmock_codec.messages.k78_share_fetch import (
    AcquiredRecords,
    LeaderIdAndEpoch,
    NodeEndpoint,
    PartitionData,
    ShareFetchableTopicResponse,
    ShareFetchResponse,
)

from .answers import Answer, behind, endpoints_of, in_order
from .sessions import INITIAL, ShareSession, Slot
from .share_partition import SharePartition
from .shares import Unreachable

if TYPE_CHECKING:
    from ..turn import Turn
    from .rules import RecordRules
    from .shares import Shares

LOOK_COST: Final = 10
NOT_TRIED: Final = (error_codes.UNKNOWN_TOPIC_OR_PARTITION, error_codes.TOPIC_AUTHORIZATION_FAILED, error_codes.UNKNOWN_TOPIC_ID)
"""The errors of partitions that a fetch does not look for among share partitions."""
Rows = dict[Slot, PartitionData]
Found = dict[Slot, SharePartition]
"""Partitions that can be fetched, in the order in which they are."""


class ShareFetch(msgspec.Struct, eq=False):
    """A share fetch that is being answered, or is parked. `slots` are the partitions in the order in which they are fetched. `rows` has
    the errors, `acknowledged` the results of acknowledgements, and `found` the share partitions that the fetch has found when it came."""

    ticket: int
    connection: int
    session: ShareSession
    epoch: int
    listener: str
    min_bytes: int
    max_bytes: int
    max_records: int
    batch_size: int
    by_record: bool
    deadline: int
    slots: list[Slot]
    rows: Rows
    acknowledged: dict[Slot, Answer]
    found: Found = {}
    refused: int = 0
    committed: bool = False
    """True if the group read only committed records when the fetch came. A change counts for its next fetches
    (KafkaApis.handleShareFetchRequest, FetchParams.isolation)."""

    @property
    def wants_records(self) -> bool:
        """False if the fetch is answered at once without records, and no share partition is looked for (SG-175)."""
        return self.max_records > 0 and self.max_bytes > 0

    @property
    def places(self) -> list[tuple[str, int]]:
        """Return the partitions for which the fetch waits."""
        named = self.session.slots
        return [(topic, slot[1]) for slot in self.slots if (topic := named.get(slot)) is not None]


class ShareFetches:
    """The share fetches that wait for records."""

    def __init__(self, shares: Shares) -> None:
        self._shares = shares
        self._parked: dict[int, ShareFetch] = {}
        self._by_connection: dict[int, int] = {}
        self._by_partition: dict[tuple[str, int], dict[int, None]] = {}
        self._waits_for: dict[int, list[tuple[str, int]]] = {}
        self._read: list[SharePartition] | None = None
        """The partitions of which fetches got bytes, while parked fetches of their groups are being tried."""
        shares.topics.fetches.when_changed(self.changed)

    def __len__(self) -> int:
        return len(self._parked)

    def serve(self, turn: Turn, fetch: ShareFetch) -> None:
        """Answer the fetch now, or park it until there are records, an error appears, or its max wait is over. An answer that is given now
        does not name partitions that the group has not initialized, because a broker learns that from the share coordinator meanwhile."""
        fetch.committed = self._shares.rules_of(fetch.session.group_id, fetch.session.node).committed
        self._look_up(turn, fetch)
        learned_later = {slot: row for slot, row in fetch.rows.items() if row.error_code == error_codes.UNKNOWN_SERVER_ERROR}
        fetch.rows = {slot: row for slot, row in fetch.rows.items() if slot not in learned_later}
        if not fetch.wants_records or (self._by_partition and self._crowded(fetch.places)):
            self._finish(turn, fetch)
        elif not self._tried(turn, fetch):
            if fetch.deadline > turn.now:
                fetch.rows |= learned_later
                self._park(turn, fetch, fetch.places)
            else:
                self._finish(turn, fetch)

    def refuse_later(self, turn: Turn, fetch: ShareFetch, code: int) -> None:
        """Refuse the fetch when its max wait is over, because there is no room for its session (SG-169)."""
        fetch.refused = code
        self._park(turn, fetch, [])

    def changed(self, turn: Turn, places: Iterable[tuple[str, int]]) -> None:
        """Try the fetches that wait for partitions that changed."""
        if self._by_partition:
            waiting = {ticket: None for place in places for ticket in self._by_partition.get(place, ())}
            self._try(turn, waiting)

    def changed_for(self, turn: Turn, partition: SharePartition) -> None:
        """Try the fetches of one group that wait for a partition, because locks ended or the group's start offset moved."""
        group_id, place = partition.place.group_id, (partition.place.topic, partition.place.partition)
        self._try(turn, [each for each in self._by_partition.get(place, ()) if self._parked[each].session.group_id == group_id])

    def expire(self, turn: Turn, subject: tuple[str, ...]) -> bool:
        """Answer a fetch whose max wait is over with what there is (timer "share_fetch")."""
        fetch = self._parked.get(int(subject[0]))
        if fetch is None:
            return False
        self._unpark(turn, fetch)
        self._finish(turn, fetch)
        return True

    def disconnected(self, connection: int) -> None:
        """Forget the fetch that is parked on the connection."""
        ticket = self._by_connection.get(connection)
        if ticket is not None:
            self._forget(self._parked[ticket])
            self._shares.environment.timers.cancel(("share_fetch", str(ticket)))

    def _try(self, turn: Turn, tickets: Iterable[int]) -> None:
        for ticket in list(tickets):
            fetch = self._parked.get(ticket)
            if fetch is not None:
                self._tried(turn, fetch)

    def _park(self, turn: Turn, fetch: ShareFetch, places: list[tuple[str, int]]) -> None:
        self._parked[fetch.ticket] = fetch
        self._by_connection[fetch.connection] = fetch.ticket
        self._waits_for[fetch.ticket] = places
        for place in places:
            self._by_partition.setdefault(place, {})[fetch.ticket] = None
        turn.timers.set(("share_fetch", str(fetch.ticket)), fetch.deadline)

    def _unpark(self, turn: Turn, fetch: ShareFetch) -> None:
        self._forget(fetch)
        turn.timers.cancel(("share_fetch", str(fetch.ticket)))

    def _forget(self, fetch: ShareFetch) -> None:
        del self._parked[fetch.ticket], self._by_connection[fetch.connection]
        for place in self._waits_for.pop(fetch.ticket):
            waiting = self._by_partition.get(place, {})
            waiting.pop(fetch.ticket, None)
            if not waiting:
                self._by_partition.pop(place, None)

    def _crowded(self, places: list[tuple[str, int]]) -> bool:
        """True if another parked fetch would make a write too expensive, as for a Fetch (log.fetches)."""
        waiting = max((len(self._by_partition.get(place, ())) for place in places), default=0)
        return waiting * len(places) * LOOK_COST > self._shares.environment.settings.request_max_work

    def _tried(self, turn: Turn, fetch: ShareFetch) -> bool:
        """Answer the fetch if it can get enough bytes, or if all of its partitions have errors. Those that the group has not initialized do
        not count, because a broker learns that only from the share coordinator."""
        rules = self._rules(fetch)
        if all(slot in fetch.rows and fetch.rows[slot].error_code != error_codes.UNKNOWN_SERVER_ERROR for slot in fetch.slots):
            self._answer(turn, fetch, [], rules)
            return True
        if fetch.session.closed:
            return False
        reads = self._enough(turn, fetch, rules)
        if reads is None:
            return False
        self._answer(turn, fetch, reads, rules)
        return True

    def _finish(self, turn: Turn, fetch: ShareFetch) -> None:
        """Answer the fetch with what there is."""
        if fetch.refused:
            turn.reply(fetch.ticket, ShareFetchResponse(error_code=fetch.refused))
            return
        rules = self._rules(fetch)
        self._answer(turn, fetch, [] if self._is_idle(turn, fetch, rules) else [self._acquirable(fetch, rules)], rules)

    @staticmethod
    def _is_idle(turn: Turn, fetch: ShareFetch, rules: RecordRules) -> bool:
        """True if the answer is empty, as most answers are: it names no partition, and no partition has anything to be read."""
        if fetch.epoch == INITIAL or fetch.rows or fetch.session.due:
            return False
        pinned = turn.quirks.stable_offset_within_log
        return not any(partition.gives(rules, pinned) for partition in fetch.found.values())

    def _rules(self, fetch: ShareFetch) -> RecordRules:
        rules = self._shares.rules_of(fetch.session.group_id, fetch.session.node)
        return rules if rules.committed == fetch.committed else msgspec.structs.replace(rules, committed=fetch.committed)

    @staticmethod
    def _acquirable(fetch: ShareFetch, rules: RecordRules) -> Found:
        """Return the partitions of which records may be acquired. One that was dropped since the fetch came gives nothing, whatever the
        group's next fetch finds there."""
        return {slot: partition for slot, partition in fetch.found.items() if not partition.dropped and partition.may_acquire(rules)}

    def _look_up(self, turn: Turn, fetch: ShareFetch) -> None:
        """Find the share partitions of the fetch, and note the errors of partitions that cannot be fetched."""
        session = fetch.session
        for slot in fetch.slots:
            if slot in fetch.rows:
                continue
            partition = self._shares.reach(turn, session.node, session.group_id, slot, session.slots.get(slot))
            if not isinstance(partition, Unreachable):
                fetch.found[slot] = partition
            elif fetch.wants_records or partition.code in NOT_TRIED:
                fetch.rows[slot] = PartitionData(partition_index=slot[1], error_code=partition.code)

    def _enough(self, turn: Turn, fetch: ShareFetch, rules: RecordRules) -> list[Found] | None:
        """Return the partitions of the answer if they have the least number of bytes for it (DelayedShareFetch.tryComplete), or None.

        The log was read already for those partitions whose next offset was not known, so that they are read apart from the others."""
        acquirable = self._acquirable(fetch, rules)
        if not acquirable or self._holds_back(fetch):
            return None
        pinned = turn.quirks.stable_offset_within_log
        unknown: Found = {}
        share, there, certain = max(fetch.max_bytes // len(acquirable), 1), 0, False
        for slot, partition in acquirable.items():
            offset, log = partition.states.next_offset(), partition.log
            in_range = log.start <= offset <= log.end
            if partition.known_at != offset:
                unknown[slot] = partition
                if in_range:
                    partition.known_at = offset
            end = partition.readable_to(rules, pinned)
            if not in_range or offset > end:
                certain = True  # The offset may be behind an open transaction, and Kafka takes it for one of a later segment.
            elif offset < end:
                there += min(log.available(offset, end), share)
        if not certain and there < min(fetch.min_bytes, fetch.max_bytes):
            return None
        return [{slot: partition for slot, partition in acquirable.items() if slot not in unknown}, unknown]

    def _holds_back(self, fetch: ShareFetch) -> bool:
        return self._shares.crowded or fetch.session.group_id in self._shares.held

    def _answer(self, turn: Turn, fetch: ShareFetch, reads: list[Found], rules: RecordRules) -> None:
        """Answer with the partitions that were read and with those that have errors. In a session that goes on, partitions without records
        are left out, unless they are due."""
        if fetch.ticket in self._parked:
            self._unpark(turn, fetch)
        interested = any(slot not in fetch.rows or fetch.rows[slot].error_code not in NOT_TRIED for slot in fetch.slots)
        rows, read = dict(fetch.rows), list[SharePartition]()
        if not fetch.session.closed and not self._holds_back(fetch):
            read = self._acquire(turn, fetch, rows, reads, rules)
        session = fetch.session
        shown = {slot for slot, row in rows.items() if fetch.epoch == INITIAL or row.records or row.error_code or slot in session.due}
        # The order depends on all partitions that were looked at. An empty answer, which most are, needs none.
        ordered = [slot for slot in in_order(rows, session.slots, copied=interested) if slot in shown] if len(shown) > 1 else [*shown]
        if fetch.epoch != INITIAL:
            session.gave(slot for slot in ordered if rows[slot].records)
            session.due.difference_update(ordered)
            session.due.update(slot for slot in ordered if rows[slot].error_code)
        turn.reply(fetch.ticket, self._response(fetch, rows, ordered, rules))
        self._try_others(turn, read)

    def _try_others(self, turn: Turn, partitions: list[SharePartition]) -> None:
        """Try the parked fetches of a group that may get what a fetch has left of the partitions that it has read, such as records that
        were released meanwhile (DelayedShareFetch.releasePartitionLocksAndAddToActionQueue)."""
        if self._read is not None:
            self._read += partitions
            return
        self._read = partitions
        while self._read:
            partition = self._read.pop()
            rules = self._shares.rules_of(partition.place.group_id, partition.node)
            if partition.gives(rules, turn.quirks.stable_offset_within_log):
                self.changed_for(turn, partition)
        self._read = None

    def _acquire(self, turn: Turn, fetch: ShareFetch, rows: Rows, reads: list[Found], rules: RecordRules) -> list[SharePartition]:
        """Acquire records of the partitions that have some, and add a row for each partition that was looked at. Return the partitions of
        which bytes were read."""
        if not fetch.wants_records:
            return []
        sizes = {slot: size for read in reads for slot, size in self._sizes(turn, fetch, read, sum(map(len, reads)), rules)}
        left = fetch.max_records
        for slot, partition in ((slot, partition) for read in reads for slot, partition in read.items()):
            row = rows[slot] = PartitionData(partition_index=slot[1])
            member_id = fetch.session.member_id
            delivery = partition.acquire(turn, rules, member_id, left, sizes[slot], max(1, fetch.batch_size), fetch.by_record)
            if delivery.failed:  # The partitions that were read together fail together.
                errors = (PartitionData(partition_index=slot[1], error_code=error_codes.UNKNOWN_SERVER_ERROR) for slot in sizes)
                rows |= zip(sizes, errors, strict=True)
                break
            left -= sum(each.size for each in delivery.acquired)
            row.records = delivery.records
            row.acquired_records = [
                AcquiredRecords(first_offset=each.first, last_offset=each.last, delivery_count=each.count) for each in delivery.acquired
            ]
        return [partition for read in reads for slot, partition in read.items() if sizes[slot]]

    def _sizes(self, turn: Turn, fetch: ShareFetch, read: Found, total: int, rules: RecordRules) -> Iterator[tuple[Slot, int]]:
        """Yield how many bytes one read of the log gets of each partition. Each of all partitions has the same share, and the first one
        with records gives a whole batch at least (PartitionMaxBytesStrategy, ReplicaManager.readFromLog)."""
        limit, at_least_one = fetch.max_bytes, True
        for slot, partition in read.items():
            size = partition.bytes_read(rules, turn.quirks.stable_offset_within_log, min(fetch.max_bytes // total, limit), at_least_one)
            yield slot, size
            limit = max(0, limit - size)
            at_least_one = at_least_one and not size

    def _response(self, fetch: ShareFetch, rows: Rows, ordered: list[Slot], rules: RecordRules) -> ShareFetchResponse:
        leaders = set()
        for slot in ordered:
            log = self._shares.log_of(slot) if rows[slot].error_code == error_codes.NOT_LEADER_OR_FOLLOWER else None
            if log is not None:
                # The row names the leader of now, although the error is from when the fetch came.
                rows[slot].current_leader = LeaderIdAndEpoch(leader_id=log.leader, leader_epoch=log.leader_epoch)
                leaders.add(log.leader)
        return ShareFetchResponse(
            acquisition_lock_timeout_ms=rules.lock_ms,
            responses=by_topic({slot: rows[slot] for slot in ordered}, fetch.acknowledged),
            node_endpoints=[NodeEndpoint(*each) for each in endpoints_of(self._shares.environment, fetch.listener, leaders)],
        )


def by_topic(rows: Rows, acknowledged: Mapping[Slot, Answer]) -> list[ShareFetchableTopicResponse]:
    """Return the rows grouped by topic, with the results of acknowledgements. Partitions that were not fetched follow the others."""
    others = behind([slot for slot in acknowledged if slot not in rows], rows)
    only_acknowledged = {slot: PartitionData(partition_index=slot[1]) for slot in others}
    topics: dict[bytes, ShareFetchableTopicResponse] = {}
    for slot, row in (*rows.items(), *only_acknowledged.items()):
        row.acknowledge_error_code, row.acknowledge_error_message = acknowledged.get(slot, (error_codes.NONE, None))
        topics.setdefault(slot[0], ShareFetchableTopicResponse(topic_id=slot[0], partitions=[])).partitions.append(row)
    return list(topics.values())
