"""Builds the view of a classic group for tests, with the decoded bytes of the consumer protocol."""

from __future__ import annotations

from groupmock_codec.embedded.consumer import Assignment, read_assignment, read_subscription

from ..view import GroupView, MemberView, group_view, member_view
from .group import Group, Member


def view_of(group: Group) -> GroupView:
    return group_view(group, (_member(group, member) for member in group.members.values()), group.leader_id)


def _member(group: Group, member: Member) -> MemberView:
    metadata = member.metadata(group.protocol_name) if group.protocol_name else b""
    consumer = group.protocol_type == "consumer"
    subscription = read_subscription(metadata) if consumer and metadata else None
    assignment = read_assignment(member.assignment) if consumer and member.assignment else None
    topics = list(subscription.topics) if subscription else []
    return member_view(member, topics, _by_topic(assignment), member.rebalance_timeout_ms, member.assignment)


def _by_topic(assignment: Assignment | None) -> dict[str, list[int]]:
    """Merge the assignment's partitions by topic, because an assignor may list a topic more than once and all entries count (Kafka:
    ConsumerProtocol.deserializeAssignment)."""
    found: dict[str, list[int]] = {}
    for topic in assignment.assigned_partitions if assignment is not None else ():
        found.setdefault(topic.topic, []).extend(topic.partitions)
    return found
