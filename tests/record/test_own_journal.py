"""The recorded journal of a dialogue through the proxy equals the cluster's own journal, except for numbers, ports and times."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from recordings import JsonRow, of_kind, recording
from waiting import until

from groupmock import Broker
from groupmock.record.dialogue import NOT_REPLAYABLE, PROFILE
from groupmock.rig.classic_member import ClassicMember
from groupmock.rig.wire import Client, read_response
from groupmock.rounds import rebalances
from groupmock_codec.api_keys import HEARTBEAT, JOIN_GROUP, LEAVE_GROUP, OFFSET_COMMIT, SYNC_GROUP
from groupmock_codec.embedded.consumer import Assignment, TopicPartitions, encode_assignment
from groupmock_codec.error_codes import MEMBER_ID_REQUIRED, REBALANCE_IN_PROGRESS
from groupmock_codec.messages.k00_produce import PartitionProduceData, ProduceRequest, TopicProduceData
from groupmock_codec.messages.k03_metadata import MetadataRequest, MetadataRequestTopic
from groupmock_codec.messages.k10_find_coordinator import FindCoordinatorRequest
from groupmock_codec.messages.k14_sync_group import SyncGroupRequest
from groupmock_codec.messages.k18_api_versions import ApiVersionsRequest
from groupmock_codec.records import NewRecord, encode_batch

GROUP, TOPIC = "workers", "orders"
NUMBERS = ("seq", "t", "connection", "ticket", "received", "handled", "waited", "written", "client_port", "unread_bytes")
"""Fields that always differ: numbers of rows, connections and requests, and times."""


class Member(ClassicMember):
    """A classic member that the test drives by hand, with a connection to the coordinator."""

    def __init__(self, address: tuple[str, int], name: str) -> None:
        super().__init__(GROUP, topics=[TOPIC], session_ms=60_000, rebalance_ms=60_000)
        self.wire = Client(*address, name, seconds=60)
        self.port = address[1]

    def __enter__(self) -> Member:
        return self

    def __exit__(self, *failure: object) -> None:
        self.wire.close()

    def ask(self, key: int, version: int, message: Any) -> Any:
        return self.wire.ask(key, version, message)

    def join(self) -> int:
        return self.joined(self.ask(JOIN_GROUP, 9, self.join_request()))

    def sync(self, *assignments: tuple[str, list[int]]) -> SyncGroupRequest:
        return self.sync_request({member_id: encode_assignment(assigned(partitions)) for member_id, partitions in assignments})

    def beat(self) -> int:
        return int(self.ask(HEARTBEAT, 4, self.heartbeat_request()).error_code)

    def receive(self, key: int, version: int) -> Any:
        return read_response(key, version, self.wire.receive())[1]


def address_of(bootstrap: str) -> tuple[str, int]:
    host, _, port = bootstrap.split(",")[0].rpartition(":")
    return host, int(port)


def assigned(partitions: list[int]) -> Assignment:
    return Assignment(assigned_partitions=[TopicPartitions(topic=TOPIC, partitions=partitions)])


def coordinator(bootstrap: str) -> tuple[tuple[str, int], list[int]]:
    """Ask for the coordinator as clients do. Return its address, and first the partitions that this node leads, then the others."""
    with Client(*address_of(bootstrap), "asker", seconds=60) as asker:
        asker.ask(18, 3, ApiVersionsRequest(client_software_name="test", client_software_version="1"))
        metadata = asker.ask(3, 12, MetadataRequest(topics=[MetadataRequestTopic(name=TOPIC)]))
        assert [f"{each.host}:{each.port}" for each in metadata.brokers] == bootstrap.split(",")
        found = asker.ask(10, 4, FindCoordinatorRequest(coordinator_keys=[GROUP])).coordinators[0]
        old = asker.ask(10, 2, FindCoordinatorRequest(key=GROUP))
        assert (old.host, old.port, old.node_id) == (found.host, found.port, found.node_id)
    assert f"{found.host}:{found.port}" in bootstrap.split(",")
    led = sorted(metadata.topics[0].partitions, key=lambda each: each.leader_id != found.node_id)
    return (found.host, found.port), [each.partition_index for each in led]


def exchange(broker: Broker, bootstrap: str) -> None:
    """Two members join, share the partitions, commit and produce. One sends LeaveGroup, and the other takes over and closes its
    connection."""
    address, (mine, elsewhere) = coordinator(bootstrap)
    with Member(address, "first") as first, Member(address, "second") as second:
        play(broker, bootstrap, first, second, mine, elsewhere)


def play(broker: Broker, bootstrap: str, first: Member, second: Member, mine: int, elsewhere: int) -> None:
    assert [first.join(), first.join()] == [MEMBER_ID_REQUIRED, 0]
    assert first.leads and first.ask(SYNC_GROUP, 5, first.sync((first.member_id, [0, 1]))).error_code == 0
    assert [first.beat() for _ in range(3)] == [0, 0, 0]
    assert second.join() == MEMBER_ID_REQUIRED
    second.wire.send(JOIN_GROUP, 9, second.join_request())
    broker.wait_for(GROUP, "PreparingRebalance", members=2, timeout=60)
    assert first.beat() == REBALANCE_IN_PROGRESS
    assert [first.join(), second.joined(second.receive(JOIN_GROUP, 9))] == [0, 0]
    second.wire.send(SYNC_GROUP, 5, second.sync())
    shared = first.sync((first.member_id, [0]), (second.member_id, [1]))
    assert first.ask(SYNC_GROUP, 5, shared).error_code == second.receive(SYNC_GROUP, 5).error_code == 0
    batch = encode_batch([NewRecord(key=None, value=b"v" * 3000, headers=[], timestamp=1)])

    def produce(partition: int, acks: int) -> ProduceRequest:
        told = TopicProduceData(name=TOPIC, partition_data=[PartitionProduceData(index=partition, records=batch)])
        return ProduceRequest(acks=acks, timeout_ms=1000, topic_data=[told])

    assert first.ask(0, 9, produce(mine, 1)).responses[0].partition_responses[0].error_code == 0
    first.wire.send(0, 9, produce(mine, 0))
    refused = first.ask(0, 10, produce(elsewhere, 1))  # A Produce to the wrong node names the leader in its answer (KIP-951).
    assert [f"{each.host}:{each.port}" for each in refused.node_endpoints] == [
        each for each in bootstrap.split(",") if not each.endswith(str(first.port))
    ]
    assert first.ask(OFFSET_COMMIT, 8, first.commit_request({(TOPIC, 0): 1})).topics[0].partitions[0].error_code == 0
    assert second.ask(LEAVE_GROUP, 5, second.leave_request("enough")).error_code == 0
    assert first.beat() == REBALANCE_IN_PROGRESS
    assert first.join() == 0
    assert first.ask(SYNC_GROUP, 5, first.sync((first.member_id, [0, 1]))).error_code == 0
    assert first.ask(LEAVE_GROUP, 5, first.leave_request()).error_code == 0


@pytest.fixture(scope="module")
def journals(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[list[JsonRow], list[JsonRow], Path]]:
    """Yield the rows of the upstream cluster, the rows of the proxy, and the proxy's file."""
    folder = tmp_path_factory.mktemp("journals")
    own, recorded = folder / "own.jsonl", folder / "recorded.jsonl"
    with Broker(topics={TOPIC: 2}, nodes=2, seed=5, journal=str(own), settings={"group.initial.rebalance.delay.ms": 0}) as broker:
        with recording(broker.bootstrap.split(",")[0], recorded) as proxy:
            exchange(broker, proxy.bootstrap)
            until("every connection ended", lambda: len(of_kind(proxy.seen(), "close")) == 3, proxy.rows)
            rows = proxy.close()
    yield [json.loads(line) for line in own.read_text().splitlines()[1:]], rows, recorded


