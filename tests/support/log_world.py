"""A cluster's data plane without sockets, for tests that send requests through the codec and read answers as dictionaries."""

from __future__ import annotations

import random
from typing import Any

from groupmock.core.core import core_of
from groupmock.core.effects import Note
from groupmock.core.identity import ApiRange, Feature, Identity, Node
from groupmock.core.settings import Quirks, Settings
from groupmock.core.work import at_once
from groupmock.rig import Ask, CoreRig, Watch
from groupmock_codec import APIS
from groupmock_codec.declare import Message, fields_of
from groupmock_codec.messages.k00_produce import PartitionProduceData, ProduceRequest, TopicProduceData
from groupmock_codec.messages.k01_fetch import FetchPartition, FetchRequest, FetchTopic
from groupmock_codec.records import NewRecord, encode_batch

WALL_MS = 1_700_000_000_000
Shown = Any


def shown(message: object) -> Shown:
    """Return a message as a dictionary of the fields that differ from their defaults."""
    if isinstance(message, Message):
        values = {field.name: (getattr(message, field.name), field.default) for field in fields_of(type(message))}
        return {name: shown(value) for name, (value, default) in values.items() if value != default}
    if isinstance(message, list):
        return [shown(each) for each in message]
    return int(message) if isinstance(message, int) and not isinstance(message, bool) else message


def batch(*values: bytes | None, keys: list[bytes | None] | None = None, timestamp: int = WALL_MS, **how: Any) -> bytes:
    """Encode one record batch of these values, one millisecond apart."""
    records = [
        NewRecord(key=keys[place] if keys else None, value=value, timestamp=timestamp + place)
        for place, value in enumerate(values or (b"v",))
    ]
    return encode_batch(records, **how)


class LogWorld(Watch):
    """A rig that keeps answers by ticket. A request sent with `ask` has a connection of its own."""

    def __init__(
        self,
        *,
        nodes: int = 1,
        quirks: Quirks | None = None,
        features: tuple[Feature, ...] = (),
        advertised: tuple[ApiRange, ...] = (),
        seed: int = 1,
        **settings: Any,
    ) -> None:
        identity = Identity(
            cluster_id="world",
            nodes=tuple(Node(1 + place, "127.0.0.1", 9092 + place) for place in range(nodes)),
            advertised=advertised,
            features=features,
            finalized_features_epoch=7 if features else -1,
        )
        self.core = core_of(Settings(quirks=quirks or Quirks(), **settings), identity, random.Random(seed), WALL_MS)
        self.environment, self.cluster = self.core.environment, self.core.cluster
        self.topics = self.cluster.topics
        self.rig = CoreRig(self.core, watch=self, checked=False)
        self.effects, self.command, self.sleep, self.turn = self.rig.effects, self.rig.command, self.rig.sleep, self.rig.turn
        self.asked: dict[int, Ask] = {}
        self.answers: dict[int, Any] = {}

    def answered(self, ask: Ask) -> None:
        self.answers[ask.ticket] = ask.answer

    # -- Driving

    def send(self, key: int, version: int, message: Message, *, node: int = 1, connection: int | None = 1) -> int:
        """Send a request and return its ticket. With `connection=None` the request has its own connection."""
        name = None if connection is None else str(connection)
        ask = self.rig.send(key, version, message, connection=name, client_id="c", node=node, client_host="/10.0.0.7")
        self.asked[ask.ticket] = ask
        return ask.ticket

    def ask(self, key: int, version: int, message: Message, *, node: int = 1) -> Any:
        """Send a request that must be answered at once and return the answer as its version encodes it."""
        ticket = self.send(key, version, message, node=node, connection=None)
        assert ticket in self.answers, f"{APIS[key].name} v{version} was not answered: {self.effects[-3:]}"
        return self.answers[ticket]

    def show(self, key: int, version: int, message: Message, *, node: int = 1) -> Shown:
        return shown(self.ask(key, version, message, node=node))

    def outcome(self, ticket: int) -> str:
        """Return the outcome of a request: answered, silent, closed, abandoned or parked."""
        return self.asked[ticket].status

    def hang_up(self, connection: int = 1) -> None:
        self.rig.hang_up(str(connection))

    def notes(self, what: str) -> list[dict[str, object]]:
        return [effect.fields for effect in self.rig.of(Note) if effect.what == what]

    # -- In short

    def topic(self, name: str = "t", partitions: int = 1, node: int | None = None, **configs: str) -> None:
        """Create a topic whose partitions are all led by `node`, by default by the usual placement. Config names have underscores in
        place of dots."""
        replicas = [[node] for _ in range(partitions)] if node else at_once(self.topics.replicas(name, range(partitions), 1))
        self.topics.add(self.turn(), name, replicas, {key.replace("_", "."): value for key, value in configs.items()})

    def append(self, *batches: bytes, topic: str = "t", partition: int = 0) -> None:
        """Append batches to a log without a Produce request."""
        for each in batches:
            self.command("append", topic=topic, partition=partition, batch=each)

    def produce(self, records: bytes | None, *, topic: str = "t", partition: int = 0, version: int = 12, node: int = 1, **how: Any) -> Any:
        """Send a Produce for one partition and return the partition's part of the answer."""
        answer = self.show(0, version, produce_request(records, topic=topic, partition=partition, **how), node=node)
        return answer["responses"][0]["partition_responses"][0]

    def fetch(self, offset: int = 0, *, version: int = 11, topic: str = "t", node: int = 1, **how: Any) -> Any:
        """Send a Fetch for one partition without waiting and return the partition's part of the answer."""
        return (
            self.ask(1, version, fetch_request((topic, 0, offset), version=version, world=self, **how), node=node)
            .responses[0]
            .partitions[0]
        )

    def topic_id(self, name: str) -> bytes:
        found = self.topics.topic_id(name)
        assert found is not None
        return found


def produce_request(
    records: bytes | None,
    *,
    topic: str = "t",
    topic_id: bytes = bytes(16),
    partition: int = 0,
    acks: int = -1,
    transactional_id: str | None = None,
) -> ProduceRequest:
    """Return a Produce request for one partition."""
    data = PartitionProduceData(index=partition, records=records)
    topics = [TopicProduceData(name=topic, topic_id=topic_id, partition_data=[data])]
    return ProduceRequest(acks=acks, timeout_ms=1000, transactional_id=transactional_id, topic_data=topics)


def fetch_request(
    *wanted: tuple[str, int, int], version: int = 11, world: LogWorld | None = None, partition: dict[str, Any] | None = None, **how: Any
) -> FetchRequest:
    """Return a Fetch request of (topic, partition, offset) triples in order. `partition` has fields of every partition; the rest are
    fields of the request."""
    topics: list[FetchTopic] = []
    for name, index, offset in wanted:
        topic_id = world.topic_id(name) if version >= 13 and world is not None else bytes(16)
        if not topics or (topics[-1].topic, topics[-1].topic_id) != (name if version < 13 else "", topic_id):
            topics.append(FetchTopic(topic=name if version < 13 else "", topic_id=topic_id))
        fields = {"partition_max_bytes": 1 << 20, **(partition or {})}
        topics[-1].partitions.append(FetchPartition(partition=index, fetch_offset=offset, **fields))
    return FetchRequest(**{"topics": topics, **how})
