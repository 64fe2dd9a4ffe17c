"""A fetch is long polling: it reads, decides whether the result is enough for an answer, and is otherwise parked until there is more.

A Fetch is answered at once or parked. It is answered at once when its max wait is zero, when no partition in it has a log here, when a
partition has an error or a divergence, or when there are enough bytes. A parked fetch is data: a `WaitingFetch` in a map by ticket, with
indexes by partition and by connection (a connection has at most one request in progress). Its wait ends in one of four ways:

records came, the leader moved, the topic was deleted `changed`: read again, and answered if that is enough or an error max wait is over
`expire` (timer "fetch"): answered with what there is, perhaps nothing the connection closed `disconnected`: forgotten, because there is no
client to answer the cluster ends nothing: a parked fetch needs no clean-up

Kafka does the same with a purgatory of DelayedFetch operations (kafka.server.DelayedFetch, DelayedOperationPurgatory): each is watched
under every partition in it, and is tried again whenever one of those changes. Four of its rules are surprising:

- **Enough is counted in two ways.** A new fetch counts the bytes that it has really read (ReplicaManager.fetchMessages). A parked one
  counts the bytes after each offset up to that partition's own limit (DelayedFetch.tryComplete), without reading and without the limit of
  the whole answer. So a parked fetch can be answered with fewer bytes than `min_bytes`, for instance if one batch is larger than its
  partition's limit. `_read` does the first count, `_worth_it` the second.
- **An unknown partition does not end the wait of the others.** It has no log to watch; only a fetch of which *no* partition has a log is
  answered at once. A partition that existed when the fetch was parked and was deleted since ends the wait: `waits_for` is for this check.
  It also decides the order of the answer (`_rank`).
- **The first batch is returned whole** from v3 on, even if it is larger than every limit (KIP-74): otherwise a consumer could never get
  past it. This holds for the first batch of the whole answer: later partitions get nothing rather than a part of a batch.
- **An answer omits unchanged partitions.** In an incremental session (KIP-227, sessions.py) a partition is in the answer only when it has
  records, an error or a changed end offset; `FetchSessions.finish` decides that after the reading. The session's epoch advances when the
  request comes, not when it is answered: a client whose connection broke during the wait must begin a new session, as on Kafka.

A session may outlast a version: `last_fetched_epoch` (v12) also applies to a later request of a lower version. As in Kafka, such a request
cannot carry the divergence that it finds (see `_answer`; docs/kafka/differences.md shows each release's answer).

A consumer that states its rack may be sent to a follower instead of being served (KIP-392, read_replica.py). A follower serves as the
leader does, up to the end of its own log: higher offsets are out of range there.

A replica id of 0 or more marks the sender as a follower. The logs here have no followers that fetch, so the answer is
NOT_LEADER_OR_FOLLOWER on every node.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Final

import msgspec

from groupmock_codec import error_codes
from groupmock_codec.compression import OverLimit
from groupmock_codec.message_sets import down_convert
from groupmock_codec.messages.k01_fetch import (
    AbortedTransaction,
    EpochEndOffset,
    FetchableTopicResponse,
    FetchRequest,
    FetchResponse,
    LeaderIdAndEpoch,
    NodeEndpoint,
    PartitionData,
)
from groupmock_codec.record_costs import CONVERTED
from groupmock_codec.records import RecordsError, iter_batches

from .partition import NO_OFFSET, Partition
from .read_replica import preferred
from .sessions import IDS_SINCE, Context, FetchSessions, Slot

if TYPE_CHECKING:
    from ..environment import Environment
    from ..settings import Quirks
    from ..turn import Turn
    from .topics import Topics

FOLLOWERS_SINCE: Final = 11  # Since this Fetch version a consumer may read from a replica that is not the leader (KIP-392).
WHOLE_FIRST_BATCH_SINCE: Final = 3  # Since this Fetch version the first batch is sent whole even if it is larger than the limit (KIP-74).
DIVERGENCE_SINCE: Final = 12
ONE_ERROR_SINCE: Final = 13  # Since this Fetch version a request that failed as a whole has one error code and no rows.
LEADER_HINTS_SINCE: Final = 16  # Since this Fetch version the answer may name the new leader of a partition (KIP-951).
BATCHES_SINCE: Final = 4  # Fetch versions below this one get message sets instead of record batches.
READ_COMMITTED: Final = 1
LOOK_COST: Final = 3
Rows = list[tuple[Slot, PartitionData]]


class WaitingFetch(msgspec.Struct):
    """A fetch that is being answered, or is parked while there are too few bytes. Sizes are in bytes and `deadline` is in run time."""

    ticket: int
    connection: int
    asked: FetchRequest
    node: int
    version: int
    replica: int  # The replica id is negative for a consumer. Followers send their node id, but no follower fetches from groupmock's logs.
    min_bytes: int
    max_bytes: int
    isolation_level: int
    deadline: int
    context: Context
    listener: str
    rack: str = ""  # The consumer's rack is only set if a replica in that rack may serve the fetch.
    denied: frozenset[str | None] = frozenset()  # The names of the topics that the sender may not read; None stands for unknown ids.
    waits_for: frozenset[tuple[str, int]] = frozenset()  # A parked fetch waits for the partitions that existed when it was parked.


class Fetches:
    """The fetch sessions of all nodes, and the fetches that wait for data."""

    def __init__(self, environment: Environment, topics: Topics) -> None:
        self._environment = environment
        self._topics = topics
        self._sessions: dict[int, FetchSessions] = {}
        self._parked: dict[int, WaitingFetch] = {}
        self._by_connection: dict[int, int] = {}
        self._by_partition: dict[tuple[str, int], dict[int, None]] = {}
        self._watchers: list[Callable[[Turn, Iterable[tuple[str, int]]], None]] = []

    def __len__(self) -> int:
        return len(self._parked)

    def sessions(self, node: int) -> FetchSessions:
        if node not in self._sessions:
            slots = self._environment.settings.max_incremental_fetch_session_cache_slots
            self._sessions[node] = FetchSessions(self._environment.dice, slots)
        return self._sessions[node]

    def in_session(self, node: int, session_id: int) -> Iterator[tuple[str | None, bytes, int]]:
        return self.sessions(node).partitions(session_id)

    def when_changed(self, told: Callable[[Turn, Iterable[tuple[str, int]]], None]) -> None:
        """Register a listener for partitions that have new records or another leader, or were deleted."""
        self._watchers.append(told)

    def serve(self, turn: Turn, fetch: WaitingFetch) -> None:
        """Answer the fetch now, or park it until there are enough bytes, an error appears, or its max wait is over."""
        rows, enough = self._read(fetch)
        # Kafka tries a DelayedFetch once before it parks the fetch (DelayedOperationPurgatory.tryCompleteElseWatch), so the fetch is
        # answered if either way of counting bytes finds enough.
        places = _places(fetch)
        if enough or fetch.deadline <= turn.now or self._worth_it(fetch) or self._crowded(places):
            self._answer(turn, fetch, rows)
            return
        self._parked[fetch.ticket] = fetch
        self._by_connection[fetch.connection] = fetch.ticket
        fetch.waits_for = frozenset(place for place in places if self._topics.find(*place) is not None)
        for place in places:
            self._by_partition.setdefault(place, {})[fetch.ticket] = None
        turn.timers.set(("fetch", str(fetch.ticket)), fetch.deadline)

    def _crowded(self, places: list[tuple[str, int]]) -> bool:
        """True if another waiting fetch would make a write too expensive, because a write checks all fetches that wait for its partition
        (core.budget). Such a fetch is answered at once, as if its max wait were over. The calculation assumes that the others are as
        large."""
        waiting = max((len(self._by_partition.get(place, ())) for place in places), default=0)
        return waiting * len(places) * LOOK_COST > self._environment.settings.request_max_work

    def changed(self, turn: Turn, places: Iterable[tuple[str, int]]) -> None:
        """Check the fetches that wait for partitions that changed, because records came, the leader moved, or the topic was deleted."""
        if self._watchers:
            places = list(places)
            for told in self._watchers:
                told(turn, places)
        if not self._by_partition:
            return
        # The dict is a copy, because answered fetches are removed from these maps. A fetch that waits for several of the partitions is
        # checked once.
        waiting = {ticket: None for place in places for ticket in self._by_partition.get(place, ())}
        for ticket in waiting:
            fetch = self._parked[ticket]
            rows, trouble = self._read(fetch, parked=True)
            if trouble or self._worth_it(fetch):
                self._unpark(fetch)
                self._answer(turn, fetch, rows)

    def expire(self, turn: Turn, subject: tuple[str, ...]) -> bool:
        """Answer a fetch whose max wait is over with the available records (timer "fetch")."""
        fetch = self._parked.get(int(subject[0]))
        if fetch is None:
            return False
        self._unpark(fetch)
        # The partitions are read again, because since the last read some bytes may have come that were too few to end the wait.
        self._answer(turn, fetch, self._read(fetch)[0])
        return True

    def disconnected(self, connection: int) -> None:
        """Forget the fetch that is parked on the connection."""
        ticket = self._by_connection.get(connection)
        if ticket is not None:
            self._unpark(self._parked[ticket])

    def _unpark(self, fetch: WaitingFetch) -> None:
        del self._parked[fetch.ticket], self._by_connection[fetch.connection]
        self._environment.timers.cancel(("fetch", str(fetch.ticket)))
        for place in _places(fetch):
            waiting = self._by_partition.get(place, {})
            waiting.pop(fetch.ticket, None)
            if not waiting:
                self._by_partition.pop(place, None)

    def _worth_it(self, fetch: WaitingFetch) -> bool:
        """True if there are enough bytes to answer a waiting fetch. Kafka (DelayedFetch) then counts the bytes after each offset up to
        the partition's limit. An answer may hold fewer, if a single batch is larger than its limit."""
        there = 0
        for slot in fetch.context.slots.values():
            partition = None if slot.topic is None else self._topics.find(slot.topic, slot.partition)
            if partition is not None and slot.topic not in fetch.denied:
                end = partition.end_at(fetch.node)
                if fetch.isolation_level == READ_COMMITTED and partition.producers.transactions is not None:
                    end = min(end, partition.stable(self._environment.settings.quirks.stable_offset_within_log))
                there += min(partition.available(slot.fetch_offset, end), slot.max_bytes)
        return there >= fetch.min_bytes

    def _read(self, fetch: WaitingFetch, parked: bool = False) -> tuple[Rows, bool]:
        """Read all partitions of the fetch, and return the rows and whether the fetch should be answered now. As in Kafka, an unknown topic
        or partition alone does not end the wait of the others.

        The number of bytes does not count here for a `parked` fetch."""
        reader = Reader(self._topics, self._environment, fetch)
        rows = [(slot, reader.read(slot)) for slot in fetch.context.slots.values()]
        # This sort is stable, so partitions of the same rank keep the order of the request or of the session.
        rows.sort(key=lambda row: self._rank(fetch, row[0]))
        read = reader.bytes >= fetch.min_bytes or reader.sent_elsewhere
        return rows, (read and not parked) or reader.trouble or reader.logs == 0

    def _rank(self, fetch: WaitingFetch, slot: Slot) -> int:
        """Return the rank of the partition's row, by which the answer is sorted. As in Kafka, known partitions come first, then unknown
        ids, then unknown names and partitions and those that the sender may not read."""
        if slot.topic in fetch.denied:
            return 2
        if slot.topic is None:
            return 1
        known = (slot.topic, slot.partition) in fetch.waits_for or self._topics.find(slot.topic, slot.partition) is not None
        return 0 if known else 2

    def _answer(self, turn: Turn, fetch: WaitingFetch, rows: Rows) -> None:
        sessions = self.sessions(fetch.node)
        session_id, sent = sessions.finish(fetch.context, rows, fetch.version, turn.wall_ms)
        if fetch.version < DIVERGENCE_SINCE and any(found.diverging_epoch.epoch >= 0 for _, found in sent):
            # The session got last_fetched_epoch from a request of a higher version. Kafka cannot encode the divergence in this version,
            # because the field is not ignorable.
            code = error_codes.UNSUPPORTED_VERSION
            turn.reply(fetch.ticket, failed(turn.quirks, fetch.asked, fetch.version, code))
            return
        response = FetchResponse(session_id=session_id, responses=_grouped(sent, fetch.version))
        if fetch.version >= LEADER_HINTS_SINCE:
            # The answer has the endpoints of leaders that a row names, which saves the client a Metadata request (KIP-951).
            leaders = {found.current_leader.leader_id for _, found in sent if found.current_leader.leader_id >= 0}
            response.node_endpoints = [
                NodeEndpoint(node_id=node.node_id, host=at.host, port=at.port, rack=node.rack)
                for node, at in self._environment.reached(self._environment.identity.nodes, fetch.listener)
                if node.node_id in leaders
            ]
        turn.reply(fetch.ticket, response)


