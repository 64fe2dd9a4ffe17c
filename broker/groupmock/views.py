"""What a test sees of the cluster: plain frozen values, copied on the server's thread."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from .core.groups.classic.group import Group, Member

Assignment = dict[str, list[int]]


class MemberView(msgspec.Struct, frozen=True):
    """One member of a classic group. `assignment` is topic -> partitions where the bytes are the consumer protocol's, else {}."""

    member_id: str
    group_instance_id: str | None
    client_id: str | None
    client_host: str
    session_timeout_ms: int
    rebalance_timeout_ms: int
    subscription: list[str]
    assignment: Assignment
    assignment_bytes: bytes


class GroupView(msgspec.Struct, frozen=True):
    """One group. `state` is Kafka's name; `offsets` is topic -> partition -> committed offset."""

    group_id: str
    state: str
    generation: int
    protocol_type: str | None
    protocol_name: str | None
    leader: str | None
    members: list[MemberView]
    offsets: dict[str, dict[int, int]]


class Record(msgspec.Struct, frozen=True):
    """One record of a log. `timestamp` is ms since 1970."""

    topic: str
    partition: int
    offset: int
    timestamp: int
    key: bytes | None
    value: bytes | None
    headers: list[tuple[str, bytes | None]]


def view_group(group: Group) -> GroupView:
    """Copy a group."""
    return GroupView(
        group_id=group.group_id,
        state=str(group.state),
        generation=group.generation,
        protocol_type=group.protocol_type,
        protocol_name=group.protocol_name,
        leader=group.leader_id,
        members=[_view_member(group, member) for member in group.members.values()],
        offsets=_view_offsets(group),
    )


def _view_offsets(group: Group) -> dict[str, dict[int, int]]:
    found: dict[str, dict[int, int]] = {}
    for (topic, partition), commit in sorted(group.offsets.items()):
        found.setdefault(topic, {})[partition] = commit.offset
    return found


def _view_member(group: Group, member: Member) -> MemberView:
    from groupmock_codec.embedded.consumer import read_assignment, read_subscription

    metadata = member.metadata(group.protocol_name) if group.protocol_name else b""
    consumer = group.protocol_type == "consumer"
    subscription = read_subscription(metadata) if consumer and metadata else None
    assignment = read_assignment(member.assignment) if consumer and member.assignment else None
    return MemberView(
        member_id=member.member_id,
        group_instance_id=member.group_instance_id,
        client_id=member.client_id,
        client_host=member.client_host,
        session_timeout_ms=member.session_timeout_ms,
        rebalance_timeout_ms=member.rebalance_timeout_ms,
        subscription=list(subscription.topics) if subscription else [],
        assignment={topic.topic: list(topic.partitions) for topic in assignment.assigned_partitions} if assignment else {},
        assignment_bytes=member.assignment,
    )
