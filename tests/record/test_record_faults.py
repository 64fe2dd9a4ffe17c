"""A fault rule in a recording has the same effect for the client and writes the same rows as in a groupmock cluster."""

from __future__ import annotations

import json
import socket
from pathlib import Path
from typing import Any

import pytest
from recordings import JsonRow, of_kind, recording
from waiting import until

from groupmock import Broker
from groupmock.cli import main
from groupmock.faults.kind import all_kinds
from groupmock.faults.plan import BadPlan, make_plan
from groupmock.record.proxy import Proxy
from groupmock.record.reaching import Where
from groupmock.record.settings import Settings
from groupmock.rig.wire import Client, request
from groupmock_codec.messages.k01_fetch import FetchPartition, FetchRequest, FetchTopic
from groupmock_codec.messages.k03_metadata import MetadataRequest
from groupmock_codec.messages.k08_offset_commit import OffsetCommitRequest, OffsetCommitRequestPartition, OffsetCommitRequestTopic
from groupmock_codec.messages.k11_join_group import JoinGroupRequest, JoinGroupRequestProtocol
from groupmock_codec.messages.k12_heartbeat import HeartbeatRequest
from groupmock_codec.messages.k14_sync_group import SyncGroupRequest
from groupmock_codec.records import decode_records, read_batches

SEED = 11
HEARTBEAT = HeartbeatRequest(group_id="g", generation_id=1, member_id="m")
STRIKES: dict[str, dict[str, Any]] = {
    "error": {"kind": "error", "code": 27},
    "observe": {"kind": "observe"},
    "close": {"kind": "close"},
    "reset": {"kind": "reset"},
    "delay": {"kind": "delay", "seconds": 0.01},
    "duplicate": {"kind": "duplicate"},
    "garble": {"kind": "garble", "bytes": 3},
    "split": {"kind": "split", "pieces": 3, "seconds": 0.01},
    "swallow": {"kind": "swallow"},
    "throttle_time": {"kind": "throttle_time", "seconds": 2, "mute": False},
    "truncate": {"kind": "truncate", "at": 7},
    "wrong_correlation_id": {"kind": "wrong_correlation_id", "by": 100},
}
"""Fault kinds whose effect on a Heartbeat the client can observe."""
OF_RECORDS = {"corrupt_batch", "corrupt_value", "duplicate_records", "invalid_schema_id"}
"""Fault kinds that change the answer to a Fetch."""
SILENT = {"drop", "hold"}
"""Fault kinds after which the client receives nothing."""


def plan_of(do: dict[str, Any], stage: str | None = None, **when: Any) -> dict[str, Any]:
    rule = {"name": "strike", "do": do, "times": 1, "when": when or {"api": "Heartbeat", "version": "1-"}}
    return {"rule": [rule | ({"stage": stage} if stage else {})]}


def sees(bootstrap: str, count: int = 2) -> bytes | str:
    """Send `count` heartbeats at once and return the bytes up to the answer of the second or the end of the connection."""
    host, _, port = bootstrap.rpartition(":")
    got = b""
    try:  # The connection may fail already here, because the reset may arrive while the client is still connecting.
        with socket.create_connection((host, int(port)), 60) as link:
            link.sendall(b"".join(request(12, 4, HEARTBEAT, number) for number in range(1, count + 1)))
            while (2).to_bytes(4, "big") not in got:
                piece = link.recv(1000)
                if not piece:
                    return got + b" and the end"
                got += piece
    except (ConnectionResetError, BrokenPipeError):
        return "reset"
    return got


def faults(rows: list[JsonRow]) -> list[JsonRow]:
    numbers = ("seq", "t", "connection", "ticket")
    return [{name: value for name, value in row.items() if name not in numbers} for row in of_kind(rows, "fault")]


