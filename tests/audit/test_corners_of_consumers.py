"""Corner cases in which the audit rules about consumer groups (KIP-848) could blame a correct client or miss a wrong one."""

from __future__ import annotations

from typing import Final

import pytest
from audit_examples import exchange_named
from audit_pen import AuditPen
from wire_stage import WireStage

from groupmock.audit.auditor import audit
from groupmock.audit.consumer_example import ASKED_FOR_HALF, FENCED, HEADER, JOINED
from groupmock.audit.verdicts import BROKEN, KEPT, NOT_EXERCISED, NOT_JUDGED
from groupmock.journal.rows import ASKED_TO_STOP, Row
from groupmock_clients.probe.verdicts.runner import play
from groupmock_codec.api_keys import CONSUMER_GROUP_HEARTBEAT, FETCH, METADATA, OFFSET_COMMIT

OLD, NEW = "AAAAAAAAAAAAAAAAAAAAAQ==", "AAAAAAAAAAAAAAAAAAAAAg=="
SILENT: Final = NOT_EXERCISED
ALONE: Final = HEADER + JOINED
CROSSING: Final = ALONE.replace("pause 300", "")
BEAT: Final = "A: ConsumerGroupHeartbeat v1 member_id=a member_epoch"
IN_FULL: Final = "rebalance_timeout_ms=2000 subscribed_topic_names=[$t1] topic_partitions=[]"
STATIC: Final = HEADER + JOINED.replace("member_id=a", "member_id=a instance_id=i")
OWNS: Final = "topic_partitions=[{name: $t1, partitions: [%s]}]"
NAMED: Final = f"""{HEADER}O: Metadata v12 topics=[{{name: $t1}}] -> any
{JOINED}"""
BY_VERSION_0: Final = f"""{HEADER}
A: ConsumerGroupHeartbeat v0 member_id="" member_epoch=0 {IN_FULL} -> 0 member_id=?id member_epoch=?epoch
pause 300
"""
HALVED: Final = f"{ALONE}A: Metadata v12 topics=[{{name: $t1}}] -> any\n{ASKED_FOR_HALF}"
GAVE_UP: Final = f"{HALVED}{BEAT}=$epoch topic_partitions=[{{name: $t1, partitions: $kept}}] -> 0\npause 300\n"
READS: Final = "A: Fetch v12 topics=[read($t1, %s, 0)] -> any\n"
UNAUTHORIZED: Final = "{when: {api: OffsetFetch}, do: {kind: error, code: 30}, times: 1}"
ASKS: Final = "A: OffsetFetch v8 groups=[{group_id: $group, topics: [{name: $t1, partition_indexes: [0, 1]}]}] -> any\n"
REFUSED: Final = f"""{ALONE}A: Metadata v12 topics=[{{name: $t1}}] -> any
!unload_coordinator partition=hash($group, 50)
{ASKS}!move_coordinator partition=hash($group, 50) loading_ms=0
A: FindCoordinator -> 0
"""
COMMITS: Final = "A: OffsetCommit v%d member_id=a generation_id_or_member_epoch=%s topics=[t($t1, o(0, 5))] -> %d\n"
CORNERS: Final = {
    "43 it reads what it has not asked for": ("CLIENT-43", BROKEN, f"{NAMED}pause 300\n{READS % 0}"),
    "43 it has asked": ("CLIENT-43", KEPT, f"{NAMED}{ASKS}{READS % 0}"),
    "43 it had it before": ("CLIENT-43", KEPT,
        f"{NAMED}{ASKS}{READS % 0}{BEAT}=$epoch {IN_FULL.replace('[]', '[{name: $t1, partitions: [0, 1]}]')} -> 0\npause 300\n{READS % 0}"),
    "44 what may still change": ("CLIENT-44", BROKEN, NAMED + ASKS),
    "44 what is stable": ("CLIENT-44", KEPT, NAMED + ASKS.replace("groups=", "require_stable=true groups=")),
    "67 a partition of others": ("CLIENT-67", BROKEN, GAVE_UP + COMMITS.replace("o(0", "o(1") % (9, "$epoch+1", 0)),
    "67 its own": ("CLIENT-67", KEPT, GAVE_UP + COMMITS % (9, "$epoch+1", 0)),
    "67 names that nobody knows": ("CLIENT-67", SILENT, ALONE + COMMITS % (9, "$epoch", 0)),
    "67 what it is to give up": ("CLIENT-67", KEPT, HALVED + COMMITS.replace("o(0", "o(1") % (9, "$epoch", 0)),
    "69 an error that does not pass": ("CLIENT-69", BROKEN, f"{NAMED}!add_faults rules=[{UNAUTHORIZED}]\n{ASKS}pause 300\n{READS % 0}"),
    "96 it reads one of two": ("CLIENT-96", BROKEN, NAMED + ASKS + 7 * f"{READS % 0}pause 1000\n"),
    "96 it reads both in turn": ("CLIENT-96", KEPT, NAMED + ASKS + 4 * f"{READS % 0}pause 1000\n{READS % 1}pause 1000\n"),
    "96 it does not know where to begin": ("CLIENT-96", SILENT,
        NAMED + ASKS + 4 * f"{READS % 0}pause 1000\nA: ListOffsets v7 topics=[seek(nothing, 0, -1)] -> any\n"),
    "49 it takes another id": ("CLIENT-49", BROKEN, f"{ALONE}A: ConsumerGroupHeartbeat v1 member_id=z member_epoch=0 {IN_FULL} -> 0\n"),
    "49 it takes another id when it has left": ("CLIENT-49", BROKEN,
        f"{ALONE}{BEAT}=-1 -> 0\nA: ConsumerGroupHeartbeat v1 member_id=z member_epoch=0 {IN_FULL} -> 0\n"),
    "49 version 0 has it from the coordinator": ("CLIENT-49", KEPT,
        BY_VERSION_0 + "A: ConsumerGroupHeartbeat v0 member_id=$id member_epoch=$epoch -> 0\n"),
    "50 without a subscription": ("CLIENT-50", BROKEN, f"{HEADER}{BEAT}=0 rebalance_timeout_ms=2000 topic_partitions=[] -> 42\n"),
    "50 by an expression": ("CLIENT-50", KEPT,
        f'{HEADER}{BEAT}=0 rebalance_timeout_ms=2000 subscribed_topic_regex="t.*" topic_partitions=[] -> 0\n'),
    "51 version 0 knows its epoch": ("CLIENT-51", KEPT,
        BY_VERSION_0 + "A: ConsumerGroupHeartbeat v0 member_id=$id member_epoch=$epoch -> 0\n"),
    "51 it joins again at will": ("CLIENT-51", SILENT, f"{ALONE}{BEAT}=0 {IN_FULL} -> 0\n"),
    "51 it was fenced: another rule's": ("CLIENT-51", KEPT, f"{ALONE}{FENCED}{BEAT}=99 -> 25\n"),
    "52 too soon, with nothing new": ("CLIENT-52", BROKEN, f"{ALONE}{BEAT}=$epoch -> 0\npause 100\n{BEAT}=$epoch -> 0\n"),
    "52 soon, with news": ("CLIENT-52", KEPT, f"{ALONE}{BEAT}=$epoch -> 0\n{BEAT}=$epoch {OWNS % '0, 1'} -> 0\n"),
    "52 late, but all of it stood still": ("CLIENT-52", KEPT, f"{ALONE}pause 12000\n{BEAT}=$epoch -> 0\n"),
    "53 it reads what it has given up": ("CLIENT-53", BROKEN, GAVE_UP + READS % 1 + READS % 0),
    "53 it reads what it has kept": ("CLIENT-53", KEPT, GAVE_UP + READS % 0),
    "53 it is told by another connection": ("CLIENT-53", BROKEN,
        f"{ALONE}A drops\n{ASKED_FOR_HALF}pause 1000\n{BEAT}=$epoch -> 0\npause 1100\n{BEAT}=$epoch -> 25\n"),
    "53 it leaves instead": ("CLIENT-53", SILENT, f"{HALVED}{BEAT}=-1 -> 0\npause 3000\n"),
    "53 it says nothing more": ("CLIENT-53", SILENT, f"{HALVED}pause 3000\nO: ListGroups -> 0\n"),
    "54 what it gives up it owns still": ("CLIENT-54", KEPT, f"{HALVED}{BEAT}=$epoch {OWNS % '0, 1'} -> 0\n"),
    "54 a partition of others": ("CLIENT-54", BROKEN, f"{GAVE_UP}{BEAT}=$epoch+1 {OWNS % '0, 1'} -> any\n"),
    "55 it claims what it had": ("CLIENT-55", BROKEN,
        f"{ALONE}{FENCED}{BEAT}=0 {IN_FULL.replace('[]', '[{name: $t1, partitions: [0]}]')} -> 42\n"),
    "55 a commit hears of it first": ("CLIENT-55", BROKEN,
        ALONE + FENCED.replace("A: Consumer", COMMITS % (9, "$epoch", 25) + "A: Consumer") + f"{BEAT}=$epoch -> 25\n"),
    "49 a commit heard that nobody knows it": ("CLIENT-49", KEPT,
        ALONE + FENCED.replace("A: Consumer", COMMITS % (9, "$epoch", 25) + "A: Consumer") + f"{BEAT}=0 {IN_FULL} -> 0\n"),
    "55 the answer may not have come through": ("CLIENT-55", NOT_JUDGED, f"{ALONE}{FENCED}A drops\n{BEAT}=$epoch -> 25\n"),
    "55 it leaves": ("CLIENT-55", SILENT, f"{ALONE}{FENCED}{BEAT}=-1 -> any\n"),
    "55 it crossed the answer": ("CLIENT-55", NOT_JUDGED, f"{ALONE}{FENCED.replace('pause 300', '')}{BEAT}=$epoch -> 25\n"),
    "56 static, for now": ("CLIENT-56", SILENT, f"{STATIC}{BEAT}=-2 instance_id=i -> 0\n"),
    "56 static, for good": ("CLIENT-56", SILENT, f"{STATIC}{BEAT}=-1 instance_id=i -> 0\n"),
    "57 by a version without epochs": ("CLIENT-57", BROKEN, ALONE + COMMITS % (8, "$epoch", 35)),
    "57 in a newer epoch after the refusal": ("CLIENT-57", KEPT,
        CROSSING + COMMITS % (9, "1", 113) + "pause 300\n" + COMMITS % (9, "$epoch", 0)),
    "57 it crossed both answers": ("CLIENT-57", NOT_JUDGED, CROSSING + COMMITS % (9, "1", 113) + COMMITS % (9, "1", 113)),
    "57 it is no member": ("CLIENT-57", SILENT, f"{ALONE}{BEAT}=-1 -> 0\n" + COMMITS % (9, "$epoch", 25)),
    "69 it waits for ever": ("CLIENT-69", BROKEN, f"{REFUSED}pause 8000\n{BEAT}=$epoch -> 0\npause 8000\n"),
    "69 it reads all the same": ("CLIENT-69", BROKEN, f"{REFUSED}pause 300\n{READS % 0}"),
    "69 it asks again": ("CLIENT-69", KEPT, f"{REFUSED}pause 300\n{ASKS}pause 300\n{READS % 0}"),
    "69 it is fenced meanwhile": ("CLIENT-69", SILENT, f"{REFUSED}{FENCED}pause 16000\n"),
}  # fmt: skip