def of_clients(rows: list[JsonRow]) -> list[JsonRow]:
    """Return the rows without the requests that the proxy itself sent at its start."""
    mine = {row["connection"] for row in rows if row.get("client_id") == "groupmock-record"}
    return [row for row in rows if row.get("connection") not in mine]


def by_connection(rows: list[JsonRow]) -> list[list[JsonRow]]:
    """Return the rows of each connection in order, because the order between connections is not visible to a client."""
    found: dict[int, list[JsonRow]] = {}
    for row in of_kind(of_clients(rows), "open", "request", "reply", "close"):
        found.setdefault(row["connection"], []).append({name: value for name, value in row.items() if name not in NUMBERS})
    return list(found.values())


def without_addresses(value: Any) -> Any:
    """Remove hosts and ports, because the proxy has its own."""
    if isinstance(value, dict):
        return {name: without_addresses(each) for name, each in value.items() if name not in ("host", "port")}
    return [without_addresses(each) for each in value] if isinstance(value, list) else value


def test_every_request_and_answer_is_the_same(journals: tuple[list[JsonRow], list[JsonRow], Path]) -> None:
    own, recorded, _ = journals
    assert without_addresses(by_connection(recorded)) == without_addresses(by_connection(own))
    assert len(of_kind(recorded, "request")) == 25


