"""A share fetch acquires what there is, or waits for it: a fetch that gets nothing is parked until its max wait is over.

A parked fetch is tried again when records are written, when a lock ends, and when a start offset moves. The release of a record does not
wake it, and neither does the end of a session, because Kafka looks before it has stored the release (SG-177). So such records come when
max wait is over, or with the next fetch. In Kafka: DelayedShareFetch, SharePartitionManager.
"""

from __future__ import annotations

from collections.abc import Iterable
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

from .sessions import ShareSession, Slot
from .share_partition import SharePartition
from .shares import Unreachable

if TYPE_CHECKING:
    from ..turn import Turn
    from .rules import RecordRules
    from .shares import Shares

LOOK_COST: Final = 10
Rows = dict[Slot, PartitionData]


class ShareFetch(msgspec.Struct, eq=False):
    """A share fetch that is being answered, or is parked. `slots` are the partitions in the order in which they are fetched. `rows` has
    what is known of partitions from the start: the results of acknowledgements, and errors."""

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
    refused: int = 0
    errors: int = 0

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
        shares.topics.fetches.when_changed(self.changed)

    def __len__(self) -> int:
        return len(self._parked)

    def serve(self, turn: Turn, fetch: ShareFetch) -> None:
        """Answer the fetch now, or park it until there are records, an error appears, or its max wait is over."""
        places = fetch.places
        if fetch.deadline <= turn.now or self._crowded(places):
            self._finish(turn, fetch)
        elif not self._tried(turn, fetch):
            self._park(turn, fetch, places)

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
            if fetch is not None and self._tried(turn, fetch):
                self._unpark(turn, fetch)

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
        """Answer the fetch if it can get enough bytes, if all of its partitions have errors, or if one has a new error."""
        rows, found, rules = self._reached(turn, fetch)
        errors = len(fetch.slots) - len(found)
        if not found or errors > fetch.errors:
            parked = fetch.ticket in self._parked
            if not found or parked:
                self._answer(turn, fetch, rows, found, rules)
                return True
        fetch.errors = errors
        if fetch.session.closed or not self._enough(turn, fetch, found, rules):
            return False
        self._answer(turn, fetch, rows, found, rules)
        return True

    def _finish(self, turn: Turn, fetch: ShareFetch) -> None:
        """Answer the fetch with what there is."""
        if fetch.refused:
            turn.reply(fetch.ticket, ShareFetchResponse(error_code=fetch.refused))
            return
        self._answer(turn, fetch, *self._reached(turn, fetch))

    def _reached(self, turn: Turn, fetch: ShareFetch) -> tuple[Rows, dict[Slot, SharePartition], RecordRules]:
        """Return the rows so far, with the errors of partitions that cannot be fetched; the partitions that can; the group's rules."""
        session, shares = fetch.session, self._shares
        rows, found = dict(fetch.rows), {}
        for slot in fetch.slots:
            if slot in rows and rows[slot].error_code:
                continue
            partition = shares.reach(turn, session.node, session.group_id, slot, session.slots.get(slot))
            if isinstance(partition, Unreachable):
                rows[slot] = _failed(rows.get(slot), slot, partition)
            else:
                partition.follow_log(turn)
                found[slot] = partition
        return rows, found, shares.rules_of(session.group_id, session.node)

    def _enough(self, turn: Turn, fetch: ShareFetch, found: dict[Slot, SharePartition], rules: RecordRules) -> bool:
        """True if the partitions have the least number of bytes for an answer (DelayedShareFetch.isMinBytesSatisfied)."""
        acquirable = [partition for partition in found.values() if partition.may_acquire(rules)]
        if not acquirable or self._holds_back(fetch):
            return False
        pinned = turn.quirks.stable_offset_within_log
        share, there = fetch.max_bytes // len(acquirable), 0
        for partition in acquirable:
            available = partition.log.available(partition.states.next_offset(), partition.readable_to(rules, pinned))
            there += min(available, max(share, 1)) if available else 0
        return there >= fetch.min_bytes

    def _holds_back(self, fetch: ShareFetch) -> bool:
        return self._shares.crowded or fetch.session.group_id in self._shares.held

    def _answer(self, turn: Turn, fetch: ShareFetch, rows: Rows, found: dict[Slot, SharePartition], rules: RecordRules) -> None:
        gave = [] if fetch.session.closed or self._holds_back(fetch) else self._acquire(turn, fetch, rows, found, rules)
        fetch.session.gave(gave)
        full = fetch.epoch == 0
        wanted = [slot for slot in fetch.slots if slot in rows or full]
        for slot in wanted:
            rows.setdefault(slot, PartitionData(partition_index=slot[1]))
        turn.reply(fetch.ticket, self._response(fetch, rows, wanted, rules))

    def _acquire(self, turn: Turn, fetch: ShareFetch, rows: Rows, found: dict[Slot, SharePartition], rules: RecordRules) -> list[Slot]:
        acquirable = {slot: partition for slot, partition in found.items() if partition.may_acquire(rules)}
        gave: list[Slot] = []
        left = fetch.max_records
        # Each partition has the same share of the bytes, and gives one batch at least, whatever the others gave (seen on 4.4.0).
        size = fetch.max_bytes // max(1, len(acquirable))
        for slot, partition in acquirable.items():
            if left <= 0 or fetch.max_bytes <= 0:
                break
            member_id = fetch.session.member_id
            delivery = partition.acquire(turn, rules, member_id, left, size, max(1, fetch.batch_size), fetch.by_record)
            if not delivery.acquired:
                continue
            gave.append(slot)
            left -= sum(each.size for each in delivery.acquired)
            row = rows.setdefault(slot, PartitionData(partition_index=slot[1]))
            row.records = delivery.records
            row.acquired_records = [
                AcquiredRecords(first_offset=each.first, last_offset=each.last, delivery_count=each.count) for each in delivery.acquired
            ]
        return gave

    def _response(self, fetch: ShareFetch, rows: Rows, wanted: list[Slot], rules: RecordRules) -> ShareFetchResponse:
        leaders = {rows[slot].current_leader.leader_id for slot in wanted if rows[slot].error_code == error_codes.NOT_LEADER_OR_FOLLOWER}
        return ShareFetchResponse(
            acquisition_lock_timeout_ms=rules.lock_ms,
            responses=by_topic(rows, [*wanted, *[slot for slot in rows if slot not in wanted]]),
            node_endpoints=self._endpoints(fetch.listener, leaders) if leaders else [],
        )

    def _endpoints(self, listener: str, leaders: set[int]) -> list[NodeEndpoint]:
        environment = self._shares.environment
        return [
            NodeEndpoint(node_id=node.node_id, host=at.host, port=at.port, rack=node.rack)
            for node, at in environment.reached(environment.identity.nodes, listener)
            if node.node_id in leaders
        ]


def by_topic(rows: Rows, slots: Iterable[Slot]) -> list[ShareFetchableTopicResponse]:
    """Return the rows grouped by topic, in the order of the partitions."""
    topics: dict[bytes, ShareFetchableTopicResponse] = {}
    for slot in slots:
        topics.setdefault(slot[0], ShareFetchableTopicResponse(topic_id=slot[0], partitions=[])).partitions.append(rows[slot])
    return list(topics.values())


def _failed(known: PartitionData | None, slot: Slot, unreachable: Unreachable) -> PartitionData:
    row = PartitionData(partition_index=slot[1]) if known is None else msgspec.structs.replace(known)
    row.error_code = unreachable.code
    if unreachable.code == error_codes.NOT_LEADER_OR_FOLLOWER:
        row.current_leader = LeaderIdAndEpoch(leader_id=unreachable.leader, leader_epoch=unreachable.leader_epoch)
    return row
