"""Lookups of what a command names. Their errors say what there is instead."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Protocol, TypeVar

from groupmock_codec.compression import RecordsError

from ..groups.classic.type import ClassicGroup
from ..groups.type import GroupMember, GroupType
from .register import NoSuch, NotNow

if TYPE_CHECKING:
    from groupmock_codec.room import Room

    from ..cluster import Cluster
    from ..log.partition import Partition
    from ..log.topics import Topic
    from ..transactions.transactional_id import TransactionalId
    from ..turn import Turn

M = TypeVar("M", bound=GroupMember, covariant=True)
LISTED = 5
"""So many names are listed in an error."""


class HasMembers(Protocol[M]):
    """A group of a type whose members are such."""

    @property
    def group_id(self) -> str:
        ...

    @property
    def members(self) -> Mapping[str, M]:
        ...

    @property
    def static_members(self) -> Mapping[str, str]:
        """Instance id -> member id."""


def listed(names: list[str]) -> str:
    """Names for an error text: a few of them, or "none"."""
    more = f" and {len(names) - LISTED} more" if len(names) > LISTED else ""
    return ", ".join(names[:LISTED]) + more if names else "none"


def group_of(cluster: Cluster, group_id: str) -> GroupType:
    """The group, of any type. Raises NoSuch."""
    group = cluster.groups.find(group_id)
    if group is None:
        raise NoSuch(f"no group {group_id!r}: there are {listed([each.group_id for each in cluster.groups.all()])}")
    return group


def classic_group_of(cluster: Cluster, group_id: str) -> ClassicGroup:
    """A group whose phases and members can be steered. Raises NoSuch, NotNow."""
    group = group_of(cluster, group_id)
    if not isinstance(group, ClassicGroup):
        raise NotNow(f"group {group_id!r} is a {group.group_type} group: only classic groups can be steered so")
    return group


def member_of(group: HasMembers[M], name: str) -> M:
    """A member by member id, instance id or client id. Raises NoSuch, NotNow where several members have that client id."""
    # Ids first: each is one member's at most, while a client id may be that of thousands
    by_id = group.members.get(group.static_members.get(name, name))
    if by_id is not None:
        return by_id
    found = [member for member in group.members.values() if member.client_id == name]
    if len(found) > 1:
        ids = listed([member.member_id for member in found])
        raise NotNow(f"group {group.group_id!r} has {len(found)} members of client {name!r}: name one by its member id: {ids}")
    if not found:
        raise NoSuch(f"group {group.group_id!r} has no member {name!r}: there are {listed(list(group.members))}")
    return found[0]


def transactional_id_of(cluster: Cluster, name: str) -> TransactionalId:
    """The transactional id, where somebody has it and its coordinator is there. Raises NoSuch."""
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
    """How many partitions the topic has. Raises NoSuch."""
    return len(topic_of(cluster, topic).partitions)


def check_partition(cluster: Cluster, topic: str, partition: int) -> None:
    """Raises NoSuch for a partition that the topic has not."""
    count = partitions_of(cluster, topic)
    if partition >= count:
        raise NoSuch(f"no partition {partition} of topic {topic!r}: there are 0 to {count - 1}")


def first_not_older(topic: str, partition: Partition, timestamp: int, room: Room) -> int:
    """Offset of the first record whose timestamp (ms since 1970) is not below that; without one the log's end. `room`: for all that
    one command or question looks up. Raises NotNow."""
    try:
        found = partition.by_timestamp(timestamp, room).offset
    except RecordsError as error:
        raise NotNow(f"{topic}/{partition.index}: the record of that time cannot be found: {error.reason}") from None
    return partition.end if found < 0 else found


def node_of(cluster: Cluster, node: int) -> int:
    """A node id that exists. Raises NoSuch."""
    nodes = cluster.environment.identity.nodes
    first, last = nodes[0].node_id, nodes[-1].node_id
    if not first <= node <= last:
        there = f"there are {first} to {last}" if last > first else f"there is node {first} only (serve --nodes N)"
        raise NoSuch(f"no node {node}: {there}")
    return node


def node_or_all(cluster: Cluster, node: int) -> int | None:
    """A node id that exists; None: all nodes are meant, by -1, and by 0 where no node has that id. Raises NoSuch."""
    if node < 0 or not (node or cluster.environment.identity.nodes[0].node_id == 0):
        return None
    return node_of(cluster, node)


def live_node(cluster: Cluster, node: int) -> int:
    """A node id that exists and runs. Raises NoSuch, NotNow."""
    if all(each.node_id != node_of(cluster, node) for each in cluster.environment.up):
        raise NotNow(f"node {node} is stopped: start it first")
    return node


def next_up(turn: Turn, node: int) -> int | None:
    """The node after that one that runs, around the end; the node itself when it is the only one."""
    up = [each.node_id for each in turn.environment.up]
    return next((each for each in up if each > node), up[0] if up else None)


def offsets_partition(cluster: Cluster, group: str | None, partition: int | None) -> int:
    """A partition of __consumer_offsets, by itself or as the one a group lives in (the group need not exist). Raises NoSuch, NotNow."""
    if (group is None) == (partition is None):
        raise NotNow("name either a group or a partition of __consumer_offsets")
    hosting = cluster.groups.hosting
    wanted = hosting.partition_of(group) if group is not None else partition
    count = hosting.hosted or hosting.places  # none: it was deleted and will be made anew
    if wanted is None or not 0 <= wanted < count:
        raise NoSuch(f"no partition {wanted} of __consumer_offsets: there are 0 to {count - 1}")
    return wanted
