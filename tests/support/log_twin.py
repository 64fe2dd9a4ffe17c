"""A real broker and the pure data plane in lockstep: the same random requests to both, every answer compared field by field.

Stored batches are compared byte by byte. Topic ids, session ids and the clock are the broker's own and are translated.
"""

from __future__ import annotations

import argparse
import os
import random
import socket
import time
from typing import Any

from log_world import LogWorld, batch, fetch_request, produce_request, shown

from groupmock import profiles
from groupmock.core.settings import Quirks
from groupmock_codec import APIS
from groupmock_codec.declare import Message
from groupmock_codec.headers import RequestHeader, decode_response_header, encode_request_header, response_header_version
from groupmock_codec.messages.k02_list_offsets import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from groupmock_codec.messages.k03_metadata import MetadataRequest, MetadataRequestTopic
from groupmock_codec.messages.k19_create_topics import CreatableTopic, CreatableTopicConfig, CreateTopicsRequest
from groupmock_codec.messages.k20_delete_topics import DeleteTopicsRequest
from groupmock_codec.messages.k21_delete_records import DeleteRecordsPartition, DeleteRecordsRequest, DeleteRecordsTopic
from groupmock_codec.messages.k23_offset_for_leader_epoch import OffsetForLeaderEpochRequest, OffsetForLeaderPartition, OffsetForLeaderTopic
from groupmock_codec.messages.k32_describe_configs import DescribeConfigsRequest, DescribeConfigsResource
from groupmock_codec.messages.k37_create_partitions import CreatePartitionsRequest, CreatePartitionsTopic
from groupmock_codec.messages.k44_incremental_alter_configs import AlterableConfig, AlterConfigsResource, IncrementalAlterConfigsRequest

PROPAGATION_SECONDS = 0.3  # a controller's change takes a moment until the broker acts on it, and nothing tells when
LIKELY = (
    ("produce",) * 10
    + ("fetch",) * 10
    + ("list_offsets",) * 6
    + ("delete_records", "epoch", "metadata", "configs", "alter", "create", "grow")
)
KEYS = ("cleanup.policy", "max.message.bytes", "retention.ms", "segment.ms")
LOWEST = {0: 3, 1: 4}  # older ones are converted: other bytes, padded by Kafka


class Broker:
    """One connection to the real broker."""

    def __init__(self, address: tuple[str, int]) -> None:
        self._socket = socket.create_connection(address, timeout=10)

    def ask(self, key: int, version: int, message: Message) -> Any:
        """Send and wait for the answer."""
        body = encode_request_header(RequestHeader(key, version, 7, "twin")) + APIS[key].request.encode(version, message)
        self._socket.sendall(len(body).to_bytes(4, "big") + body)
        frame = self._read(int.from_bytes(self._read(4), "big"))
        start = decode_response_header(frame, response_header_version(key, version))[2]
        return APIS[key].response.decode(version, frame[start:])

    def _read(self, size: int) -> bytes:
        data = b""
        while len(data) < size:
            piece = self._socket.recv(size - len(data))
            if not piece:
                raise ConnectionError("the broker closed the connection")
            data += piece
        return data


