"""The feature streams.version is advertised and can be lowered (ST-01, ST-02, ST-05). A node refuses groups that another coordinates
(ST-04, ST-305)."""

from __future__ import annotations

from typing import Any

from cases import for_each

from groupmock.rig import WireRig
from groupmock_codec.messages import k88_streams_group_heartbeat as k88
from groupmock_codec.messages.k10_find_coordinator import FindCoordinatorRequest
from groupmock_codec.messages.k18_api_versions import ApiVersionsRequest
from groupmock_codec.messages.k57_update_features import FeatureUpdateKey, UpdateFeaturesRequest
from groupmock_codec.messages.k89_streams_group_describe import StreamsGroupDescribeRequest
from groupmock_codec.messages.k93_streams_group_topology_description_update import StreamsGroupTopologyDescriptionUpdateRequest

NAME = "streams.version"


def _told(wire: Any, version: int = 4) -> tuple[list[tuple[int, int]], list[tuple[int, int]]]:
    """Return the finalized and the supported levels of the feature."""
    answer = wire.ask(18, version, ApiVersionsRequest(client_software_name="a", client_software_version="b"))
    finalized = [(each.min_version_level, each.max_version_level) for each in answer.finalized_features if each.name == NAME]
    return finalized, [(each.min_version, each.max_version) for each in answer.supported_features if each.name == NAME]


def _update(wire: Any, level: int, kind: int) -> int:
    wanted = FeatureUpdateKey(feature=NAME, max_version_level=level, upgrade_type=kind)
    code: int = wire.ask(57, 1, UpdateFeaturesRequest(feature_updates=[wanted])).error_code
    return code


def _join() -> k88.StreamsGroupHeartbeatRequest:
    source = k88.Subtopology(subtopology_id="0", source_topics=["t"])
    return k88.StreamsGroupHeartbeatRequest(
        group_id="g",
        member_id="A",
        rebalance_timeout_ms=1000,
        topology=k88.Topology(epoch=0, subtopologies=[source]),
        active_tasks=[],
        standby_tasks=[],
        warmup_tasks=[],
    )


@for_each("profile, last", [("kafka-4.4", 1), ("kafka-4.3", 0), ("groupmock", 1)])
def test_streams_groups_are_served_in_the_versions_of_the_release(profile: str, last: int) -> None:
    wire = WireRig.make(topics={"t": 1}, profile=profile).connect()
    assert (_told(wire, 3), _told(wire)) == (([(1, 1)], []), ([(1, 1)], [(0, 1)]))
    join = _join()
    assert wire.ask(88, last, join).error_code == 0
    assert _update(wire, 0, 3) == 0
    assert _told(wire)[0] == []
    beat = wire.ask(88, last, join)
    assert (beat.error_code, beat.error_message, beat.member_id, beat.member_epoch, beat.heartbeat_interval_ms) == (35, None, "", 0, 0)
    (group,) = wire.ask(89, last, StreamsGroupDescribeRequest(group_ids=["g"])).groups
    assert (group.error_code, group.error_message, group.group_state) == (35, None, "")
    if last:
        refused = wire.ask(93, 0, StreamsGroupTopologyDescriptionUpdateRequest(group_id="g"))
        assert (refused.error_code, refused.error_message) == (35, None)
    assert _update(wire, 1, 1) == 0
    assert wire.ask(88, last, join).error_code == 0


def test_a_node_that_coordinates_another_group_refuses_this_streams_group() -> None:
    rig = WireRig.make(topics={"t": 1}, nodes=2)
    (found,) = rig.connect().ask(10, 6, FindCoordinatorRequest(key_type=0, coordinator_keys=["g"])).coordinators
    wire = rig.connect(3 - found.node_id)
    beat = wire.ask(88, 1, _join())
    (group,) = wire.ask(89, 1, StreamsGroupDescribeRequest(group_ids=["g"])).groups
    assert [(each.error_code, each.error_message) for each in (beat, group)] == [(16, None)] * 2
    # Kafka looks for a plugin first, and a stock broker has none.
    assert wire.ask(93, 0, StreamsGroupTopologyDescriptionUpdateRequest(group_id="g")).error_code == 35
