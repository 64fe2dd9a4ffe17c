"""The rights that requests about streams groups need, in Kafka's order and with its texts (ST-300 to ST-304)."""

from __future__ import annotations

from typing import Final

from streams_world import PLAIN, StreamsWorld, subtopology, topology

from groupmock_codec.messages import k88_streams_group_heartbeat as k88
from groupmock_codec.messages.k30_create_acls import AclCreation, CreateAclsRequest
from groupmock_codec.messages.k93_streams_group_topology_description_update import StreamsGroupTopologyDescriptionUpdateRequest

AUTHORIZER: Final = "org.apache.kafka.metadata.authorizer.StandardAuthorizer"
READ, CREATE, DESCRIBE = 3, 5, 8
TOPIC, GROUP = 2, 3
INTERNAL: Final = topology(subtopology("0", "t", state=["c", "d"]))


def _allow(world: StreamsWorld, kind: int, name: str, operation: int) -> None:
    """Let everybody do an operation on a resource."""
    acl = AclCreation(resource_type=kind, resource_name=name, operation=operation, permission_type=3)
    acl.resource_pattern_type, acl.principal, acl.host = 3, "User:*", "*"
    world.rig.send(30, 3, CreateAclsRequest(creations=[acl]), principal="User:admin")


def _guarded() -> StreamsWorld:
    """Return a world in which only the administrator may do anything."""
    return StreamsWorld(authorizer_class_name=AUTHORIZER, super_users="User:admin")


def test_streams_join_needs_to_read_its_group_and_to_describe_all_topics() -> None:
    world = _guarded()
    assert world.refused(world.raw_join("", INTERNAL)) == (30, None)
    _allow(world, GROUP, "g", READ)
    for name in ("t", "c"):
        assert world.refused(world.raw_join("", INTERNAL)) == (29, None)
        _allow(world, TOPIC, name, DESCRIBE)
    assert world.refused(world.raw_join("", topology(subtopology("0", "a b"))))[0] == 130, "names are looked at before rights"
    _allow(world, TOPIC, "d", DESCRIBE)
    assert world.refused(world.raw_join("", INTERNAL))[0] == 42
    assert world.raw_join("A", INTERNAL).error_code == 0


def test_internal_topics_are_made_with_the_rights_of_the_member() -> None:
    world = _guarded()
    _allow(world, GROUP, "g", READ)
    for name in ("t", "c", "d"):
        _allow(world, TOPIC, name, DESCRIBE)
    _allow(world, TOPIC, "c", CREATE)
    told = world.raw_join("A", INTERNAL).status
    assert [each.status_detail for each in told] == ["Internal topics are missing: c, d; Unauthorized to CREATE on topics d."]
    world.sleep(1)
    assert world.topics.partitions("c") is None
    _allow(world, TOPIC, "d", CREATE)
    assert world.raw(member_epoch=2).status[0].status_detail == "Internal topics are missing: c, d"
    world.sleep(1)
    assert (world.topics.partitions("c"), world.topics.partitions("d")) == (4, 4)


def test_describing_a_streams_group_needs_to_describe_the_group_and_its_topics() -> None:
    world = _guarded()
    assert [each.error_code for each in world.described("g")] == [30]
    _allow(world, GROUP, "g", READ)
    _allow(world, TOPIC, "t", DESCRIBE)
    world.join()
    assert [(each.error_code, each.group_state) for each in world.described("g", "other")] == [(30, ""), (0, "Stable")]


def test_streams_group_with_a_hidden_topic_is_not_described() -> None:
    world = _guarded()
    _allow(world, GROUP, "g", DESCRIBE)
    world.rig.send(88, 1, _join(), client_id="c", principal="User:admin", node=world.node)
    (group,) = world.described("g")
    text = "The described group uses topics that the client is not authorized to describe."
    assert (group.error_code, group.error_message, group.group_state, group.topology, group.members) == (29, text, "", None, [])


def _join() -> k88.StreamsGroupHeartbeatRequest:
    return k88.StreamsGroupHeartbeatRequest(
        group_id="g", member_id="A", rebalance_timeout_ms=1, topology=PLAIN, active_tasks=[], standby_tasks=[], warmup_tasks=[]
    )


def test_description_of_a_topology_needs_to_read_the_group() -> None:
    world = _guarded()
    request = StreamsGroupTopologyDescriptionUpdateRequest(group_id="g")
    answer = world.answers[world.rig.send(93, 0, request).ticket]
    assert (answer.error_code, answer.error_message) == (30, None)