def direct(plan: dict[str, Any], journal: Path, count: int) -> tuple[bytes | str, list[JsonRow]]:
    with Broker(seed=SEED, journal=str(journal)) as broker:
        broker.load_plan(plan)
        seen = sees(broker.bootstrap, count)
    return seen, [json.loads(line) for line in journal.read_text().splitlines()[1:]]


@pytest.mark.parametrize("kind", STRIKES)
@pytest.mark.parametrize("stage", ["request", "reply"])
def test_the_client_sees_what_it_would_see_at_a_server_of_ours(kind: str, stage: str, tmp_path: Path) -> None:
    if stage not in all_kinds()[kind].STAGES:
        stage = "reply"
    plan = plan_of(STRIKES[kind], stage)
    # A groupmock cluster sends a FIN before the RST if other requests precede, so a single request is used.
    count = 1 if kind == "reset" else 2
    wanted, own = direct(plan, tmp_path / "own.jsonl", count)
    with (
        Broker(seed=SEED) as broker,
        recording(broker.bootstrap, tmp_path / "j", plan=make_plan(plan), seed=SEED) as proxy,
    ):
        seen = sees(proxy.bootstrap, count)
        rows = proxy.close()
    assert seen == wanted
    assert faults(rows) == faults(own) != []
    assert [row["name"] for row in of_kind(rows, "command")] == ["add_faults"]


@pytest.mark.parametrize("kind", sorted(SILENT))
def test_what_the_client_never_hears_of_is_a_row(kind: str, tmp_path: Path) -> None:
    with Broker() as broker, recording(broker.bootstrap, tmp_path / "j", plan=make_plan(plan_of({"kind": kind}, "request"))) as proxy:
        host, _, port = proxy.bootstrap.rpartition(":")
        with Client(host, int(port), seconds=60) as client:
            client.send(12, 4, HEARTBEAT)
            until("the strike", lambda: of_kind(proxy.seen(), "fault"), proxy.rows)
        rows = proxy.close()
    assert [row["action"] for row in of_kind(rows, "fault")] == [kind]
    assert of_kind(rows, "reply") == []


def test_every_kind_is_struck_here_or_refused() -> None:
    steers = {kind for kind, fault in all_kinds().items() if fault.CAUSES}
    assert {*STRIKES, *SILENT, *OF_RECORDS, "refuse", "leave_out"} == all_kinds().keys() - steers


def test_a_refused_connection_is_reset(tmp_path: Path) -> None:
    plan = {"rule": [{"name": "strike", "do": {"kind": "refuse"}, "times": 1}]}
    with Broker() as broker, recording(broker.bootstrap, tmp_path / "j", plan=make_plan(plan)) as proxy:
        assert sees(proxy.bootstrap) == "reset"
        assert isinstance(sees(proxy.bootstrap), bytes)
        rows = proxy.close()
    assert [row["action"] for row in of_kind(rows, "fault")] == ["refuse"]
    assert of_kind(rows, "close")[0]["reason"] == 'fault rule "strike"'


def test_what_is_not_forwarded_did_nothing_to_the_group(tmp_path: Path) -> None:
    """A JoinGroup that a rule answers never reaches the coordinator, so it adds no member."""
    plan = plan_of({"kind": "error", "code": 15}, "request", api="JoinGroup")
    with Broker() as broker, recording(broker.bootstrap, tmp_path / "j", plan=make_plan(plan)) as proxy:
        host, _, port = proxy.bootstrap.rpartition(":")
        with Client(host, int(port), seconds=60) as client:
            assert client.ask(11, 4, join()).error_code == 15
            assert client.ask(11, 4, join()).error_code == 79
        rows = proxy.close()
    assert [row["what"] for row in of_kind(rows, "member")] == ["reserved"]


def commit() -> OffsetCommitRequest:
    """Return a commit of three partitions without a member id."""
    parts = [OffsetCommitRequestPartition(partition_index=each, committed_offset=7) for each in range(3)]
    return OffsetCommitRequest(group_id="g", topics=[OffsetCommitRequestTopic(name="orders", partitions=parts)])


