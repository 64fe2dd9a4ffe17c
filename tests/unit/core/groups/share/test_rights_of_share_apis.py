"""The rights that requests about share groups need, in Kafka's order and with its texts (KafkaApis of 4.4.0)."""

from __future__ import annotations

from typing import Any

from share_world import ShareWorld

from groupmock_codec.messages.k30_create_acls import AclCreation, CreateAclsRequest

AUTHORIZER = "org.apache.kafka.metadata.authorizer.StandardAuthorizer"
READ, DELETE, DESCRIBE = 3, 6, 8
TOPIC, GROUP = 2, 3


def allow(world: ShareWorld, kind: int, name: str, operation: int) -> None:
    """Let everybody do an operation on a resource."""
    acl = AclCreation(resource_type=kind, resource_name=name, operation=operation, permission_type=3)
    acl.resource_pattern_type, acl.principal, acl.host = 3, "User:*", "*"
    world.rig.send(30, 3, CreateAclsRequest(creations=[acl]), principal="User:admin")


def guarded(**settings: Any) -> ShareWorld:
    """Return a world in which only the administrator may do anything."""
    return ShareWorld(authorizer_class_name=AUTHORIZER, super_users="User:admin", **settings)


def test_a_heartbeat_needs_to_read_its_group_and_to_describe_its_topics() -> None:
    world = guarded()
    assert world.refused(subscribed_topic_names=["t"]) == (30, None)
    allow(world, GROUP, "g", READ)
    assert world.refused(member_id="", subscribed_topic_names=["t"]) == (42, None), "the member id is looked at before the topics"
    assert world.refused(subscribed_topic_names=["t"]) == (29, None)
    allow(world, TOPIC, "t", DESCRIBE)
    assert world.join().epoch == 2


def test_describing_needs_to_describe_the_group_and_its_topics() -> None:
    world = guarded()
    for kind, name in ((GROUP, "g"), (TOPIC, "t")):
        allow(world, kind, name, READ)
    world.join()
    world.settle("A")
    assert [each.error_code for each in world.described("g", "other")] == [30, 0], "the right to read implies that to describe"


def test_offsets_of_share_groups_need_rights_to_group_and_topics() -> None:
    world = guarded()
    assert world.offsets({"t": [0]}) == (30, None)
    assert world.alter({"t": {0: 1}}) == (30, world.alter({"t": {0: 1}})[1])
    allow(world, GROUP, "g", READ)
    assert {code for code, _ in world.alter({"t": {0: 1}})["t"].values()} == {29}
    allow(world, TOPIC, "t", READ)
    assert world.alter({"t": {0: 1}}) == {"t": {0: (0, None)}}
    assert world.offsets({"t": [0], "u": [0]})["t"] == {0: (1, 0, -1)}
    assert world.delete_offsets("t")[0] == 30, "deleting needs the right to delete the group"
    allow(world, GROUP, "g", DELETE)
    assert world.delete_offsets("t", "u") == {"t": (0, None), "u": world.delete_offsets("u")["u"]}
    assert world.delete_offsets("u")["u"][0] == 29