def test_the_group_is_the_same_but_for_what_no_wire_shows(journals: tuple[list[JsonRow], list[JsonRow], Path]) -> None:
    own, recorded, _ = journals

    def told(rows: list[JsonRow], kind: str) -> list[JsonRow]:
        return [{name: value for name, value in row.items() if name not in ("seq", "t")} for row in of_kind(rows, kind)]

    moved, own_moved = told(recorded, "moved"), told(own, "moved")
    # The recorder cannot know that a group is new, only that the group's first JoinGroup of the recording has been seen.
    assert moved[0].pop("reason") == "as seen from the wire: the first JoinGroup of this recording, by client 'first'"
    assert (own_moved[0].pop("cause"), own_moved[0].pop("reason")) == ("group_created", "client 'first' sent the first JoinGroup")
    assert moved == own_moved
    assert told(recorded, "member") == told(own, "member")


def test_the_rebalances_are_the_same(journals: tuple[list[JsonRow], list[JsonRow], Path]) -> None:
    own, recorded, _ = journals

    def told(rows: list[JsonRow]) -> list[tuple[object, ...]]:
        return [
            (
                each.group, each.number, each.cause, each.reason, each.generation_before, each.generation_after, each.members_before,
                each.members_after, each.ended_in, list(each.joined), each.last_joined, each.leader, each.protocol_type, each.protocol,
                [(phase.state, phase.cause, phase.reason) for phase in each.phases], each.moves, each.shares(), dict(each.had),
            )
            for each in rebalances(rows)
        ]  # fmt: skip

    assert told(recorded) == told(own)
    assert len(told(recorded)) == 4


def test_the_header_says_that_it_is_a_recording(journals: tuple[list[JsonRow], list[JsonRow], Path]) -> None:
    header = json.loads(journals[2].read_text().splitlines()[0])
    assert (header["profile"], header["complete"], header["incomplete_because"]) == (PROFILE, False, NOT_REPLAYABLE)
    assert [node["node_id"] for node in header["cluster"]["nodes"]] == [1, 2]


def test_what_only_a_server_knows_is_not_there(journals: tuple[list[JsonRow], list[JsonRow], Path]) -> None:
    own, recorded, _ = journals
    assert {row["kind"] for row in own} - {row["kind"] for row in recorded} == {"timer", "command"}


def test_fields_that_a_version_has_not_are_the_only_other_difference(tmp_path: Path) -> None:
    """The cluster's own row has all fields of the answer, and a recording only those that the version on the wire can carry."""
    own = tmp_path / "own.jsonl"
    with (
        Broker(topics={TOPIC: 1}, journal=str(own)) as broker,
        recording(broker.bootstrap, tmp_path / "recorded.jsonl") as proxy,
        Client(*address_of(proxy.bootstrap), seconds=60) as client,
    ):
        client.ask(3, 9, MetadataRequest(topics=[MetadataRequestTopic(name=TOPIC)]))
        client.close()
        rows = proxy.close()
    (recorded,) = of_kind(rows, "reply")
    (made,) = of_kind(of_clients([json.loads(line) for line in own.read_text().splitlines()[1:]]), "reply")
    topic, own_topic = recorded["message"]["topics"][0], made["message"]["topics"][0]
    assert topic.pop("topic_id") == "AAAAAAAAAAAAAAAAAAAAAA==" != own_topic.pop("topic_id")
    assert topic == own_topic
