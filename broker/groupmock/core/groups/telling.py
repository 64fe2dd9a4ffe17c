"""Journal notes about groups of any type: a group's state changes, or members come, go or change."""

from __future__ import annotations

from ..effects import MemberChanged, Moved
from ..turn import Turn
from .causes import Why
from .type import GroupMember, GroupType


def changed(turn: Turn, group: GroupType, member_id: str, what: str, why: Why, member: GroupMember | None = None) -> None:
    """Record a change of a member or of a reserved id."""
    if member is None:
        turn.out.append(MemberChanged(group.group_id, member_id, what, why.cause, why.sentence))
        return
    instance, client_id, client_host = member.group_instance_id, member.client_id, member.client_host
    turn.out.append(MemberChanged(group.group_id, member_id, what, why.cause, why.sentence, instance, client_id, client_host))


def moved(turn: Turn, group: GroupType, before: str, why: Why) -> None:
    """Record that the group has changed its state; `before` is empty for a new group."""
    turn.out.append(
        Moved(
            group=group.group_id,
            before=str(before),
            after=str(group.state),
            generation=group.generation,
            cause=why.cause,
            reason=why.sentence,
            leader=group.leader_id,
            protocol_type=group.protocol_type,
            protocol_name=group.protocol_name,
            members=len(group.members),
        )
    )
