"""The feature share.version: advertised, lowered, raised (SG-04, SG-05); and the coordinators of share groups and partitions (SG-02,
SG-06)."""

from __future__ import annotations

from typing import Any

from groupmock.rig import WireRig
from groupmock_codec.messages.k10_find_coordinator import FindCoordinatorRequest
from groupmock_codec.messages.k16_list_groups import ListGroupsRequest
from groupmock_codec.messages.k18_api_versions import ApiVersionsRequest
from groupmock_codec.messages.k57_update_features import FeatureUpdateKey, UpdateFeaturesRequest
from groupmock_codec.messages.k76_share_group_heartbeat import ShareGroupHeartbeatRequest
from groupmock_codec.messages.k77_share_group_describe import ShareGroupDescribeRequest
from groupmock_codec.messages.k90_describe_share_group_offsets import (
    DescribeShareGroupOffsetsRequest,
    DescribeShareGroupOffsetsRequestGroup,
)
from groupmock_codec.messages.k91_alter_share_group_offsets import AlterShareGroupOffsetsRequest
from groupmock_codec.messages.k92_delete_share_group_offsets import DeleteShareGroupOffsetsRequest

NAME = "share.version"
OFF = "The version of API is not supported."
NOT_HERE = "This is not the correct coordinator."


def finalized(wire: Any) -> list[int]:
    answer = wire.ask(18, 4, ApiVersionsRequest(client_software_name="a", client_software_version="b"))
    return [each.max_version_level for each in answer.finalized_features if each.name == NAME]


def update(wire: Any, level: int, kind: int) -> int:
    wanted = FeatureUpdateKey(feature=NAME, max_version_level=level, upgrade_type=kind)
    code: int = wire.ask(57, 1, UpdateFeaturesRequest(feature_updates=[wanted])).error_code
    return code


def test_share_apis_are_refused_while_the_feature_is_off() -> None:
    wire = WireRig.make(topics={"t": 1}).connect()
    join = ShareGroupHeartbeatRequest(group_id="g", member_id="A", subscribed_topic_names=["t"])
    assert wire.ask(76, 1, join).error_code == 0
    assert (finalized(wire), update(wire, 0, 3), finalized(wire)) == ([2], 0, [])
    beat = wire.ask(76, 1, join)
    assert (beat.error_code, beat.error_message) == (35, None)
    (group,) = wire.ask(77, 1, ShareGroupDescribeRequest(group_ids=["g"])).groups
    assert (group.error_code, group.error_message) == (35, None)
    asked = DescribeShareGroupOffsetsRequest(groups=[DescribeShareGroupOffsetsRequestGroup(group_id="g", topics=None)])
    (described,) = wire.ask(90, 1, asked).groups
    assert (described.error_code, described.error_message) == (35, None)
    for key, request in ((91, AlterShareGroupOffsetsRequest(group_id="g")), (92, DeleteShareGroupOffsetsRequest(group_id="g"))):
        refused = wire.ask(key, 0, request)
        assert (refused.error_code, refused.error_message) == (35, OFF)
    assert [each.group_id for each in wire.ask(16, 5, ListGroupsRequest()).groups] == ["g"]
    assert (update(wire, 2, 1), finalized(wire), wire.ask(76, 1, join).error_code) == (0, [2], 0)


def test_the_coordinator_of_a_share_partition_leads_its_state() -> None:
    rig = WireRig.make(topics={"t": 1}, nodes=3)
    wire = rig.connect()
    keys = [f"g:{'A' * 22}:{number}" for number in range(30)]
    found = wire.ask(10, 6, FindCoordinatorRequest(key_type=2, coordinator_keys=[*keys, "g", f"g:{'A' * 22}:x"])).coordinators
    assert {each.error_code for each in found[:30]} == {0}
    assert {each.node_id for each in found[:30]} == {1, 2, 3}
    assert [(each.error_code, each.node_id) for each in found[30:]] == [(42, -1)] * 2


def test_a_node_that_coordinates_another_group_refuses_this_one() -> None:
    rig = WireRig.make(topics={"t": 1}, nodes=2)
    (found,) = rig.connect().ask(10, 6, FindCoordinatorRequest(key_type=0, coordinator_keys=["g"])).coordinators
    wire = rig.connect(3 - found.node_id)
    beat = wire.ask(76, 1, ShareGroupHeartbeatRequest(group_id="g", member_id="A", subscribed_topic_names=["t"]))
    (group,) = wire.ask(77, 1, ShareGroupDescribeRequest(group_ids=["g"])).groups
    asked = DescribeShareGroupOffsetsRequest(groups=[DescribeShareGroupOffsetsRequestGroup(group_id="g", topics=None)])
    (described,) = wire.ask(90, 1, asked).groups
    altered = wire.ask(91, 0, AlterShareGroupOffsetsRequest(group_id="g"))
    deleted = wire.ask(92, 0, DeleteShareGroupOffsetsRequest(group_id="g"))
    assert (beat.error_code, beat.error_message) == (16, None)
    assert [(each.error_code, each.error_message) for each in (group, described, altered, deleted)] == [(16, NOT_HERE)] * 4