@pytest.mark.parametrize(("code", "verdict", "body"), CORNERS.values(), ids=CORNERS)
def test_a_corner_of_consumers(code: str, verdict: str, body: str) -> None:
    found = audit(_rows(code, body, ""), [code])
    assert found.rules[code].verdict == verdict, [each.sentence for each in found.findings]


@pytest.mark.parametrize(
    ("body", "verdict"),
    [(ALONE, BROKEN), (STATIC, BROKEN), (f"{ALONE}{BEAT}=-1 -> 0\n", KEPT), (f"{STATIC}{BEAT}=-2 instance_id=i -> 0\n", KEPT)],
    ids=["dynamic and silent", "static and silent", "dynamic and leaves", "static and leaves"],
)  # fmt: skip
def test_who_was_asked_to_stop_says_that_it_goes(body: str, verdict: str) -> None:
    assert audit(_rows("CLIENT-56", body, "A"), ["CLIENT-56"]).rules["CLIENT-56"].verdict == verdict


def test_who_crashed_is_not_blamed() -> None:
    assert audit(_rows("CLIENT-56", f"{ALONE}A drops\n", ""), ["CLIENT-56"]).rules["CLIENT-56"].verdict == NOT_EXERCISED


def test_a_refusal_that_a_heartbeat_contradicts_is_over() -> None:
    """A coordinator that moves may refuse a commit as stale although the next heartbeat confirms the epoch."""
    pen = AuditPen()
    line, offsets = pen.connect(), {"name": "t", "partitions": [{"partition_index": 0, "committed_offset": 5}]}
    commit = {"generation_id_or_member_epoch": 2, "topics": [offsets]}
    stale = {"topics": [{"name": "t", "partitions": [{"partition_index": 0, "error_code": 113}]}]}

    def heartbeat(epoch: int) -> None:
        said = {"member_epoch": epoch, "instance_id": None, "rebalance_timeout_ms": -1, "topic_partitions": None}
        asked = line.asks(CONSUMER_GROUP_HEARTBEAT, group_id="g", member_id="a", **said)
        line.told(asked, error_code=0, member_id="a", member_epoch=2, heartbeat_interval_ms=500, assignment=None)

    heartbeat(0)
    pen.pause(300)
    line.told(line.asks(OFFSET_COMMIT, group_id="g", member_id="a", **commit), **stale)
    pen.pause(300)
    heartbeat(2)
    line.told(line.asks(OFFSET_COMMIT, group_id="g", member_id="a", **commit), **stale)
    assert audit(pen.rows, ["CLIENT-57"]).rules["CLIENT-57"].verdict == KEPT
    pen.pause(300)
    line.told(line.asks(OFFSET_COMMIT, group_id="g", member_id="a", **commit), **stale)
    assert audit(pen.rows, ["CLIENT-57"]).rules["CLIENT-57"].verdict == BROKEN


