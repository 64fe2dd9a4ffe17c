"""Looks up the objects that a command names, and raises errors that list the existing ones."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Protocol, TypeVar

from groupmock_codec.compression import RecordsError

from ..effects import AnyMember
from ..groups.classic.type import ClassicGroup
from ..groups.type import GroupType
from .register import NoSuch, NotNow

if TYPE_CHECKING:
    from groupmock_codec.room import Room

    from ..cluster import Cluster
    from ..log.partition import Partition
    from ..log.topics import Topic
    from ..transactions.transactional_id import TransactionalId
    from ..turn import Turn

M = TypeVar("M", bound=AnyMember, covariant=True)
LISTED = 5
"""The largest number of names that an error lists."""


class HasMembers(Protocol[M]):
    """A group of any type that has members."""

    @property
    def group_id(self) -> str:
        ...

    @property
    def members(self) -> Mapping[str, M]:
        ...

    @property
    def static_members(self) -> Mapping[str, str]:
        """Return the member id of each instance id."""


def listed(names: list[str]) -> str:
    """Return the names as text for an error: the first few, or "none"."""
    more = f" and {len(names) - LISTED} more" if len(names) > LISTED else ""
    return ", ".join(names[:LISTED]) + more if names else "none"


def group_of(cluster: Cluster, group_id: str) -> GroupType:
    """Return the group with this id, of any type. Raises NoSuch."""
    group = cluster.groups.find(group_id)
    if group is None:
        raise NoSuch(f"no group {group_id!r}: there are {listed([each.group_id for each in cluster.groups.all()])}")
    return group


def classic_group_of(cluster: Cluster, group_id: str) -> ClassicGroup:
    """Return the classic group with this id, because only classic groups have phases and members that commands can steer. Raises NoSuch,
    NotNow."""
    group = group_of(cluster, group_id)
    if not isinstance(group, ClassicGroup):
        raise NotNow(f"group {group_id!r} is a {group.group_type} group: only classic groups can be steered so")
    return group


def member_of(group: HasMembers[M], name: str) -> M:
    """Return the member with this member id, instance id or client id. Raises NoSuch, NotNow if several members have that client id."""
    # Member ids and instance ids come first, because they belong to one member, while thousands may share a client id.
    by_id = group.members.get(group.static_members.get(name, name))
    if by_id is not None:
        return by_id
    same_client = [member for member in group.members.values() if member.client_id == name]
    if len(same_client) > 1:
        ids = listed([member.member_id for member in same_client])
        raise NotNow(f"group {group.group_id!r} has {len(same_client)} members of client {name!r}: name one by its member id: {ids}")
    if not same_client:
        raise NoSuch(f"group {group.group_id!r} has no member {name!r}: there are {listed(list(group.members))}")
    return same_client[0]


def transactional_id_of(cluster: Cluster, name: str) -> TransactionalId:
    """Return the transactional id, if it exists and has a coordinator. Raises NoSuch."""
    known = cluster.transactions.find(name)
    if known is None:
        raise NoSuch(f"no transactional id {name!r}: there are {listed([each.name for each in cluster.transactions.all()])}")
    return known


def topic_of(cluster: Cluster, name: str) -> Topic:
    """Return the topic, or raise NoSuch."""
    topic = cluster.topics.get(name)
    if topic is None:
        raise NoSuch(f"no topic {name!r}: there are {listed(cluster.topics.names())}")
    return topic


def partitions_of(cluster: Cluster, topic: str) -> int:
    """Return the number of the topic's partitions. Raises NoSuch."""
    return len(topic_of(cluster, topic).partitions)


def check_partition(cluster: Cluster, topic: str, partition: int) -> None:
    """Check that the topic has the partition. Raises NoSuch."""
    count = partitions_of(cluster, topic)
    if partition >= count:
        raise NoSuch(f"no partition {partition} of topic {topic!r}: there are 0 to {count - 1}")


def first_not_older(topic: str, partition: Partition, timestamp: int, room: Room) -> int:
    """Return the offset of the first record whose timestamp (ms since 1970) is at least the given one, or else the log's end. `room`
    limits all look-ups of one command together. Raises NotNow."""
    try:
        found = partition.by_timestamp(timestamp, room).offset
    except RecordsError as error:
        raise NotNow(f"{topic}/{partition.index}: the record of that time cannot be found: {error.reason}") from None
    return partition.end if found < 0 else found


def node_of(cluster: Cluster, node: int) -> int:
    """Check that a node with this id exists, and return the id. Raises NoSuch."""
    nodes = cluster.environment.identity.nodes
    first, last = nodes[0].node_id, nodes[-1].node_id
    if not first <= node <= last:
        there = f"there are {first} to {last}" if last > first else f"there is node {first} only (serve --nodes N)"
        raise NoSuch(f"no node {node}: {there}")
    return node


def node_or_all(cluster: Cluster, node: int) -> int | None:
    """Return the node id, or None if all nodes are meant: by -1, or by 0 if no node has that id. Raises NoSuch."""
    if node < 0 or not (node or cluster.environment.identity.nodes[0].node_id == 0):
        return None
    return node_of(cluster, node)


def live_node(cluster: Cluster, node: int) -> int:
    """Check that the node exists and is up, and return its id. Raises NoSuch, NotNow."""
    if all(each.node_id != node_of(cluster, node) for each in cluster.environment.up):
        raise NotNow(f"node {node} is stopped: start it first")
    return node


def next_up(turn: Turn, node: int) -> int | None:
    """Return the next node that is up, in the order of node ids and starting again with the first. That is the node itself if it is the
    only one."""
    up = [each.node_id for each in turn.environment.up]
    return next((each for each in up if each > node), up[0] if up else None)


def offsets_partition(cluster: Cluster, group: str | None, partition: int | None) -> int:
    """Return the partition of __consumer_offsets that a command names, directly or by a group, which need not exist. Raises NoSuch,
    NotNow."""
    if (group is None) == (partition is None):
        raise NotNow("name either a group or a partition of __consumer_offsets")
    hosting = cluster.groups.hosting
    wanted = hosting.partition_of(group) if group is not None else partition
    # The topic may have been deleted and have 0 partitions, until the next look-up creates it again.
    count = hosting.hosted or hosting.places
    if wanted is None or not 0 <= wanted < count:
        raise NoSuch(f"no partition {wanted} of __consumer_offsets: there are 0 to {count - 1}")
    return wanted
