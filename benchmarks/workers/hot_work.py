"""Gives work to the driver alone, over a transport that only keeps the response. hot_path.py loads it once per build.

The build may be an older one, so the code uses only what both builds have.
"""

from __future__ import annotations

from random import Random
from typing import Any

from groupmock.config.limits import Limits
from groupmock.core.core import core_of
from groupmock.core.events import Command
from groupmock.core.identity import ApiRange, Identity, Node
from groupmock.core.settings import Settings
from groupmock.journal.journal import Journal
from groupmock.journal.rows import Header
from groupmock.net.clock import VirtualClock
from groupmock.net.connection import Connection
from groupmock.net.driver import Driver
from groupmock_codec import APIS
from groupmock_codec.headers import RequestHeader, encode_request_header
from groupmock_codec.messages.k00_produce import PartitionProduceData, ProduceRequest, TopicProduceData
from groupmock_codec.messages.k01_fetch import FetchPartition, FetchRequest, FetchTopic
from groupmock_codec.messages.k11_join_group import JoinGroupRequest, JoinGroupRequestProtocol
from groupmock_codec.messages.k12_heartbeat import HeartbeatRequest
from groupmock_codec.messages.k14_sync_group import SyncGroupRequest, SyncGroupRequestAssignment
from groupmock_codec.records import NewRecord, encode_batch

JOIN, HEARTBEAT, SYNC, PRODUCE, FETCH = (11, 5), (12, 3), (14, 3), (0, 9), (1, 11)
RESPONSE_HEADER = 8  # The length and the correlation id of a response take 8 bytes.


class LastWrite:
    """A transport that keeps only the last write."""

    def __init__(self) -> None:
        self.data = b""

    def write(self, data: bytes) -> None:
        self.data = data

    def set_write_buffer_limits(self, high: int) -> None: ...

    def can_write_eof(self) -> bool:
        return False

    def close(self) -> None: ...


class DriverLink:
    """A connection to the driver that is measured."""

    def __init__(self, driver: Driver, number: int) -> None:
        self.kept = LastWrite()
        self.member_id = ""
        self.connection = Connection(driver, number, 1, "/1", 1)
        self.connection.connection_made(self.kept)  # type: ignore[arg-type]  # all of a transport that is used

    def ask(self, api: tuple[int, int], message: Any) -> Any:
        """Send one request that is answered at once, and return the response."""
        self.connection.data_received(frame(api, message))
        return self.answer(api)

    def answer(self, api: tuple[int, int]) -> Any:
        return APIS[api[0]].response.decode(api[1], self.kept.data[RESPONSE_HEADER:])


# The limits of time slices are as high as possible, because there is no event loop to yield to. A build before 0.2 has fewer
# settings.
SLICES = ("replies_slice_us", "requests_slice_us", "work_slice_us")
NO_SLICES = Limits(**{name: 2**31 - 1 for name in SLICES if name in Limits.__struct_fields__})


