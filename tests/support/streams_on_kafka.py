"""Plays scenarios with stock Kafka Streams on real Kafka, behind the recording proxy, and counts the tasks that move.

A recording of a streams group (KIP-1071) has no rows of the group's states. So the state is asked of the coordinator, and the tasks that
move are counted from what the instances say that they hold.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, cast

from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic
from recordings import Recording, recording, where

from groupmock import Broker
from groupmock.rig.wire import Client, read_response
from groupmock_clients.scenarios.live.streams import THREAD, StreamsStage
from groupmock_clients.scenarios.play import GROUP, RUNNER, STREAMS, Protocol, Sizes
from groupmock_codec.api_keys import DESCRIBE_GROUPS, STREAMS_GROUP_DESCRIBE
from groupmock_codec.group_states import STABLE
from groupmock_codec.messages.k15_describe_groups import DescribeGroupsRequest
from groupmock_codec.messages.k89_streams_group_describe import StreamsGroupDescribeRequest
from tools.oracle import kafka

PATIENCE_S: Final = 30.0
DESCRIBED: Final[Mapping[bool, tuple[int, Any]]] = {
    True: (STREAMS_GROUP_DESCRIBE, StreamsGroupDescribeRequest([GROUP])),
    False: (DESCRIBE_GROUPS, DescribeGroupsRequest([GROUP])),
}
"""Maps whether the group is a streams group to the request that describes it."""


class RecordedKafka:
    """Kafka with the part of a Broker's interface that a live stage uses. Members connect by the proxy, and topics and records come
    directly."""

    def __init__(self, upstream: str, through: Recording) -> None:
        self._through = through
        self._admin = AdminClient({"bootstrap.servers": upstream, "log_level": 0})
        self._producer = Producer({"bootstrap.servers": upstream, "linger.ms": 0, "log_level": 0})
        self._coordinator = Client(*where(upstream), "scenario")

    def close(self) -> None:
        self._coordinator.close()

    @property
    def bootstrap(self) -> str:
        return self._through.bootstrap

    def create_topic(self, topic: str, partitions: int) -> None:
        for made in self._admin.create_topics([NewTopic(topic, partitions, 1)]).values():
            made.result(PATIENCE_S)

    def produce(self, topic: str, value: bytes, partition: int) -> int:
        """Write a record and return its offset."""
        offsets: list[int | None] = []
        self._producer.produce(topic, value, partition=partition, on_delivery=lambda failed, made: offsets.append(made.offset()))
        assert self._producer.flush(PATIENCE_S) == 0
        assert offsets[0] is not None
        return offsets[0]

    def client_says(self, client: str, what: str, /, **fields: Any) -> None:
        proxy = self._through.proxy
        self._through.on_loop(lambda: proxy.dialogue.record.client(client, what, fields, proxy.now()))

    def story(self, group: str) -> str:
        return ""

    def described(self, streams: bool) -> tuple[str, list[str]]:
        """Return the state of the group and the client ids of its members."""
        key, message = DESCRIBED[streams]
        correlation = self._coordinator.send(key, 0, message)
        answer: Any = read_response(key, 0, self._coordinator.receive(), correlation)[1]
        found = answer.groups[0]
        return str(found.group_state), [member.client_id for member in found.members]


class StreamsStageOnKafka(StreamsStage):
    """The stage of `groupmock scenario --live`, with Kafka instead of groupmock. `moved` counts since the scenario's begin how often an
    instance got a task that another instance had before."""

    def __init__(self, sizes: Sizes, protocol: Protocol, there: RecordedKafka, journal: Path, folder: Path) -> None:
        self.moved = 0
        self._last_holder: dict[tuple[str, int], str] = {}
        self._counting = threading.Lock()
        self._there = there
        super().__init__(sizes, protocol, cast(Broker, there), journal, folder)

    def tell(self, client: str, what: str, fields: Mapping[str, Any]) -> None:
        if (client, what) == (RUNNER, "begin"):
            with self._counting:
                self.moved = 0
        super().tell(client, what, fields)

    def _heard(self, member: str, event: str, facts: dict[str, Any]) -> None:
        if event == "holds":
            with self._counting:
                for topic, number in facts["partitions"]:
                    self.moved += self._last_holder.get((topic, number), member) != member
                    self._last_holder[topic, number] = member
        super()._heard(member, event, facts)

    def _described(self) -> tuple[str, list[str]]:
        return self._there.described(self.protocol.name == STREAMS)

    def _joined(self) -> bool:
        return bool(self._described()[1])

    def _stable(self, members: frozenset[str]) -> bool:
        state, clients = self._described()
        return state == STABLE and sorted(each.removesuffix(THREAD) for each in clients) == sorted(members)

    def _everything_owned(self) -> bool:
        return sorted(place for held in self._holds.values() for place in held) == sorted(self._wanted())


@contextmanager
def stage_on_kafka(sizes: Sizes, protocol: Protocol, folder: Path, version: str = "4.4.0") -> Iterator[StreamsStageOnKafka]:
    """Start Kafka and yield a stage for one run."""
    journal = folder / "journal.jsonl"
    settings = {
        "group.initial.rebalance.delay.ms": sizes.initial_delay_ms, "group.streams.min.session.timeout.ms": 1000,
        "group.streams.min.heartbeat.interval.ms": 100, "group.streams.session.timeout.ms": sizes.session_ms,
        "group.streams.heartbeat.interval.ms": sizes.heartbeat_ms, "group.streams.num.standby.replicas": 1,
        "group.streams.initial.rebalance.delay.ms": sizes.initial_delay_ms,
    }  # fmt: skip
    with kafka(version, settings) as upstream, recording(upstream, journal) as through:
        there = RecordedKafka(upstream, through)
        stage = StreamsStageOnKafka(sizes, protocol, there, journal, folder)
        try:
            yield stage
        finally:
            stage.close()
            there.close()