class LogTwin:
    """Some topics on both sides."""

    def __init__(self, address: tuple[str, int], seed: int, profile: profiles.Profile) -> None:
        self.rng = random.Random(seed)
        self.releases = profile.versions
        after_max = profile.settings.get("log.message.timestamp.after.max.ms", 3_600_000)
        quirks = Quirks(**dict.fromkeys(profile.quirks, True))
        self.world = LogWorld(quirks=quirks, log_retention_bytes=-1, log_message_timestamp_after_max_ms=after_max)
        self.broker = Broker(address)
        self.stem = f"twin-{os.getpid()}-{seed}"
        self.ids: dict[bytes, str] = {bytes(16): "none"}
        self.real_ids: dict[str, bytes] = {}
        self.names: list[str] = []
        self.deleted: set[tuple[str, int]] = set()
        self.sessions: tuple[int, int, int] | None = None  # the broker's, ours, the next epoch
        self.asked = 0

    def run(self, steps: int) -> None:
        """Make topics, do random things, clean up."""
        for name, configs in (("plain", {}), ("compact", {"cleanup.policy": "compact"}), ("small", {"max.message.bytes": "300"})):
            self.make(f"{self.stem}-{name}", 2, configs)
        for _ in range(steps):
            getattr(self, f"do_{self.rng.choice(LIKELY)}")()
        self.both(20, 3, DeleteTopicsRequest(topic_names=self.names, timeout_ms=5000), sort="responses")

    def make(self, name: str, partitions: int, configs: dict[str, str]) -> None:
        """A topic on both sides."""
        wanted = [CreatableTopicConfig(name=key, value=value) for key, value in configs.items()]
        topic = CreatableTopic(name=name, num_partitions=partitions, replication_factor=1, configs=wanted)
        self.both(19, 4, CreateTopicsRequest(topics=[topic], timeout_ms=5000))
        self.names.append(name)
        self.real_ids[name] = topic_id = self.until_known(name)
        time.sleep(PROPAGATION_SECONDS)  # known, but perhaps not led yet
        self.ids[topic_id] = self.ids[self.world.topic_id(name)] = name

    def until_known(self, name: str) -> bytes:
        """Wait until the broker serves a topic; its id there."""
        asked = MetadataRequest(topics=[MetadataRequestTopic(name=name)], allow_auto_topic_creation=False)
        end = time.monotonic() + 20
        while time.monotonic() < end:
            (row,) = self.broker.ask(3, 10, asked).topics
            if row.error_code == 0 and len(row.partitions) == self.world.topics.partitions(name):
                topic_id: bytes = row.topic_id
                return topic_id
            time.sleep(0.02)
        raise TimeoutError(f"the broker does not come to serve {name}")

    # -- asking both

    def version(self, key: int) -> int:
        low, high = self.releases[key]
        return self.rng.randint(max(low, LOWEST.get(key, 0)), high)

    def both(self, key: int, version: int, message: Message, ours: Message | None = None, sort: str = "") -> tuple[Any, Any]:
        """Ask both sides the same (`ours`: where ids differ) and compare."""
        real, mock = self.broker.ask(key, version, message), self.world.ask(key, version, ours or message)
        seen, said = self.plain(shown(real)), self.plain(shown(mock))
        if sort:
            seen[sort], said[sort] = (sorted(each[sort], key=repr) for each in (seen, said))
        assert seen == said, f"{APIS[key].name} v{version} {shown(message)}\n Kafka: {seen}\n   we: {said}"
        self.asked += 1
        return real, mock

    def plain(self, value: Any) -> Any:
        """Without what is each side's own."""
        if isinstance(value, dict):
            own = ("session_id", "brokers", "cluster_id", "controller_id")
            return {name: self.plain(each) for name, each in value.items() if name not in own}
        if isinstance(value, list):
            return [self.plain(each) for each in value]
        return self.ids.get(value, value) if isinstance(value, bytes) else value

    # -- what is done

    def place(self) -> tuple[str, int]:
        """A partition, now and then one that is not there."""
        name = self.rng.choice([*self.names, *self.names, *self.names, "nope"])
        return name, self.rng.choice((0, 0, 0, 1, 1, 1, 7))

    def end(self, place: tuple[str, int]) -> int:
        found = self.world.topics.find(*place)
        return found.end if found is not None else 3

    def do_produce(self) -> None:
        rng, (name, partition) = self.rng, self.place()
        values = [bytes(rng.choice((0, 5, 90))) for _ in range(rng.randint(1, 4))]
        keys = [rng.choice((b"k", b"k", b"k", None)) for _ in values]
        how: dict[str, Any] = {"compression": rng.choice(("none", "gzip"))}
        if rng.random() < 0.6:
            how |= {
                "producer_id": rng.randint(1, 2),
                "producer_epoch": rng.choice((0, 0, 0, 1, 2)),
                "base_sequence": rng.choice((0, 1, 2, 3, 4, 5)),
            }
        data = bytearray(batch(*values, keys=keys, timestamp=1_700_000_000_000 + rng.randint(0, 50), **how))
        if rng.random() < 0.15:
            data[rng.randrange(12, len(data))] ^= 1 << rng.randrange(8)
        version, acks = min(self.version(0), 12), rng.choice((-1, -1, 1, 2))
        self.both(0, version, produce_request(bytes(data), topic=name, partition=partition, acks=acks))

    def do_fetch(self) -> None:
        rng, version = self.rng, self.version(1)
        known = [name for name in self.names if name in self.ids.values()]
        places = [(rng.choice(known), rng.randint(0, 1)) for _ in range(rng.randint(1, 3))]
        wanted = [
            (*place, rng.choice((0, rng.randint(0, 3 + self.end(place)), self.end(place)))) for place in dict.fromkeys(sorted(places))
        ]
        partition: dict[str, Any] = {"partition_max_bytes": rng.choice((0, 100, 1000, 1 << 20))}
        if version >= 9:
            partition["current_leader_epoch"] = rng.choice((-1, -1, 0, 0, 1))
        if version >= 12:
            partition["last_fetched_epoch"] = rng.choice((-1, -1, 0, 1))
        how: dict[str, Any] = {"max_bytes": rng.choice((0, 300, 1 << 20)), "isolation_level": rng.randint(0, 1), "partition": partition}
        if version < 7 or rng.random() < 0.4:
            self.fetch(version, wanted, how)
        else:
            self.in_session(version, wanted, how)

    def fetch(self, version: int, wanted: list[tuple[str, int, int]], how: dict[str, Any], real: int = 0, ours: int = 0) -> tuple[Any, Any]:
        request = fetch_request(*wanted, version=version, world=self.world, session_id=ours, **how)
        theirs = fetch_request(*wanted, version=version, world=self.world, session_id=real, **how)
        for topic in theirs.topics if version >= 13 else ():
            topic.topic_id = self.real_ids[self.ids[topic.topic_id]]
        return self.both(1, version, theirs, request)

    def in_session(self, version: int, wanted: list[tuple[str, int, int]], how: dict[str, Any]) -> None:
        """Full fetches make a session; the next ones use it, now and then with a wrong epoch."""
        if self.sessions is None:
            real, mock = self.fetch(version, wanted, how | {"session_epoch": 0})
            assert (real.session_id > 0) == (mock.session_id > 0)
            self.sessions = (real.session_id, mock.session_id, 1)
            return
        theirs, ours, epoch = self.sessions
        sent = self.rng.choice((epoch, epoch, epoch, epoch, epoch, epoch + 1, -1, 0))
        real, mock = self.fetch(version, self.rng.choice(([], wanted)), how | {"session_epoch": sent}, theirs, ours)
        if sent in (-1, 0):
            self.sessions = (real.session_id, mock.session_id, 1) if mock.session_id else None
        elif mock.error_code == 0:
            self.sessions = (theirs, ours, epoch + 1)

    def do_list_offsets(self) -> None:
        place, rng = self.place(), self.rng
        stamps = [-1, -2, -3, -4, -5, -6, -7, 0, 1_700_000_000_000 + rng.randint(0, 60)]
        if place in self.deleted:
            stamps.remove(-3)  # Kafka goes on naming a record that was deleted while its file is there
        wanted = ListOffsetsPartition(partition_index=place[1], timestamp=rng.choice(stamps), current_leader_epoch=rng.choice((-1, 0, 1)))
        request = ListOffsetsRequest(replica_id=-1, topics=[ListOffsetsTopic(name=place[0], partitions=[wanted])])
        self.both(2, self.version(2), request)

    def do_delete_records(self) -> None:
        place = self.place()
        self.deleted.add(place)
        wanted = DeleteRecordsPartition(
            partition_index=place[1], offset=self.rng.choice((-2, -1, 0, self.rng.randint(0, 2 + self.end(place))))
        )
        request = DeleteRecordsRequest(timeout_ms=5000, topics=[DeleteRecordsTopic(name=place[0], partitions=[wanted])])
        self.both(21, self.version(21), request)

    def do_epoch(self) -> None:
        name, partition = self.place()
        wanted = OffsetForLeaderPartition(
            partition=partition, leader_epoch=self.rng.randint(-2, 2), current_leader_epoch=self.rng.choice((-1, 0, 1))
        )
        self.both(23, self.version(23), OffsetForLeaderEpochRequest(topics=[OffsetForLeaderTopic(topic=name, partitions=[wanted])]))

    def do_metadata(self) -> None:
        version = max(4, self.version(3))
        if version >= 12 and self.rng.random() < 0.3:
            topics = [MetadataRequestTopic(name=None, topic_id=b"\7" * 16)]
        else:
            topics = [MetadataRequestTopic(name=self.rng.choice([*self.names, "nope", "a b", ""])) for _ in range(3)]
        self.both(
            3,
            version,
            MetadataRequest(topics=topics, allow_auto_topic_creation=False, include_topic_authorized_operations=version >= 8),
            sort="topics",
        )

    def do_configs(self) -> None:
        name = self.rng.choice([*self.names, "nope", "a b"])
        resource = DescribeConfigsResource(resource_type=2, resource_name=name, configuration_keys=list(KEYS))
        version = self.version(32)
        message = DescribeConfigsRequest(resources=[resource], include_synonyms=version >= 1 and self.rng.random() < 0.5)
        real, mock = self.broker.ask(32, version, message), self.world.ask(32, version, message)
        for answer in (real, mock):
            answer.results[0].configs.sort(key=lambda each: each.name)
        assert shown(real) == shown(mock), shown(message)
        self.asked += 1

    def do_alter(self) -> None:
        rng = self.rng
        choices = ("5", "x", None, "compact", "delete", "1000")
        changes = [
            AlterableConfig(name=key, config_operation=rng.randint(0, 3), value=rng.choice(choices))
            for key in rng.sample([*KEYS, "nope"], 1)  # of several errors Kafka names the first in hash order
        ]
        for change in changes:
            if change.name == "max.message.bytes" and change.value == "5":
                change.value = "250"
        resource = AlterConfigsResource(resource_type=2, resource_name=rng.choice([*self.names, "nope"]), configs=changes)
        self.both(44, self.version(44), IncrementalAlterConfigsRequest(resources=[resource], validate_only=rng.random() < 0.3))
        time.sleep(PROPAGATION_SECONDS)

    def do_create(self) -> None:
        rng = self.rng
        name = rng.choice((self.names[0], "a b", f"{self.stem}-v"))
        topic = CreatableTopic(name=name, num_partitions=rng.choice((-1, 0, 2)), replication_factor=rng.choice((-1, 0, 1)))
        self.both(19, 4, CreateTopicsRequest(topics=[topic], validate_only=True, timeout_ms=5000))

    def do_grow(self) -> None:
        name = self.rng.choice([*self.names, "nope"])
        count = (self.world.topics.partitions(name) or 2) + self.rng.choice((-1, 0, 1))
        topic = CreatePartitionsTopic(name=name, count=count, assignments=None)
        self.both(37, self.version(37), CreatePartitionsRequest(topics=[topic], timeout_ms=5000, validate_only=self.rng.random() < 0.7))
        if name in self.names:
            self.until_known(name)
            time.sleep(PROPAGATION_SECONDS)


def main() -> None:
    """`log_twin.py --profile P --seeds FIRST COUNT [--steps N]`, the broker in KAFKA_BOOTSTRAP."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--profile", default="kafka-4.3")
    parser.add_argument("--seeds", type=int, nargs=2, default=(0, 4))
    parser.add_argument("--steps", type=int, default=250)
    how = parser.parse_args()
    host, _, port = os.environ["KAFKA_BOOTSTRAP"].split(",")[0].rpartition(":")
    for seed in range(how.seeds[0], sum(how.seeds)):
        twin = LogTwin((host, int(port)), seed, profiles.load(how.profile))
        try:
            twin.run(how.steps)
        except BaseException:
            print(f"seed {seed}, after {twin.asked} requests:")
            raise
        print(f"seed {seed}: equal, {twin.asked} requests")


if __name__ == "__main__":
    main()