class Reader:
    """Reads the partitions of one fetch in order, within its size limits. `trouble` is True once something ends the wait: an error, a
    divergence, or an offset beyond the last stable one."""

    def __init__(self, topics: Topics, environment: Environment, fetch: WaitingFetch) -> None:
        settings = environment.settings
        self._topics = topics
        self._environment = environment
        self._pinned = settings.quirks.stable_offset_within_log
        self._own_offset = settings.quirks.committed_fetch_goes_by_its_own_offset
        self._fetch = fetch
        self._room = fetch.max_bytes
        self._unpacked = settings.room()
        self.bytes = 0
        self.logs = 0
        self.trouble = False
        self.sent_elsewhere = False

    def read(self, slot: Slot) -> PartitionData:
        version = self._fetch.version
        if slot.topic in self._fetch.denied:
            return self._absent(slot, error_codes.TOPIC_AUTHORIZATION_FAILED)
        if slot.topic is None:
            return self._absent(slot, error_codes.UNKNOWN_TOPIC_ID)
        topic = self._topics.get(slot.topic)
        if topic is None or not 0 <= slot.partition < len(topic.partitions):
            return self._missing(slot)
        self.logs += 1
        partition = topic.partitions[slot.partition]
        # A session keeps the topic name that it found for an id, but the topic may have been deleted since and created again with another
        # id.
        if version >= IDS_SINCE and topic.topic_id != slot.topic_id:
            return self._refuse(slot, error_codes.INCONSISTENT_TOPIC_ID, partition)
        code = self._gate(slot, partition)
        if code != error_codes.NONE:
            return self._refuse(slot, code, partition)
        if self._fetch.rack and partition.leader == self._fetch.node:
            replica = preferred(partition, self._fetch.rack, slot.fetch_offset, self._environment.up)
            if replica is not None:
                return self._elsewhere(slot, partition, replica)
        return self._within(slot, partition)

    def _elsewhere(self, slot: Slot, partition: Partition, replica: int) -> PartitionData:
        self.sent_elsewhere = True
        row = self._row(slot, partition, b"", EpochEndOffset(), partition.end_at(self._fetch.node))
        row.preferred_read_replica, row.aborted_transactions = replica, None
        return row

    def _absent(self, slot: Slot, code: int) -> PartitionData:
        return PartitionData(partition_index=slot.partition, error_code=code, high_watermark=-1, records=b"")

    def _missing(self, slot: Slot) -> PartitionData:
        row = self._absent(slot, error_codes.UNKNOWN_TOPIC_OR_PARTITION)
        if (slot.topic, slot.partition) in self._fetch.waits_for:  # The topic was deleted while the fetch waited, which ends the wait.
            self.trouble = True
            row.aborted_transactions = None
        return row

    def _gate(self, slot: Slot, partition: Partition) -> int:
        if self._fetch.replica >= 0 or (self._fetch.node != partition.leader and self._fetch.node not in partition.replicas):
            return error_codes.NOT_LEADER_OR_FOLLOWER
        # The leader epoch is checked first, because Kafka does so before it checks whether the replica leads (Partition.getLocalLog).
        code = fence(slot.current_leader_epoch, partition)
        if code == error_codes.NONE and self._fetch.node != partition.leader and self._fetch.version < FOLLOWERS_SINCE:
            return error_codes.NOT_LEADER_OR_FOLLOWER
        return code

    def _within(self, slot: Slot, partition: Partition) -> PartitionData:
        if slot.max_bytes < 0 or self._fetch.max_bytes < 0:
            # For a negative size, LogSegment.read throws an IllegalArgumentException, which clients see as UNKNOWN_SERVER_ERROR (-1).
            return self._refuse(slot, error_codes.UNKNOWN_SERVER_ERROR, partition)
        # The last fetched epoch of a session's partition may come from an earlier request of a higher version.
        if slot.last_fetched_epoch >= 0:
            known = partition.epoch_end(slot.last_fetched_epoch)
            if known.start == NO_OFFSET:
                return self._refuse(slot, error_codes.OFFSET_OUT_OF_RANGE, partition)
            # The log was truncated before the client's position, so the answer says where the epochs diverge, for the client to continue
            # there (KIP-595).
            if known.epoch < slot.last_fetched_epoch or known.start < slot.fetch_offset:
                self.trouble = True
                diverging = EpochEndOffset(epoch=known.epoch, end_offset=known.start)
                row = self._row(slot, partition, b"", diverging, partition.end_at(self._fetch.node))
                row.aborted_transactions = None
                return row
        # The offset is checked after the divergence, because a client beyond the end of a truncated log needs the diverging offset, not
        # OFFSET_OUT_OF_RANGE.
        end = upper = partition.end_at(self._fetch.node)
        if not partition.start <= slot.fetch_offset <= end:
            return self._refuse(slot, error_codes.OFFSET_OUT_OF_RANGE, partition)
        committed = partition.producers.transactions is not None and self._fetch.isolation_level == READ_COMMITTED
        if committed:  # With the isolation level read_committed a fetch ends at the last stable offset.
            upper = min(end, partition.stable(self._pinned))
            # DelayedFetch compares the last stable offset with the result of LogSegment.read, which since Kafka 4 is the start of the
            # batch.
            found = slot.fetch_offset if self._own_offset else partition.first_offset(slot.fetch_offset)
            self.trouble |= found > upper
        size = min(self._room, slot.max_bytes)
        row = self._row(slot, partition, self._records(slot, partition, size, upper), EpochEndOffset(), end)
        if not row.records and slot.fetch_offset < upper and 0 < size < partition.first_size(slot.fetch_offset):
            row.aborted_transactions = None  # Kafka drops the list of aborted transactions together with a first batch that does not fit.
        elif committed and slot.fetch_offset < upper:
            row.aborted_transactions = [
                AbortedTransaction(producer_id=each.producer_id, first_offset=each.first_offset)
                for each in partition.aborted(slot.fetch_offset, len(row.records or b""), end)
            ]
        return row

    def _records(self, slot: Slot, partition: Partition, size: int, end: int) -> bytes:
        whole_first = self._fetch.version >= WHOLE_FIRST_BATCH_SINCE
        if whole_first and self.bytes and partition.first_size(slot.fetch_offset) > size:
            return b""  # Only the first batch of an answer may be larger than allowed.
        found = partition.read(slot.fetch_offset, size, at_least_one=whole_first and not self.bytes, end=end)
        self._room = max(0, self._room - len(found))
        self.bytes += len(found)
        return found

    def _row(self, slot: Slot, partition: Partition, records: bytes, diverging: EpochEndOffset, end: int) -> PartitionData:
        row = PartitionData(
            partition_index=slot.partition,
            high_watermark=end,
            last_stable_offset=end if partition.producers.transactions is None else min(end, partition.stable(self._pinned)),
            log_start_offset=partition.start,
            diverging_epoch=diverging,
            aborted_transactions=[] if self._fetch.isolation_level == READ_COMMITTED else None,
            records=records,
        )
        if self._fetch.version < BATCHES_SINCE and records:
            self._convert(row, slot)
        return row

    def _convert(self, row: PartitionData, slot: Slot) -> None:
        room = self._unpacked
        if room.records < CONVERTED:
            row.records = b""  # The budget is spent, so the client has to fetch these records again.
            return
        try:
            # A fetch may end in the middle of a batch, but an incomplete batch cannot be converted to an old format.
            batches = iter_batches(row.records or b"", cut=True)
            row.records = down_convert(batches, 1 if self._fetch.version >= 2 else 0, slot.fetch_offset, room)
        except OverLimit as error:
            if room.spent:
                row.records = b""
            else:
                self._failed(row, error)
        except RecordsError as error:
            self._failed(row, error)

    def _failed(self, row: PartitionData, error: RecordsError) -> None:
        row.error_code, row.records, row.high_watermark, self.trouble = error.error_code, b"", -1, True

    def _refuse(self, slot: Slot, code: int, partition: Partition) -> PartitionData:
        self.trouble = True
        row = PartitionData(partition_index=slot.partition, error_code=code, high_watermark=-1, aborted_transactions=None, records=b"")
        if self._fetch.version >= LEADER_HINTS_SINCE and code in (error_codes.NOT_LEADER_OR_FOLLOWER, error_codes.FENCED_LEADER_EPOCH):
            row.current_leader = LeaderIdAndEpoch(leader_id=partition.leader, leader_epoch=partition.leader_epoch)
        return row