@pytest.mark.parametrize("kind", ["error", "leave_out"])
@pytest.mark.parametrize("stage", ["request", "reply"])
def test_one_entity_of_several_is_struck_as_at_a_server_of_ours(kind: str, stage: str, tmp_path: Path) -> None:
    """At stage `request` the node receives the commit without the partition that the rule names, and the group on the node shows which
    offsets it stored."""
    do = {"kind": "error", "code": 28} if kind == "error" else {"kind": kind}
    plan = plan_of(do, stage, api="OffsetCommit", topic="orders", partition=1)
    with (
        Broker(topics={"orders": 3}) as broker,
        recording(broker.bootstrap, tmp_path / "j", plan=make_plan(plan), seed=SEED) as proxy,
    ):
        host, _, port = proxy.bootstrap.rpartition(":")
        with Client(host, int(port), seconds=60) as client:
            for version in (2, 8):
                (topic,) = client.ask(8, version, commit()).topics
                told = {each.partition_index: each.error_code for each in topic.partitions}
                struck = {} if kind == "leave_out" else {1: 28}
                # The rule fires once, so only the commit of version 2 is affected.
                assert told == {0: 0, 2: 0} | (struck if version == 2 else {1: 0})
                kept = (0, 2) if (stage, version) == ("request", 2) else (0, 1, 2)
                assert broker.groups["g"].offsets == {"orders": dict.fromkeys(kept, 7)}
        rows = proxy.close()
    assert [row["action"] for row in of_kind(rows, "fault")] == [kind]


@pytest.mark.parametrize("stage", ["request", "reply"])
def test_a_partition_of_a_fetch_session_is_struck_though_no_request_names_it(stage: str, tmp_path: Path) -> None:
    when = {"api": "Fetch", "topic": "orders", "partition": 1, "nth": 2}
    rule = {"name": "r", "when": when, "stage": stage, "do": {"kind": "error", "code": 6}}
    with Broker(topics={"orders": 2}) as broker, recording(broker.bootstrap, tmp_path / "j", plan=make_plan({"rule": [rule]})) as proxy:
        host, _, port = proxy.bootstrap.rpartition(":")
        with Client(host, int(port), seconds=60) as client:
            parts = [FetchPartition(partition=each, partition_max_bytes=1000) for each in (0, 1)]
            first = FetchRequest(session_epoch=0, max_bytes=1000, topics=[FetchTopic(topic="orders", partitions=parts)])
            session = client.ask(1, 11, first).session_id
            (topic,) = client.ask(1, 11, FetchRequest(session_id=session, session_epoch=1, max_bytes=1000)).responses
            assert (topic.topic, [(each.partition_index, each.error_code) for each in topic.partitions]) == ("orders", [(1, 6)])
            assert client.ask(1, 11, FetchRequest(session_id=session, session_epoch=2, max_bytes=1000)).responses == []


def records_at(bootstrap: str) -> bytes:
    host, _, port = bootstrap.rpartition(":")
    asked = FetchRequest(max_bytes=1000, topics=[FetchTopic(topic="orders", partitions=[FetchPartition(partition_max_bytes=1000)])])
    with Client(host, int(port), seconds=60) as client:
        records: bytes = client.ask(1, 11, asked).responses[0].partitions[0].records
    return records


def test_records_of_a_real_cluster_are_changed_as_those_of_ours(tmp_path: Path) -> None:
    plan = {"rule": [{"name": kind, "when": {"api": "Fetch"}, "do": {"kind": kind}} for kind in sorted(OF_RECORDS)]}
    found = []
    with Broker(topics={"orders": 1}) as broker, recording(broker.bootstrap, tmp_path / "j", plan=make_plan(plan)) as proxy:
        broker.produce("orders", b"coffee", timestamp=1)
        found.append(records_at(proxy.bootstrap))
        rows = proxy.close()
        broker.load_plan(plan)
        found.append(records_at(broker.bootstrap))
    assert found[0] == found[1]
    (batch,) = read_batches(found[0])
    assert not batch.crc_holds
    assert [record.value for record in decode_records(batch)] == [b"\0\x7f\xff\xff\xff\x9coffee"] * 2
    assert [row["action"] for row in of_kind(rows, "fault")] == sorted(OF_RECORDS)


