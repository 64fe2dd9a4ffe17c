"""Values that could be expensive or harmful by their content: numbers of thousands of digits, lists, long names, members leaving in
leader order."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest
from cases import for_each

from groupmock.core.java.hashes import java_hash, partition_for
from groupmock.core.log.change import without
from groupmock.core.steering.register import CannotSteer
from groupmock.rig import CoreRig
from groupmock_codec.messages.k10_find_coordinator import FindCoordinatorRequest
from groupmock_codec.messages.k13_leave_group import LeaveGroupRequest, MemberIdentity
from groupmock_codec.messages.k15_describe_groups import DescribeGroupsRequest
from groupmock_codec.messages.k32_describe_configs import DescribeConfigsRequest, DescribeConfigsResource
from groupmock_codec.messages.k44_incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)

DIGITS = "9" * 32_000
ZEROS = "0" * 32_000 + "1"
THROTTLED = "leader.replication.throttled.replicas"


def alter(rig: CoreRig, kind: int, resource: str, name: str, value: str, operation: int = 0) -> tuple[int, str]:
    change = AlterableConfig(name=name, config_operation=operation, value=value)
    wanted = AlterConfigsResource(resource_type=kind, resource_name=resource, configs=[change])
    (row,) = rig.ask(44, 1, IncrementalAlterConfigsRequest(resources=[wanted])).responses
    return row.error_code, row.error_message or ""


def described_broker(rig: CoreRig, name: str) -> tuple[int, str | None]:
    wanted = DescribeConfigsResource(resource_type=4, resource_name=name, configuration_keys=None)
    (row,) = rig.ask(32, 4, DescribeConfigsRequest(resources=[wanted])).results
    return row.error_code, row.error_message


def share_coordinator_error(rig: CoreRig, partition: str) -> int:
    key = f"g:{'A' * 22}:{partition}"
    (found,) = rig.ask(10, 6, FindCoordinatorRequest(key_type=2, coordinator_keys=[key])).coordinators
    return int(found.error_code)


def test_a_number_of_thousands_of_digits_is_refused_as_kafka_refuses_it() -> None:
    """Python refuses to convert such a number and raises ValueError."""
    rig = CoreRig.make(topics=["t"])
    code, text = alter(rig, 2, "t", "retention.ms", DIGITS)
    assert (code, text) == (40, f"Invalid value {DIGITS} for configuration retention.ms: Not a number of type LONG")
    code, text = alter(rig, 4, DIGITS, "log.retention.ms", "1")
    assert (code, text) == (42, f"Node id must be an integer, but it is: {DIGITS}")
    assert described_broker(rig, DIGITS) == (42, f"Broker id must be an integer, but it is: {DIGITS}")
    assert share_coordinator_error(rig, DIGITS) == 42


def test_thousands_of_zeros_before_a_number_are_read_as_java_reads_them() -> None:
    rig = CoreRig.make(topics=["t"])
    assert alter(rig, 2, "t", "retention.ms", ZEROS) == (0, "")
    assert rig.core.cluster.topics.config(rig.core.cluster.topics.require("t"), "retention.ms", 1) == ZEROS
    assert rig.core.cluster.topics.limits(rig.core.cluster.topics.require("t"), 1).retention_ms == 1
    assert alter(rig, 4, ZEROS, "log.retention.ms", ZEROS) == (0, "")
    assert described_broker(rig, ZEROS)[0] == 0
    assert share_coordinator_error(rig, ZEROS) == 0


def test_what_is_said_of_a_long_value_is_as_long_as_an_answer_can_carry() -> None:
    rig = CoreRig.make(topics=["t"])
    for letter in ("x", "水"):
        value = letter * (32_767 // len(letter.encode()))
        code, text = alter(rig, 2, "t", "retention.ms", value)
        assert code == 40
        assert text == f"Invalid value {value}"[: len(text)]
        assert 32_764 < len(text.encode()) <= 32_767
    (group,) = rig.ask(15, 6, DescribeGroupsRequest(groups=["g" * 32_767])).groups
    assert (group.error_code, len(group.error_message)) == (69, 32_767)


@for_each(
    "parts, named, left",
    [
        ("a,b,a,c", "a", "b,a,c"),
        ("a,b,a,c", "a,a,x", "b,c"),
        ("a,b,a,c", "a,a,a", "b,c"),
        ("a", "", "a"),
        ("a,b", "b,a", ""),
    ],
)
def test_what_is_taken_from_a_list_is_taken_as_often_as_it_is_named(parts: str, named: str, left: str) -> None:
    assert ",".join(without(parts.split(","), named.split(","))) == left


def test_a_list_is_appended_to_once_with_each_entry_and_subtracted_from() -> None:
    rig = CoreRig.make(topics=["t"])
    topic = rig.core.cluster.topics.require("t")
    assert alter(rig, 2, "t", THROTTLED, "0:1,0:2,0:1", operation=2) == (0, "")
    assert topic.configs[THROTTLED] == "0:1,0:2"
    assert alter(rig, 2, "t", THROTTLED, "0:2,0:3,0:3", operation=2) == (0, "")
    assert topic.configs[THROTTLED] == "0:1,0:2,0:3"
    assert alter(rig, 2, "t", THROTTLED, "0:1,0:9", operation=3) == (0, "")
    assert topic.configs[THROTTLED] == "0:2,0:3"


@for_each("length", [0, 1, 255, 256, 257, 512, 1000])
def test_a_long_name_has_javas_hash(length: int) -> None:
    dice = Random(length)
    text = "".join(dice.choice("aé水🎉") for _ in range(length))
    raw, value = text.encode("utf-16-le"), 0
    for at in range(0, len(raw), 2):
        value = 31 * value + int.from_bytes(raw[at : at + 2], "little") & 0xFFFFFFFF
    assert java_hash(text) == value
    assert partition_for(text, 50) == partition_for(text, 50) < 50


def test_members_may_leave_in_the_order_in_which_they_would_lead() -> None:
    """Each leaving member is the next leader, which must be found without a scan of all remaining members."""
    rig = CoreRig.make(settings={"group.initial.rebalance.delay.ms": 0})
    for number in range(40):
        rig.member(f"m{number}", group="g").join()
    rig.sleep(10)
    group: Any = rig.group("g")
    leaving = [MemberIdentity(member_id=member.member_id) for member in group.ordered()[:30]]
    staying = group.ordered()[30:]
    answer = rig.ask(13, 3, LeaveGroupRequest(group_id="g", members=leaving))
    assert [row.error_code for row in answer.members] == [0] * 30
    assert (group.ordered(), group.leader_id) == (staying, staying[0].member_id)
    assert group.first() is min(group.members.values(), key=staying.index)
    group.invariants()


def test_who_is_first_while_many_leave_is_who_is_first_of_those_that_are_left() -> None:
    rig = CoreRig.make(settings={"group.initial.rebalance.delay.ms": 0})
    for number in range(60):
        rig.member(f"m{number}", group="g").join()
    rig.sleep(10)
    group: Any = rig.group("g")
    dice = Random(7)
    with group.leaving():
        while group.members:
            group.drop(dice.choice(list(group.members.values())))
            assert group.first() is next(iter(group._sorted()), None)
    assert group.line is None


def test_a_list_grows_no_further_than_describe_configs_can_tell() -> None:
    """Kafka 4.3.0 refuses the APPEND with the same text; without a limit DescribeConfigs could no longer encode the topic."""
    rig = CoreRig.make(topics=["t"])
    first, second = (",".join(f"{number}:1" for number in range(start, start + 3000)) for start in (0, 3000))
    assert alter(rig, 2, "t", THROTTLED, first, operation=2) == (0, "")
    too_long = "The configuration value cannot be added because it exceeds the maximum value size of 32767 bytes."
    assert alter(rig, 2, "t", THROTTLED, second, operation=2) == (40, too_long)
    assert rig.core.cluster.topics.require("t").configs[THROTTLED] == first
    for name, arguments in (
        ("configure_topic", {"name": "t", "set": {THROTTLED: f"{first},{second}"}}),
        ("configure_node", {"set": {"unknown": "水" * 20_000}}),
        ("create_topic", {"name": "n", "configs": {THROTTLED: f"{first},{second}"}}),
    ):
        with pytest.raises(CannotSteer, match="exceeds the maximum value size"):
            rig.command(name, **arguments)
