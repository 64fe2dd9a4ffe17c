"""Fetch from follower (KIP-392), asked of three real nodes in three racks and of us: what `tests/live/kafka` runs. Needs the oracle."""

from __future__ import annotations

import argparse
import importlib.util
import shutil
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, NamedTuple

from log_world import LogWorld, batch

from groupmock.config.profiles import load
from groupmock.core.log.read_replica import RACK_AWARE
from groupmock.core.settings import Quirks
from groupmock.rig.wire import Client
from groupmock_codec.messages.k00_produce import PartitionProduceData, ProduceRequest, TopicProduceData
from groupmock_codec.messages.k01_fetch import FetchPartition, FetchRequest, FetchTopic
from groupmock_codec.messages.k03_metadata import MetadataRequest, MetadataRequestTopic
from groupmock_codec.messages.k19_create_topics import CreatableTopic, CreateTopicsRequest

NODES = 3
RECORDS = 3
PATIENCE_S = 30
RELEASES = {"4.3.0": "kafka-4.3", "3.9.1": "kafka-3.9"}


class Asked(NamedTuple):
    """One Fetch. `at`: of the leader or a follower; `rack`: 0 none, 1 the leader's, 2 the follower's, 3 nobody's."""

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
    """Without a wait."""
    partition = FetchPartition(partition=0, fetch_offset=asked.offset, partition_max_bytes=1 << 20, current_leader_epoch=asked.epoch)
    rack = racks[asked.rack] if asked.version >= 11 else ""
    topics = [FetchTopic(topic="t", partitions=[partition])]
    return FetchRequest(replica_id=-1, max_wait_ms=0, max_bytes=1 << 20, session_epoch=-1, rack_id=rack, topics=topics)


def shown(answer: Any) -> dict[str, Any]:
    """A row; nodes by what they are."""
    row = answer.responses[0].partitions[0]
    return {
        "error": row.error_code, "high_watermark": row.high_watermark, "stable": row.last_stable_offset, "start": row.log_start_offset,
        "elsewhere": row.preferred_read_replica >= 0, "records": len(row.records or b""), "aborted": row.aborted_transactions,
    }  # fmt: skip


def oracle(folder: Path) -> Any:
    """The module that starts Kafka, made to give node N the rack rN."""
    spec = importlib.util.spec_from_file_location("kafka_oracle", folder / "oracle" / "kafka.py")
    assert spec is not None and spec.loader is not None
    module: Any = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    real = module.launch

    def launch(command: list[str], out: Path) -> int:
        config = Path(command[-1])
        if config.name.startswith("server-"):
            with config.open("a") as file:
                file.write(f"broker.rack=r{config.stem.removeprefix('server-')}\n")
        return int(real(command, out))

    module.launch = launch
    return module


def of_kafka(folder: Path, version: str) -> dict[Asked, Any]:
    """What the release answers."""
    module, where = oracle(folder), Path(tempfile.mkdtemp(prefix="read-replica-"))
    state = module.start(version, NODES, {"replica.selector.class": RACK_AWARE}, where)
    try:
        clients = {int(node): Client("127.0.0.1", int(address.rpartition(":")[2])) for node, address in state["nodes"].items()}
        topic = CreatableTopic(name="t", num_partitions=1, replication_factor=NODES)
        made = clients[1].ask(19, 5, CreateTopicsRequest(topics=[topic], timeout_ms=10_000))
        assert made.topics[0].error_code == 0, made
        leader = _leader(clients[1])
        data = TopicProduceData(name="t", partition_data=[PartitionProduceData(index=0, records=batch(b"1", b"2", b"3"))])
        asked_for = ProduceRequest(acks=-1, timeout_ms=10_000, topic_data=[data])
        _until(lambda: clients[leader].ask(0, 9, asked_for).responses[0].partition_responses[0].error_code == 0)
        follower = next(node for node in clients if node != leader)
        racks, nodes = ["", f"r{leader}", f"r{follower}", "nowhere"], {"leader": leader, "follower": follower}
        for node in nodes.values():
            _until(lambda node=node: shown(clients[node].ask(1, 11, request(Asked("", 0), racks)))["high_watermark"] == RECORDS)
        return {asked: shown(clients[nodes[asked.at]].ask(1, asked.version, request(asked, racks))) for asked in CASES}
    finally:
        module.stop(where)
        shutil.rmtree(where, ignore_errors=True)


def _leader(client: Client) -> int:
    found: list[int] = []

    def ask() -> bool:
        row = client.ask(3, 9, MetadataRequest(topics=[MetadataRequestTopic(name="t")])).topics[0]
        found.extend(each.leader_id for each in row.partitions)
        return bool(row.partitions) and found[-1] >= 0

    _until(ask)
    return found[-1]


def _until(done: Any) -> None:
    end = time.monotonic() + PATIENCE_S
    while not done():
        assert time.monotonic() < end, "Kafka did not get there"
        time.sleep(0.1)


def of_ours(profile: str) -> dict[Asked, Any]:
    """What we answer as that release."""
    quirks = Quirks(**dict.fromkeys(load(profile).quirks, True))
    world = LogWorld(nodes=NODES, quirks=quirks, replica_selector_class=RACK_AWARE)
    identity = world.environment.identity
    world.environment.known_as(identity._replace(nodes=tuple(node._replace(rack=f"r{node.node_id}") for node in identity.nodes)))
    world.environment.up = world.environment.identity.nodes
    world.topics.add(world.turn(), "t", [[1, 2, 3]], {})
    world.append(batch(b"1", b"2", b"3"))
    racks, nodes = ["", "r1", "r2", "nowhere"], {"leader": 1, "follower": 2}
    return {asked: shown(world.ask(1, asked.version, request(asked, racks), node=nodes[asked.at])) for asked in CASES}


def main() -> int:
    """Exit 0 and `equal` when nothing differs."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--version", choices=RELEASES, default="4.3.0")
    parser.add_argument("--shared", type=Path, required=True)
    told = parser.parse_args()
    theirs, mine = of_kafka(told.shared, told.version), of_ours(RELEASES[told.version])
    differences = [f"{asked}\n  kafka {theirs[asked]}\n  ours  {mine[asked]}" for asked in CASES if theirs[asked] != mine[asked]]
    print("\n".join(differences) or "equal")
    return 1 if differences else 0


if __name__ == "__main__":
    sys.exit(main())
