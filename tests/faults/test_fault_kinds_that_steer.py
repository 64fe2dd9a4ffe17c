"""Every kind of fault that changes the cluster has the right effect at every group API. conftest.py chooses the versions."""

from __future__ import annotations

import socket
from typing import Any

import pytest
from fault_world import TOPIC, Occasion, World

from groupmock.faults.plan import BadPlan
from groupmock_codec.api_keys import FIND_COORDINATOR, OFFSET_FETCH
from groupmock_codec.error_codes import (
    COORDINATOR_LOAD_IN_PROGRESS,
    FENCED_INSTANCE_ID,
    ILLEGAL_GENERATION,
    NOT_COORDINATOR,
    REBALANCE_IN_PROGRESS,
    UNKNOWN_MEMBER_ID,
)
from groupmock_codec.messages.k03_metadata import MetadataRequest, MetadataRequestTopic
from groupmock_codec.messages.k12_heartbeat import HeartbeatRequest
from groupmock_codec.messages.k18_api_versions import ApiVersionsRequest

LISTS = 16
MEMBER_FROM = {8: 1, 9: 9, 11: 0, 12: 0, 13: 0, 14: 0}
"""API key -> first version whose request names a member."""
INSTANCE_FROM = {8: 7, 9: 99, 11: 5, 12: 3, 13: 3, 14: 3}


def add(world: World, asked: Occasion, do: dict[str, Any] | str) -> str:
    return world.broker.add_fault(asked.when(), do, times=1)


def refused(world: World, asked: Occasion, do: dict[str, Any] | str, reason: str) -> None:
    with pytest.raises(BadPlan, match=reason):
        add(world, asked, do)
    assert world.broker.faults == []


def answer_of(asked: Occasion) -> Any:
    asked.send()
    return asked.read()


def member_error(asked: Occasion, answer: Any) -> int:
    """Return the error of the member, which LeaveGroup answers per member from version 3 on."""
    return int(answer.members[0].error_code) if asked.key == 13 and asked.version >= 3 else asked.error(answer)


def as_of(key: int, error: int) -> int:
    """Return the error that a member's request should get: OffsetFetch names the member only from v9 on, and a classic group ignores it
    there (ClassicGroup.validateOffsetFetch)."""
    return 0 if key == OFFSET_FETCH else error


def still_fine(world: World) -> None:
    """Check that no internal error was logged."""
    assert world.broker._ask(lambda: world.broker._up().server.counters.internal_errors) == 0


def test_expire_member(world: World, key: int, version: int) -> None:
    asked = world.occasion(key, version)
    if version < MEMBER_FROM.get(key, 99):
        refused(world, asked, "expire_member", "it names no member")
        return
    add(world, asked, "expire_member")
    # Requests of an expired member are answered UNKNOWN_MEMBER_ID (25). An OffsetCommit of a former member is, too, if the group is empty.
    assert member_error(asked, answer_of(asked)) == as_of(key, UNKNOWN_MEMBER_ID)
    assert asked.member_id not in [member.member_id for member in world.broker.groups[asked.group].members]
    still_fine(world)


def test_fence_instance(world: World, key: int, version: int) -> None:
    """After `fence_instance`, a request in a version without the instance id is answered with UNKNOWN_MEMBER_ID."""
    asked = world.occasion(key, version, instance="desk-1")
    if version < MEMBER_FROM.get(key, 99):
        refused(world, asked, "fence_instance", "it names no member")
        return
    add(world, asked, "fence_instance")
    fenced = version >= INSTANCE_FROM[key]
    assert member_error(asked, answer_of(asked)) == as_of(key, FENCED_INSTANCE_ID if fenced else UNKNOWN_MEMBER_ID)
    assert [member.member_id == asked.member_id for member in world.broker.groups[asked.group].members] == [False]
    still_fine(world)


def test_a_member_that_is_not_static_cannot_be_fenced(world: World) -> None:
    asked = world.occasion(12, 4)
    add(world, asked, "fence_instance")
    assert asked.error(answer_of(asked)) == 0


def test_force_rebalance(world: World, key: int, version: int) -> None:
    """A rebalance begins whatever the request does, but a group without members cannot rebalance and serves the request."""
    asked = world.occasion(key, version)
    if key == LISTS:
        refused(world, asked, "force_rebalance", "it names no group")
        return
    name = add(world, asked, "force_rebalance")
    answer_of(asked)
    assert world.broker.fault_report(name).fired == 1
    story = world.broker.story(asked.group)
    assert ("a fault rule" in story) is (key not in (42, 47)), story
    still_fine(world)


def test_a_member_learns_of_the_forced_round_from_its_heartbeat(world: World) -> None:
    asked = world.occasion(12, 4)
    add(world, asked, "force_rebalance")
    assert asked.error(answer_of(asked)) == REBALANCE_IN_PROGRESS
    assert world.broker.groups[asked.group].state == "PreparingRebalance"


def test_set_generation(world: World, key: int, version: int) -> None:
    """After `set_generation`, OffsetCommit and Heartbeat are refused with ILLEGAL_GENERATION (22) unless the group was rebalancing
    already."""
    asked = world.occasion(key, version)
    if key == LISTS:
        refused(world, asked, "set_generation", "it names no group")
        return
    settled = world.broker.groups[asked.group].state in ("Stable", "Empty")
    name = add(world, asked, "set_generation")
    error = asked.error(answer_of(asked))
    assert world.broker.fault_report(name).fired == 1
    assert ("its generation was" in world.broker.story(asked.group)) is settled
    assert error == (ILLEGAL_GENERATION if settled and key in (8, 12) and asked.usual == 0 else asked.usual)
    still_fine(world)