def join(member_id: str = "") -> JoinGroupRequest:
    protocols = [JoinGroupRequestProtocol(name="range", metadata=bytes(10))]
    times = {"session_timeout_ms": 60_000, "rebalance_timeout_ms": 60_000}
    return JoinGroupRequest(group_id="g", member_id=member_id, protocol_type="consumer", protocols=protocols, **times)


def test_a_rule_may_ask_for_the_groups_state_and_role(tmp_path: Path) -> None:
    plan = plan_of({"kind": "error", "code": 25}, "request", api="Heartbeat", state="Stable", role="leader")
    with (
        Broker(settings={"group.initial.rebalance.delay.ms": 0}) as broker,
        recording(broker.bootstrap, tmp_path / "j", plan=make_plan(plan)) as proxy,
    ):
        host, _, port = proxy.bootstrap.rpartition(":")
        with Client(host, int(port), seconds=60) as client:
            member = client.ask(11, 4, join(client.ask(11, 4, join()).member_id))
            beat = HeartbeatRequest(group_id="g", generation_id=member.generation_id, member_id=member.member_id)
            # Heartbeat is answered without an error in CompletingRebalance.
            assert client.ask(12, 4, beat).error_code == 0
            sync = SyncGroupRequest(group_id="g", generation_id=member.generation_id, member_id=member.member_id)
            assert client.ask(14, 3, sync).error_code == 0
            assert [client.ask(12, 4, beat).error_code for _ in range(2)] == [25, 0]


def test_addresses_are_ours_under_rules_too_and_spent_rules_cost_new_connections_nothing(tmp_path: Path) -> None:
    plan = make_plan(plan_of({"kind": "error", "code": 27}, "request"))
    with Broker(nodes=2) as broker, recording(broker.bootstrap, tmp_path / "j", plan=plan) as proxy:
        address = proxy.bootstrap.split(",")[0].rpartition(":")
        with Client(address[0], int(address[2]), seconds=60) as client:
            assert [f"{each.host}:{each.port}" for each in client.ask(3, 9, MetadataRequest()).brokers] == proxy.bootstrap.split(",")
            assert client.ask(12, 4, HEARTBEAT).error_code == 27
        with Client(address[0], int(address[2]), seconds=60) as client:
            client.ask(12, 4, HEARTBEAT)
            assert [type(relay).__name__ for relay in proxy.on_loop(lambda: list(proxy.proxy.relays.values()))][-1] == "Relay"


def test_kinds_that_steer_a_coordinator_are_refused_in_one_sentence(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    plan = tmp_path / "p.toml"
    plan.write_text('[[rule]]\nname = "storm"\nwhen = { api = "Heartbeat" }\ndo = { kind = "force_rebalance" }\n')
    assert main(["record", "--upstream", "127.0.0.1:1", "--journal", str(tmp_path / "j"), "--plan", str(plan)]) == 2
    said = capsys.readouterr().err
    assert said.startswith(
        f'groupmock record: {plan}, rule "storm": force_rebalance makes a broker of ours do something, and a recording has none: '
        "what it can do is close, corrupt_batch, corrupt_value, delay, drop, duplicate, duplicate_records, error, garble, hold, "
    )
    assert said.count("\n") == 1


def test_a_rule_that_can_never_hold_is_refused_before_anything_is_reached(tmp_path: Path) -> None:
    plan = make_plan(plan_of({"kind": "error", "code": 27}, "request", api="Hartbeat"))
    with pytest.raises(BadPlan, match="Hartbeat"):
        Proxy(Settings([Where("127.0.0.1", 1)], str(tmp_path / "j"), plan=plan))
