"""The cluster and the consumers with which a mistake is made: a driver without sockets, rows as a served cluster keeps them, and
consumers that act on order."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import count
from typing import Any, Final

from groupmock.core.events import Request
from groupmock.data.server_views import server_view
from groupmock.journal.journal import Sink
from groupmock.journal.ring import Ring
from groupmock.rig import WireRig
from groupmock.rig.ask import PARKED, Ask, Connection
from groupmock.rig.classic_member import Partition, by_topic
from groupmock.rig.making import Topics
from groupmock.rig.member import Member
from groupmock.rig.versions import newest
from groupmock.rig.wire_rig import Wire
from groupmock.story.telling import tell
from groupmock_codec.api_keys import FETCH, LEAVE_GROUP, LIST_OFFSETS, METADATA, OFFSET_FETCH
from groupmock_codec.messages.k01_fetch import FetchPartition, FetchRequest, FetchTopic
from groupmock_codec.messages.k02_list_offsets import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from groupmock_codec.messages.k03_metadata import MetadataRequest, MetadataRequestTopic
from groupmock_codec.records import NewRecord, encode_batch

GROUP: Final = "kitchen"
SEED: Final = 16
EARLIEST, LATEST = -2, -1


class Stage:
    """A cluster for scripts of mistakes, which offers what `groupmock.rig.Member` needs of its rig, on top of the driver that writes
    rows."""

    def __init__(self, topics: Topics, settings: Mapping[str, object] | None = None, sinks: Sequence[Sink] = ()) -> None:
        self.ring = Ring()
        self.rig = WireRig.make(topics=topics, settings=settings, seed=SEED, sinks=[self.ring, *sinks])
        self.core = self.rig.core
        self._wires: dict[str, Wire] = {}
        self._links: dict[str, Connection] = {}
        self._numbers = count(1)

    def send(self, key: int, version: int, message: Any, *, connection: str, client_id: str, node: int = 1) -> Ask:
        """Send a request, whose answer may come later (`sleep`)."""
        wire = self._wires.get(connection)
        if wire is None:
            wire = self._wires[connection] = self.rig.connect(node)
            self._links[connection] = Connection(wire.connection.number)
        number, link = next(self._numbers), self._links[connection]
        asked = Request(number, link.number, node, key, version, client_id, "/127.0.0.1", message)
        ask = Ask(asked, link, self.rig.clock.now(), ())
        ask.status = PARKED
        wire.side.client_id = client_id
        wire.send(wire.side.ask(key, version, message, ask))
        self._collect()
        return ask

    def ask(self, key: int, version: int, message: Any, *, connection: str, client_id: str) -> Any:
        """Send a request that is answered without time passing, and return the answer."""
        ask = self.send(key, version, message, connection=connection, client_id=client_id)
        self.sleep(0)
        assert ask.answer is not None, ask
        return ask.answer

    def sleep(self, ms: float) -> None:
        """Let time pass and collect answers."""
        self.rig.sleep(ms)
        self._collect()

    def hang_up(self, connection: str) -> None:
        """Close all connections of a client, as the end of its process does."""
        for name in [name for name in self._wires if name.startswith(connection)]:
            self._wires.pop(name).hang_up()

    def produce(self, topic: str, partition: int, records: int) -> None:
        made = [NewRecord(key=None, value=b"%d" % number, headers=[], timestamp=0) for number in range(records)]
        self.rig.command("append", topic=topic, partition=partition, batch=encode_batch(made))

    def consumer(self, name: str, **how: Any) -> Consumer:
        """Return a new consumer, which has sent no request yet."""
        return Consumer(self, name, **{"group": GROUP, "topics": ["orders"], **how})

    def together(self, *consumers: Consumer, waiting: Sequence[Consumer] = ()) -> None:
        """Let consumers join one after the other and get their assignments. `waiting` are consumers that have already sent their
        JoinGroup."""
        for consumer in consumers:
            consumer.join()
        self.sleep(3000)
        for consumer in sorted([*consumers, *waiting], key=lambda each: each.leads, reverse=True):
            consumer.sync()
        self.sleep(0)

    def story(self) -> Iterator[str]:
        """Return the story of the group that a failed test shows."""
        group = self.core.cluster.groups.find(GROUP)
        views = {GROUP: server_view(self.core.cluster, group)} if group is not None else {}
        return tell(self.ring.rows, seed=SEED, views=views, now=self.rig.clock.now())

    def _collect(self) -> None:
        for wire in self._wires.values():
            data, wire.data = wire.data, b""
            for asked, frame in wire.side.receive(data):
                assert asked is not None, "the driver answers nothing that was not asked"
                asked.tag.take(asked.read(frame)[1])


class Consumer(Member):
    """A group member that also looks up, fetches and reads, by the requests of a stock client. `handled` counts received records by
    partition."""

    rig: Stage  # type: ignore[assignment]  # a Member asks no more of its rig than a Stage has

    def __init__(self, stage: Stage, name: str, **how: Any) -> None:
        super().__init__(stage, name, **how)  # type: ignore[arg-type]
        self.handled: dict[Partition, int] = {}

    def look_up(self) -> Any:
        """Ask for the metadata of the consumer's topics."""
        topics = [MetadataRequestTopic(name=name) for name in self.topics]
        return self._elsewhere(METADATA, MetadataRequest(topics=topics, allow_auto_topic_creation=False))

    def committed(self) -> dict[Partition, int]:
        """Fetch the committed offsets of the consumer's partitions, with -1 for none."""
        answer = self._ask(OFFSET_FETCH, self.offsets_request(self.assignment))
        return {(topic.name, each.partition_index): each.committed_offset for topic in answer.topics for each in topic.partitions}

    def log_of(self, stamp: int) -> dict[Partition, int]:
        """Ask ListOffsets for the begin or end of the logs of the consumer's partitions."""
        topics = [
            ListOffsetsTopic(name=topic, partitions=[ListOffsetsPartition(partition_index=each, timestamp=stamp) for each in numbers])
            for topic, numbers in by_topic(self.assignment).items()
        ]
        answer = self._elsewhere(LIST_OFFSETS, ListOffsetsRequest(replica_id=-1, topics=topics))
        return {(topic.name, each.partition_index): each.offset for topic in answer.topics for each in topic.partitions}

    def start(self, reset: int = EARLIEST) -> dict[Partition, int]:
        """Start reading at the committed offsets, or else where auto.offset.reset says."""
        found = self.committed()
        where = self.log_of(reset) if -1 in found.values() else {}
        at = {partition: offset if offset >= 0 else where[partition] for partition, offset in found.items()}
        for partition, offset in self.read(at).items():
            self.handled[partition] = self.handled.get(partition, 0) + offset - at[partition]
        return at

    def read(self, at: Mapping[Partition, int]) -> dict[Partition, int]:
        """Send one Fetch, and return partition -> high watermark."""
        wanted = {each: FetchPartition(partition=each[1], fetch_offset=offset, partition_max_bytes=1000) for each, offset in at.items()}
        topics = [FetchTopic(topic=topic, partitions=[wanted[topic, each] for each in numbers]) for topic, numbers in by_topic(at).items()]
        answer = self._elsewhere(FETCH, FetchRequest(max_bytes=100_000, topics=topics))
        return {(topic.topic, each.partition_index): each.high_watermark for topic in answer.responses for each in topic.partitions}

    def leave_because(self, reason: str) -> None:
        """Leave the group with a reason (KIP-800)."""
        self._ask(LEAVE_GROUP, self.leave_request(reason))

    def _ask(self, key: int, message: Any, by: str = "") -> Any:
        return self.rig.ask(key, newest(key, message), message, connection=self.client_id + by, client_id=self.client_id)

    def _elsewhere(self, key: int, message: Any) -> Any:
        """Send a request on the consumer's connection for data, because stock clients have a separate one to the coordinator."""
        return self._ask(key, message, by="/data")