def test_move_coordinator(world: World, key: int, version: int) -> None:
    """The asked node stops coordinating the group, and FindCoordinator names the other node."""
    asked = world.occasion(key, version)
    if key == LISTS:
        refused(world, asked, "move_coordinator", "it names no group")
        return
    before = world.node_of(asked.group)
    add(world, asked, "move_coordinator")
    answer = answer_of(asked)
    if key == FIND_COORDINATOR:
        assert (answer if version < 4 else answer.coordinators[0]).node_id == 3 - before
    elif asked.usual == 0:
        assert asked.error(answer) == NOT_COORDINATOR
    assert world.node_of(asked.group) == 3 - before
    still_fine(world)


def test_a_moved_coordinator_loads(world: World) -> None:
    """A loading coordinator answers COORDINATOR_LOAD_IN_PROGRESS (14), except to Heartbeat, which Kafka answers without an error while
    it loads."""
    asked = world.occasion(14, 5)
    add(world, asked, {"kind": "move_coordinator", "node": world.node_of(asked.group), "loading_seconds": 600})
    assert asked.error(answer_of(asked)) == COORDINATOR_LOAD_IN_PROGRESS
    world.broker.move_coordinator(asked.group)  # Move the coordinator back, so that it is not loading in the tests after this one.


def test_freeze_member(world: World, key: int, version: int) -> None:
    asked = world.occasion(key, version)
    if version < MEMBER_FROM.get(key, 99):
        refused(world, asked, "freeze_member", "it names no member")
        return
    name = add(world, asked, "freeze_member")
    asked.send()
    world.broker.wait_for_fault(name)
    beat = world.wire(world.node_of(asked.group))
    beat.send(12, 0, HeartbeatRequest(group_id=asked.group, generation_id=1, member_id=asked.member_id))
    world.wire().ask(18, 0, ApiVersionsRequest())
    assert asked.wire.silent() and beat.silent(), "the member waits on every connection"
    world.broker.thaw(asked.group, asked.member_id)
    assert asked.error(asked.read()) == asked.usual
    beat.receive()
    still_fine(world)


def test_jump_timer_session(world: World, key: int, version: int) -> None:
    asked = world.occasion(key, version)
    do = {"kind": "jump_timer", "timer": "session"}
    if version < MEMBER_FROM.get(key, 99):
        refused(world, asked, do, "it names no (member|group)")
        return
    add(world, asked, do)
    assert member_error(asked, answer_of(asked)) == as_of(key, UNKNOWN_MEMBER_ID)
    still_fine(world)


def test_jump_timer_ends_a_join_phase(world: World) -> None:
    """The join phase ends without waiting for the member that has not rejoined."""
    asked = world.occasion(15, 0)
    world.broker.rebalance(asked.group)
    add(world, asked, {"kind": "jump_timer", "timer": "join"})
    answer = answer_of(asked)
    assert (answer.groups[0].group_state, answer.groups[0].members) == ("Empty", [])


def test_a_timer_that_is_not_armed_is_a_note_and_the_call_goes_on(world: World) -> None:
    asked = world.occasion(12, 4)
    name = add(world, asked, {"kind": "jump_timer", "timer": "join"})
    assert asked.error(answer_of(asked)) == 0
    assert world.broker.fault_report(name).fired == 1


def test_move_leader(world: World, key: int, version: int) -> None:
    asked = world.occasion(key, version)
    wire = world.wire()

    def leader() -> int:
        metadata = wire.ask(3, 1, MetadataRequest(topics=[MetadataRequestTopic(name=TOPIC)]))
        return next(part.leader_id for part in metadata.topics[0].partitions if part.partition_index == 0)

    target = 3 - leader()
    add(world, asked, {"kind": "move_leader", "topic": TOPIC, "partition": 0, "node": target})
    assert asked.error(answer_of(asked)) == asked.usual
    assert leader() == target
    still_fine(world)


def test_stall_node(world: World, key: int, version: int) -> None:
    """A stalled node serves no request and closes no connection, while the other node works. Later the node continues."""
    asked = world.occasion(key, version)
    node = world.node_of(asked.group)
    before = world.wire(node)
    name = add(world, asked, "stall_node")
    asked.send()
    world.broker.wait_for_fault(name)
    before.send(18, 0, ApiVersionsRequest())
    world.wire(3 - node).ask(18, 0, ApiVersionsRequest())
    assert asked.wire.silent() and before.silent()
    world.broker.start_node(node)
    assert asked.error(asked.read()) == asked.usual
    before.receive()
    still_fine(world)


def test_stop_node(world: World, key: int, version: int) -> None:
    """The connection closes and the port refuses, while the other node serves. After a restart the stopped node serves again."""
    asked = world.occasion(key, version)
    node = world.node_of(asked.group)
    host, port = world.broker.bootstrap.split(",")[node - 1].split(":")
    name = add(world, asked, "stop_node")
    asked.send()
    world.broker.wait_for_fault(name)
    try:
        asked.wire.rest()
    except ConnectionResetError:
        pass
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection((host, int(port)), 5)
    world.wire(3 - node).ask(18, 0, ApiVersionsRequest())
    world.broker.start_node(node)
    assert world.wire(node).ask(18, 0, ApiVersionsRequest()).error_code == 0
    still_fine(world)
