"""What a test sees of a consumer group."""

from __future__ import annotations

from typing import cast

from ..view import Assignment, GroupView, MemberView, State, offsets_view
from .group import Group, Member


def view_of(group: Group) -> GroupView:
    """Copy a group. Its generation is the group epoch; nobody leads."""
    return GroupView(
        group_id=group.group_id,
        state=cast(State, str(group.state)),
        generation=group.generation,
        protocol_type=group.protocol_type,
        protocol_name=group.protocol_name,
        leader=None,
        members=[_member(group, member) for member in group.members.values()],
        offsets=offsets_view(group.offsets),
    )


def _member(group: Group, member: Member) -> MemberView:
    names = {topic_id: name for name, (topic_id, _) in group.topics.items()}
    assignment: Assignment = {}
    for topic, index in sorted(member.assigned):
        if topic in names:
            assignment.setdefault(names[topic], []).append(index)
    return MemberView(
        member_id=member.member_id,
        group_instance_id=member.group_instance_id,
        client_id=member.client_id,
        client_host=member.client_host,
        session_timeout_ms=member.session_timeout_ms,
        rebalance_timeout_ms=member.rebalance_timeout_ms,
        subscription=sorted(group.subscription_of(member)),
        assignment=assignment,
        assignment_bytes=b"",
    )
