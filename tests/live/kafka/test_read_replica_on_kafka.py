"""Fetch from follower (KIP-392) works alike on three real Kafka nodes in three racks and on groupmock. It needs java and the shared
folder."""

from __future__ import annotations

from contextlib import ExitStack
from typing import Any, NamedTuple

import pytest
from log_world import LogWorld, batch
from waiting import until

from groupmock.config.profiles import load
from groupmock.core.log.read_replica import RACK_AWARE
from groupmock.core.settings import Quirks
from groupmock.rig.wire import Client
from groupmock_codec.messages.k00_produce import PartitionProduceData, ProduceRequest, TopicProduceData
from groupmock_codec.messages.k01_fetch import FetchPartition, FetchRequest, FetchTopic
from groupmock_codec.messages.k03_metadata import MetadataRequest, MetadataRequestTopic
from groupmock_codec.messages.k19_create_topics import CreatableTopic, CreateTopicsRequest
from tools.fidelity.generated.settings_classes import BROKERS
from tools.oracle import ORACLE, kafka

NODES = 3
RECORDS = 3


class Asked(NamedTuple):
    """One Fetch of the comparison and its target node. `at` is the leader or a follower; `rack` is 0 for none, 1 for the leader's, 2 for
    the follower's, 3 for nobody's."""

    at: str
    offset: int
    rack: int = 0
    version: int = 11
    epoch: int = -1


CASES = [
    Asked(at, offset, rack, version, epoch)
    for at in ("leader", "follower")
    for offset in (0, RECORDS, RECORDS + 1)
    for rack in range(4)
    for version in (10, 11, 12)
    for epoch in (-1, 0, 7)
]


def request(asked: Asked, racks: list[str]) -> FetchRequest:
    """Return a Fetch request without a wait."""
    partition = FetchPartition(partition=0, fetch_offset=asked.offset, partition_max_bytes=1 << 20, current_leader_epoch=asked.epoch)
    rack = racks[asked.rack] if asked.version >= 11 else ""
    topics = [FetchTopic(topic="t", partitions=[partition])]
    return FetchRequest(replica_id=-1, max_wait_ms=0, max_bytes=1 << 20, session_epoch=-1, rack_id=rack, topics=topics)


def shown(answer: Any) -> dict[str, Any]:
    """Return a partition of the response, with the roles of nodes in place of their ids."""
    row = answer.responses[0].partitions[0]
    return {
        "error": row.error_code, "high_watermark": row.high_watermark, "stable": row.last_stable_offset, "start": row.log_start_offset,
        "elsewhere": row.preferred_read_replica >= 0, "records": len(row.records or b""), "aborted": row.aborted_transactions,
    }  # fmt: skip


RACKED = """
import importlib.util, pathlib, sys

spec = importlib.util.spec_from_file_location("oracle", sys.argv.pop(1))
oracle = importlib.util.module_from_spec(spec)
spec.loader.exec_module(oracle)
launch = oracle.launch


def launch_in_a_rack(command, out):
    config = pathlib.Path(command[-1])
    if config.name.startswith("server-"):
        with config.open("a") as file:
            file.write(f"broker.rack=r{config.stem.removeprefix('server-')}\\n")
    return launch(command, out)


oracle.launch = launch_in_a_rack
sys.exit(oracle.main())
"""
"""A program that starts node N of Kafka with the rack rN."""


def of_kafka(version: str) -> dict[Asked, Any]:
    """Return the answers of real Kafka of that version."""
    script = ("-c", RACKED, str(ORACLE))
    with ExitStack() as ends:
        bootstrap = ends.enter_context(kafka(version, {"replica.selector.class": RACK_AWARE}, NODES, script))
        ports = [int(address.rpartition(":")[2]) for address in bootstrap.split(",")]
        clients = {node: ends.enter_context(Client("127.0.0.1", port)) for node, port in enumerate(ports, 1)}
        topic = CreatableTopic(name="t", num_partitions=1, replication_factor=NODES)
        made = clients[1].ask(19, 5, CreateTopicsRequest(topics=[topic], timeout_ms=10_000))
        assert made.topics[0].error_code == 0, made
        leader = _leader(clients[1])
        data = TopicProduceData(name="t", partition_data=[PartitionProduceData(index=0, records=batch(b"1", b"2", b"3"))])
        _written(clients[leader], ProduceRequest(acks=-1, timeout_ms=10_000, topic_data=[data]))
        follower = next(node for node in clients if node != leader)
        racks, nodes = ["", f"r{leader}", f"r{follower}", "nowhere"], {"leader": leader, "follower": follower}
        for node in nodes.values():
            _caught_up(clients[node], racks)
        return {asked: shown(clients[nodes[asked.at]].ask(1, asked.version, request(asked, racks))) for asked in CASES}


def _written(client: Client, asked_for: ProduceRequest) -> None:
    def code() -> int:
        return int(client.ask(0, 9, asked_for).responses[0].partition_responses[0].error_code)

    until("the records to be written", lambda: code() == 0, code)


def _caught_up(client: Client, racks: list[str]) -> None:
    def seen() -> dict[str, Any]:
        return shown(client.ask(1, 11, request(Asked("", 0), racks)))

    until("it has the records", lambda: seen()["high_watermark"] == RECORDS, seen)


def _leader(client: Client) -> int:
    found: list[int] = []

    def ask() -> bool:
        row = client.ask(3, 9, MetadataRequest(topics=[MetadataRequestTopic(name="t")])).topics[0]
        found.extend(each.leader_id for each in row.partitions)
        return bool(row.partitions) and found[-1] >= 0

    until("a leader", ask, lambda: found)
    return found[-1]


def of_ours(profile: str) -> dict[Asked, Any]:
    """Return the answers of groupmock with that profile."""
    quirks = Quirks(**dict.fromkeys(load(profile).quirks, True))
    world = LogWorld(nodes=NODES, quirks=quirks, replica_selector_class=RACK_AWARE)
    identity = world.environment.identity
    world.environment.known_as(identity._replace(nodes=tuple(node._replace(rack=f"r{node.node_id}") for node in identity.nodes)))
    world.environment.up = world.environment.identity.nodes
    world.topics.add(world.turn(), "t", [[1, 2, 3]], {})
    world.append(batch(b"1", b"2", b"3"))
    racks, nodes = ["", "r1", "r2", "nowhere"], {"leader": 1, "follower": 2}
    return {asked: shown(world.ask(1, asked.version, request(asked, racks), node=nodes[asked.at])) for asked in CASES}


@pytest.mark.parametrize("release", BROKERS)
def test_a_consumer_is_sent_where_kafka_sends_it(release: str) -> None:
    assert of_ours(f"kafka-{release}") == of_kafka(BROKERS[release])
