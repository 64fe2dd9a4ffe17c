"""Loads a proxy between a client and a cluster: fetched bytes, and rounds of JoinGroup and SyncGroup.

    python -m benchmarks.workers.proxy fetch HOST PORT SECONDS     # one consumer that reads the same 8 MB again and again, 1 MB a response
    python -m benchmarks.workers.proxy rounds HOST PORT SECONDS    # one group of five members that all join and sync, again and again

It prints one JSON line: `rate`, in MB/s or rounds/s. Requests are built once, with the codec; responses are only counted, except those that
the next request depends on.
"""

from __future__ import annotations

import json
import sys
import time
import uuid
from typing import Any, Final

from groupmock.rig.wire import Client, read_response, request
from groupmock_codec.error_codes import COORDINATOR_LOAD_IN_PROGRESS, COORDINATOR_NOT_AVAILABLE, NOT_COORDINATOR
from groupmock_codec.messages.k00_produce import PartitionProduceData, ProduceRequest, TopicProduceData
from groupmock_codec.messages.k01_fetch import FetchPartition, FetchRequest, FetchTopic
from groupmock_codec.messages.k03_metadata import MetadataRequest, MetadataRequestTopic
from groupmock_codec.messages.k10_find_coordinator import FindCoordinatorRequest
from groupmock_codec.messages.k11_join_group import JoinGroupRequest, JoinGroupRequestProtocol
from groupmock_codec.messages.k14_sync_group import SyncGroupRequest
from groupmock_codec.messages.k19_create_topics import CreatableTopic, CreateTopicsRequest
from groupmock_codec.records import NewRecord, encode_batch

MB: Final = 1_000_000
PIECE: Final = 64 * 1024
TOPIC_BYTES: Final = 8 * 1024 * 1024
MEMBERS: Final = 5
PATIENCE_S: Final = 20.0
COORDINATOR_ERRORS: Final = (COORDINATOR_LOAD_IN_PROGRESS, COORDINATOR_NOT_AVAILABLE, NOT_COORDINATOR)
VERSION: Final = 17
"""A version of Fetch whose responses may name nodes (KIP-951), so that a recording proxy has to read them whole."""


def _topic(client: Client, name: str) -> bytes:
    """Create a topic with TOPIC_BYTES bytes in one partition and return its id."""
    client.ask(19, 5, CreateTopicsRequest(topics=[CreatableTopic(name=name, num_partitions=1, replication_factor=1)], timeout_ms=10_000))
    batch = encode_batch([NewRecord(key=None, value=b"v" * PIECE, headers=[], timestamp=1)])
    topic_data = TopicProduceData(name=name, partition_data=[PartitionProduceData(index=0, records=batch)])
    end, sent = time.monotonic() + PATIENCE_S, 0
    while sent < TOPIC_BYTES // PIECE:
        answer = client.ask(0, 9, ProduceRequest(acks=1, timeout_ms=10_000, topic_data=[topic_data]))
        if answer.responses[0].partition_responses[0].error_code == 0:
            sent += 1
        elif time.monotonic() > end:
            sys.exit(f"no leader of {name} within {PATIENCE_S:.0f} s")
    metadata = client.ask(3, 12, MetadataRequest(topics=[MetadataRequestTopic(name=name)]))
    found: bytes = metadata.topics[0].topic_id
    return found


def fetch(host: str, port: int, seconds: float) -> float:
    """Return the fetched MB per second of a consumer that sends one request after the other."""
    with Client(host, port, "fetcher", seconds=60) as client:
        topic = FetchTopic(topic_id=_topic(client, f"bench-{uuid.uuid4().hex[:8]}"))
        topic.partitions = [FetchPartition(partition=0, fetch_offset=0, partition_max_bytes=1_048_576)]
        asked = request(1, VERSION, FetchRequest(max_wait_ms=500, min_bytes=1, max_bytes=1_048_576, topics=[topic]), 7, "fetcher")
        _until_there(client, asked)
        for _ in range(20):
            _read(client, asked)
        begin, got = time.perf_counter(), 0
        while (spent := time.perf_counter() - begin) < seconds:
            got += _read(client, asked)
    return got / MB / spent


