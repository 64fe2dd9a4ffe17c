"""Builds the view of a classic group for tests, with the decoded bytes of the consumer protocol."""

from __future__ import annotations

from typing import cast

from groupmock_codec.embedded.consumer import Assignment, read_assignment, read_subscription

from ..view import GroupView, MemberView, State, offsets_view
from .group import Group, Member


def view_of(group: Group) -> GroupView:
    return GroupView(
        group_id=group.group_id,
        state=cast(State, str(group.state)),
        generation=group.generation,
        protocol_type=group.protocol_type,
        protocol_name=group.protocol_name,
        leader=group.leader_id,
        members=[_member(group, member) for member in group.members.values()],
        offsets=offsets_view(group.offsets),
    )


def _member(group: Group, member: Member) -> MemberView:
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
        assignment=_by_topic(assignment),
        assignment_bytes=member.assignment,
    )


def _by_topic(assignment: Assignment | None) -> dict[str, list[int]]:
    """Merge the assignment's partitions by topic, because an assignor may list a topic more than once and all entries count (Kafka:
    ConsumerProtocol.deserializeAssignment)."""
    found: dict[str, list[int]] = {}
    for topic in assignment.assigned_partitions if assignment is not None else ():
        found.setdefault(topic.topic, []).extend(topic.partitions)
    return found