def _rows(code: str, body: str, stopped: str) -> list[Row]:
    """Return the journal rows of an exchange after which the client `stopped` is asked to stop and disconnects."""
    exchange = exchange_named(f"{code}.corner", f"settings: group.consumer.assignment.interval.ms=0\n{body}")
    stage = WireStage(exchange.wanted_settings)
    outcome = play(next(exchange.variants()), stage)
    assert outcome.verdict == "kept", outcome
    if stopped:
        stage.rig.driver.record.client(stopped, ASKED_TO_STOP, {}, stage.rig.clock.now())
        stage.hang_up(stopped, "drops")
    stage.rig.close()
    return stage.kept.rows


def test_a_topic_that_was_created_again_is_another_one() -> None:
    """A member gives up the deleted topic, and reads the topic with the same name and another id, which it is assigned then."""
    pen = AuditPen()
    line = pen.connect()

    def heartbeat(epoch: int, owned: list[str] | None, told: int, assigned: list[str]) -> None:
        owns = None if owned is None else [{"topic_id": each, "partitions": [0]} for each in owned]
        said = {"member_epoch": epoch, "instance_id": None, "rebalance_timeout_ms": 5_000, "topic_partitions": owns}
        asked = line.asks(CONSUMER_GROUP_HEARTBEAT, group_id="g", member_id="a", subscribed_topic_names=["t"], **said)
        assignment = {"topic_partitions": [{"topic_id": each, "partitions": [0]} for each in assigned]}
        line.told(asked, error_code=0, member_id="a", member_epoch=told, heartbeat_interval_ms=500, assignment=assignment)
        pen.pause(300)

    def fetch(topic: str) -> None:
        line.told(line.asks(METADATA, topics=[]), topics=[{"name": "t", "topic_id": topic, "partitions": [], "error_code": 0}])
        line.told(line.asks(FETCH, topics=[{"topic_id": topic, "partitions": [{"partition": 0, "fetch_offset": 0}]}]))
        pen.pause(300)

    heartbeat(0, [], 1, [OLD])
    heartbeat(1, [OLD], 1, [OLD])
    fetch(OLD)
    heartbeat(1, [OLD], 2, [])
    heartbeat(2, [], 3, [NEW])
    heartbeat(3, [NEW], 3, [NEW])
    fetch(NEW)
    assert audit(pen.rows, ["CLIENT-53"]).rules["CLIENT-53"].verdict == KEPT
    heartbeat(3, [NEW], 4, [])
    heartbeat(4, [], 4, [])
    fetch(NEW)
    assert audit(pen.rows, ["CLIENT-53"]).rules["CLIENT-53"].verdict == BROKEN