def _until_there(client: Client, asked: bytes) -> None:
    """Fetch until records come, because the leader of a new topic knows its id later than its name."""
    end = time.monotonic() + PATIENCE_S
    client.write(asked)
    while len(client.receive()) < PIECE and time.monotonic() < end:
        time.sleep(0.1)
        client.write(asked)


def _read(client: Client, asked: bytes) -> int:
    client.write(asked)
    size = len(client.receive())
    if size < PIECE:
        sys.exit(f"a Fetch was answered with {size} bytes")
    return size


class Member:
    """One group member on a connection of its own."""

    def __init__(self, host: str, port: int, group: str) -> None:
        self.client = Client(host, port, "rounds", seconds=60)
        self.group = group
        self.member_id, self.generation, self.leads = "", -1, False

    def join(self) -> JoinGroupRequest:
        """Return a JoinGroup whose metadata is always different, so that it causes a rebalance."""
        protocols = [JoinGroupRequestProtocol(name="range", metadata=self.generation.to_bytes(8, "big", signed=True) * 8)]
        return JoinGroupRequest(
            group_id=self.group, member_id=self.member_id, protocol_type="bench", protocols=protocols, session_timeout_ms=30_000,
            rebalance_timeout_ms=30_000,
        )  # fmt: skip

    def sync(self) -> SyncGroupRequest:
        """Return a SyncGroup without assignments, because nobody reads them."""
        return SyncGroupRequest(group_id=self.group, generation_id=self.generation, member_id=self.member_id)

    def answer(self, key: int, version: int) -> Any:
        """Return the next response, which must carry no error."""
        answer = read_response(key, version, self.client.receive())[1]
        if getattr(answer, "error_code", 0):
            sys.exit(f"API {key} was answered with error {getattr(answer, 'error_code', 0)}")
        return answer


def rounds(host: str, port: int, seconds: float) -> float:
    """Return the rebalances per second: in each all members join, all are answered, all sync, all are answered."""
    members = _team(host, port)
    _round(members)
    begin, done = time.perf_counter(), 0
    while (spent := time.perf_counter() - begin) < seconds:
        _round(members)
        done += 1
    for member in members:
        member.client.close()
    return done / spent


def _team(host: str, port: int) -> list[Member]:
    group, end = f"rounds-{uuid.uuid4().hex[:8]}", time.monotonic() + PATIENCE_S
    with Client(host, port, "rounds", seconds=60) as client:
        while client.ask(10, 4, FindCoordinatorRequest(coordinator_keys=[group])).coordinators[0].error_code and time.monotonic() < end:
            time.sleep(0.1)
    members = [Member(host, port, group) for _ in range(MEMBERS)]
    for member in members:
        while (answer := member.client.ask(11, 5, member.join())).error_code in COORDINATOR_ERRORS and time.monotonic() < end:
            time.sleep(0.1)
        member.member_id = answer.member_id  # The answer MEMBER_ID_REQUIRED (79) carries the member id for the next JoinGroup.
    return members


def _round(members: list[Member]) -> None:
    for member in members:
        member.client.send(11, 5, member.join())
    for member in members:
        answer = member.answer(11, 5)
        member.generation, member.leads = answer.generation_id, answer.leader == answer.member_id
    for member in members:
        member.client.send(14, 3, member.sync())
    for member in members:
        member.answer(14, 3)


if __name__ == "__main__":
    load = {"fetch": fetch, "rounds": rounds}[sys.argv[1]]
    print(json.dumps({"rate": load(sys.argv[2], int(sys.argv[3]), float(sys.argv[4]))}), flush=True)