def failed(quirks: Quirks, asked: FetchRequest, version: int, code: int) -> FetchResponse:
    """Return the answer to a fetch on which Kafka's handler throws: one error code for the whole request, and before v13 for each of its
    partitions."""
    if version >= ONE_ERROR_SINCE:
        return FetchResponse(error_code=code, session_id=asked.session_id)
    records = None if quirks.failed_fetch_without_records else b""
    rows = [
        FetchableTopicResponse(
            topic=topic.topic,
            topic_id=topic.topic_id,
            partitions=[
                PartitionData(partition_index=each.partition, error_code=code, high_watermark=-1, records=records)
                for each in topic.partitions
            ],
        )
        for topic in asked.topics
    ]
    return FetchResponse(error_code=code, session_id=asked.session_id, responses=rows)


def fence(epoch: int, partition: Partition) -> int:
    """Return the error code for the leader epoch that a request names; a negative epoch is not checked (KIP-320)."""
    if epoch < 0 or epoch == partition.leader_epoch:
        return error_codes.NONE
    # A lower epoch means that the client's metadata is outdated. A higher epoch means that this node is outdated, so the client retries.
    return error_codes.FENCED_LEADER_EPOCH if epoch < partition.leader_epoch else error_codes.UNKNOWN_LEADER_EPOCH


def _places(fetch: WaitingFetch) -> list[tuple[str, int]]:
    slots, denied = fetch.context.slots.values(), fetch.denied
    return [(slot.topic, slot.partition) for slot in slots if slot.topic is not None and slot.topic not in denied]


def _grouped(rows: Rows, version: int) -> list[FetchableTopicResponse]:
    """Group the rows into the answer's topics: consecutive rows of the same topic share an entry."""
    topics: list[FetchableTopicResponse] = []
    for slot, found in rows:
        name, topic_id = ("", slot.topic_id) if version >= IDS_SINCE else (slot.topic or "", bytes(16))
        if not topics or (topics[-1].topic, topics[-1].topic_id) != (name, topic_id):
            topics.append(FetchableTopicResponse(topic=name, topic_id=topic_id))
        topics[-1].partitions.append(found)
    return topics
