"""A broker with a plug-in asks members for a description of their topology, and shows it (ST-230 to ST-235)."""

from __future__ import annotations

from typing import Any, Final

from streams_world import StreamsWorld, subtopology, topology

from groupmock_codec.messages import k93_streams_group_topology_description_update as k93
from groupmock_codec.messages.k42_delete_groups import DeleteGroupsRequest

PLUGIN: Final = "org.apache.kafka.server.InMemoryTopologyDescriptionPlugin"


def _world() -> StreamsWorld:
    return StreamsWorld(group_streams_topology_description_plugin_class=PLUGIN, group_streams_session_timeout_ms=3_600_000)


def _send(world: StreamsWorld, node_type: int = 1, **fields: Any) -> tuple[int, str | None]:
    node = k93.TopologyDescriptionNode(name="source", node_type=node_type, source_topics=["t"], successors=["sink"])
    described = k93.TopologyDescription(subtopologies=[k93.TopologyDescriptionSubtopology(subtopology_id="0", nodes=[node])])
    request = k93.StreamsGroupTopologyDescriptionUpdateRequest(
        **{"group_id": "g", "member_id": "A", "topology_description": described, **fields}
    )
    answer = world.answers[world.rig.send(93, 0, request, node=world.node).ticket]
    return answer.error_code, answer.error_message


def test_description_is_asked_for_until_it_is_stored_with_growing_pauses() -> None:
    world = _world()
    assert world.raw_join(rebalance_timeout_ms=3_600_000).topology_description_required
    assert not world.raw_join("B").topology_description_required
    for pause in (30_000, 60_000):
        world.sleep(pause - 20_000)
        assert not world.raw(member_epoch=world.streams_group.members["A"].epoch).topology_description_required
        world.sleep(20_000)
        assert world.raw(member_epoch=world.streams_group.members["A"].epoch).topology_description_required
    assert _send(world) == (0, None)
    world.sleep(20_000)
    assert not world.raw(member_epoch=world.streams_group.members["A"].epoch).topology_description_required


def test_version_0_and_stale_topologies_are_not_asked_for_a_description() -> None:
    world = _world()
    assert not world.raw_join(of=topology(subtopology("0", "t"), epoch=1), version=0).topology_description_required
    assert not world.raw_join("B", topology(subtopology("0", "t"), epoch=0)).topology_description_required
    assert world.raw(member_epoch=world.streams_group.members["A"].epoch).topology_description_required


def test_description_is_refused_in_kafkas_order() -> None:
    world = _world()
    assert _send(world, member_id="", group_id="") == (42, "MemberId can't be empty.")
    assert _send(world, group_id="") == (42, "GroupId can't be empty.")
    assert _send(world) == (69, "Group g not found.")
    world.join()
    assert _send(world, member_id="X") == (25, "Member X is not a member of group g.")
    assert _send(world, topology_epoch=4) == (42, "Topology epoch 4 does not match the group's current topology epoch 0.")
    assert _send(world, node_type=9)[0] == 42


def test_description_is_shown_and_kept_until_the_group_is_deleted() -> None:
    world = _world()
    world.join()
    (group,) = world.described("g", include_topology_description=True)
    assert (group.topology_description_status, group.topology_description) == (1, None)
    assert [_send(world), _send(world)] == [(0, None), (0, None)]
    world.leave()
    (group,) = world.described("g", include_topology_description=True)
    assert group.topology_description is not None and group.topology_description_status == 3
    assert [each.nodes[0].successors for each in group.topology_description.subtopologies] == [["sink"]]
    assert world.described("g")[0].topology_description is None
    world.rig.send(42, 2, DeleteGroupsRequest(groups_names=["g"]), node=world.node)
    world.join()
    assert world.described("g", include_topology_description=True)[0].topology_description_status == 1