class Work:
    """A cluster with one member that is alone in its group. With `audited`, every request is audited on arrival."""

    def __init__(self, delay_ms: int, audited: bool = False) -> None:
        self.storms = 0
        self.records = self.fetched = b""
        self.delay_ms = delay_ms
        self.clock = VirtualClock()
        served = {key: APIS[key].versions for key in (0, 1, 11, 12, 14, 18)}
        ranges = tuple(ApiRange(key, each.lowest, each.highest) for key, each in served.items())
        identity = Identity("hot", (Node(1, "h", 1),), ranges)
        self.core = core_of(Settings(group_initial_rebalance_delay_ms=delay_ms), identity, Random(1), 0)
        header = Header(v=1, run="r", product="p", seed=1, epoch_ns=0, profile="p", config={}, complete=False)
        self.driver = Driver(self.core, self.clock, Journal(header), NO_SLICES)
        if audited:
            from groupmock.audit.sink import AuditSink  # A build without AuditSink is measured without the audit.
            from groupmock.net.beats import Beats
            from groupmock.net.clock import ClockAlarm

            self.audit = AuditSink(self.driver.journal, Beats(self.driver.connections), ClockAlarm(self.clock), self.clock.now)
            self.driver.journal.add(self.audit)
        self.kept = LastWrite()
        self.connection = Connection(self.driver, 1, 1, "/1", 1)
        self.connection.connection_made(self.kept)  # type: ignore[arg-type]  # all of a transport that is used
        self.join = JoinGroupRequest(
            group_id="g", session_timeout_ms=30_000, rebalance_timeout_ms=30_000, protocol_type="consumer",
            protocols=[JoinGroupRequestProtocol(name="range", metadata=bytes(6))],
        )  # fmt: skip
        self.join.member_id = self.ask(JOIN, self.join).member_id
        self.sync = SyncGroupRequest(
            group_id="g", generation_id=self.ask(JOIN, self.join).generation_id, member_id=self.join.member_id,
            assignments=[SyncGroupRequestAssignment(member_id=self.join.member_id, assignment=bytes(2))],
        )  # fmt: skip
        if self.ask(SYNC, self.sync).error_code:
            raise SystemExit("the member cannot sync")

    def ask(self, api: tuple[int, int], message: Any) -> Any:
        self.connection.data_received(frame(api, message))
        self.clock.advance(self.delay_ms + 1)
        return APIS[api[0]].response.decode(api[1], self.kept.data[RESPONSE_HEADER:])

    def heartbeats(self, count: int) -> None:
        """Send this many equal heartbeats of the member."""
        beat = frame(HEARTBEAT, self.heartbeat())
        for _ in range(count):
            self.connection.data_received(beat)

    def produce(self, count: int) -> None:
        """Send this many equal requests with a batch of one record. The first call creates the topic."""
        if not self.records:
            self.driver.submit(Command("create_topic", {"name": "t", "partitions": 1}))
            data = PartitionProduceData(index=0, records=encode_batch([NewRecord(value=bytes(100), timestamp=1)]))
            topic = TopicProduceData(name="t", partition_data=[data])
            self.records = frame(PRODUCE, ProduceRequest(acks=-1, timeout_ms=1000, topic_data=[topic]))
            partition = FetchPartition(partition=0, fetch_offset=0, partition_max_bytes=1)
            wanted = [FetchTopic(topic="t", partitions=[partition])]
            self.fetched = frame(FETCH, FetchRequest(max_bytes=1 << 20, session_epoch=-1, isolation_level=1, topics=wanted))
        for _ in range(count):
            self.connection.data_received(self.records)

    def fetch(self, count: int) -> None:
        """Send this many equal requests for the first record."""
        if not self.records:
            self.produce(1)
        for _ in range(count):
            self.connection.data_received(self.fetched)

    def storm(self, members: int) -> None:
        """Play a storm: many members join a new group over connections of their own with two JoinGroups and a SyncGroup each, then all
        hang up."""
        self.storms += 1
        group = f"storm{self.storms}"
        links = [DriverLink(self.driver, self.storms * 100_000 + number) for number in range(members)]
        join = JoinGroupRequest(
            group_id=group, session_timeout_ms=30_000, rebalance_timeout_ms=30_000, protocol_type="consumer", protocols=self.join.protocols
        )
        for link in links:
            link.member_id = link.ask(JOIN, join).member_id
        for link in links:
            join.member_id = link.member_id
            link.connection.data_received(frame(JOIN, join))
        # The wait is twice the initial delay, because Kafka extends the delay once for members that joined during it.
        self.clock.advance(2 * self.delay_ms + 1)
        generation = links[0].answer(JOIN).generation_id
        sync = SyncGroupRequest(group_id=group, generation_id=generation)
        for link in reversed(links):  # The connections are reversed, because the leader, which joined first, must send SyncGroup last.
            sync.member_id = link.member_id
            sync.assignments = []
            if link is links[0]:
                sync.assignments = [SyncGroupRequestAssignment(member_id=each.member_id, assignment=bytes(60)) for each in links]
            link.connection.data_received(frame(SYNC, sync))
        self.clock.advance(1)
        if any(link.answer(SYNC).error_code for link in (links[0], links[-1])):
            raise SystemExit("the storm did not come to its end")
        for link in links:
            link.connection.connection_lost(None)
        self.clock.advance(60_000)  # The members' sessions end in this time, which removes them from the group.

    def heartbeat(self) -> HeartbeatRequest:
        return HeartbeatRequest(group_id="g", generation_id=self.sync.generation_id, member_id=self.join.member_id)

    def rounds(self, count: int) -> None:
        """Let the group's only member join and sync this many times."""
        join = frame(JOIN, self.join)
        for _ in range(count):
            self.connection.data_received(join)
            self.clock.advance(1)
            self.sync.generation_id += 1
            self.connection.data_received(frame(SYNC, self.sync))
        if self.ask(HEARTBEAT, self.heartbeat()).error_code:
            raise SystemExit("the rounds did not come to their end")


def frame(api: tuple[int, int], message: Any) -> bytes:
    key, version = api
    body = encode_request_header(RequestHeader(key, version, 7, "me")) + APIS[key].request.encode(version, message)
    return len(body).to_bytes(4, "big") + body
