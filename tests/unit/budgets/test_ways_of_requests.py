"""A request passes through a bounded number of function calls between its bytes and the bytes of the answer."""

from __future__ import annotations

import sys
from collections.abc import Callable
from itertools import pairwise
from types import FrameType
from typing import Any

from cases import for_each

from groupmock.rig.kept_rows import KeptRows
from groupmock.rig.wire import request
from groupmock.rig.wire_rig import WireRig
from groupmock_codec.api_keys import CONSUMER_GROUP_HEARTBEAT, HEARTBEAT, JOIN_GROUP
from groupmock_codec.messages.k11_join_group import JoinGroupRequest, JoinGroupRequestProtocol
from groupmock_codec.messages.k12_heartbeat import HeartbeatRequest
from groupmock_codec.messages.k68_consumer_group_heartbeat import ConsumerGroupHeartbeatRequest

UNCONCERNED: list[dict[str, Any]] = [
    {"api": "SyncGroup", "group": "g"}, {"api": "JoinGroup", "state": "Stable"}, {"api": "OffsetCommit", "topic": "t", "partition": 0},
    {"api": "JoinGroup", "nth": 2}, {"group": "other"}, {"client_id": "other"}, {"transactional_id": "t"}, {"node": 7},
]  # fmt: skip


PROTOCOLS = [JoinGroupRequestProtocol(name="range", metadata=b"\0\1\0\0\0\1\0\1t\xff\xff\xff\xff")]


def way(work: Callable[[], object]) -> list[str]:
    """Return the files of the functions that `work` calls, without those of the rig."""
    files: list[str] = []

    def called(frame: FrameType, event: str, argument: object) -> None:
        file = frame.f_code.co_filename
        if event == "call" and ("groupmock" in file or file[0] == "<") and "/rig/" not in file:
            files.append(file)

    sys.setprofile(called)
    try:
        work()
    finally:
        sys.setprofile(None)
    return files


def test_a_join_group_that_is_parked_goes_a_short_way() -> None:
    rig = WireRig.make(topics={"t": 1}, sinks=[KeptRows()])
    wire = rig.connect()
    join = JoinGroupRequest(
        group_id="g", session_timeout_ms=10_000, rebalance_timeout_ms=10_000, protocol_type="consumer", protocols=PROTOCOLS
    )
    join.member_id = wire.ask(JOIN_GROUP, 9, join).member_id
    frame = request(JOIN_GROUP, 9, join)
    files = way(lambda: wire.send(frame))
    changes = sum(one != other for one, other in pairwise(files))
    assert (len(files) <= 76, len(set(files)) <= 18, changes <= 55) == (True, True, True), (len(files), set(files), changes)


def test_a_consumer_group_heartbeat_that_joins_goes_a_short_way() -> None:
    rig = WireRig.make(topics={"t": 2}, sinks=[KeptRows()])

    def joined(group_id: str) -> list[str]:
        wire = rig.connect()
        join = ConsumerGroupHeartbeatRequest(
            group_id=group_id, member_id="m", rebalance_timeout_ms=60_000, subscribed_topic_names=["t"], topic_partitions=[]
        )
        frame = request(CONSUMER_GROUP_HEARTBEAT, 1, join)
        return way(lambda: wire.send(frame))

    joined("first")  # One request is sent before the count, because the first request of its kind imports and compiles modules.
    files = joined("g")
    changes = sum(one != other for one, other in pairwise(files))
    assert (len(files) <= 220, len(set(files)) <= 39, changes <= 144) == (True, True, True), (len(files), set(files), changes)


@for_each("stage", ["request", "reply"])
def test_a_rule_that_does_not_concern_a_request_costs_it_few_calls(stage: str) -> None:
    rig = WireRig.make(topics={"t": 1}, sinks=[KeptRows()])
    wire = rig.connect()

    def calls() -> int:
        frame = request(HEARTBEAT, 4, HeartbeatRequest(group_id="g", generation_id=1, member_id="m"))
        wire.send(frame)  # The frame is sent once before the count, because the first frame creates objects that are kept.
        return len(way(lambda: wire.send(frame)))

    without = calls()
    for when in UNCONCERNED:
        rig.command("add_faults", rules=[{"when": when, "do": {"kind": "hold"}, "stage": stage}])
        assert calls() <= without + 12, when
        rig.command("clear_faults")
