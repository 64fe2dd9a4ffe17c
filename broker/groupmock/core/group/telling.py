"""What a group does is told: its state moves, members come, go, change."""

from __future__ import annotations

from ..effects import MemberChanged, Moved
from ..turn import Turn
from .group import Group, Member
from .states import State


def changed(turn: Turn, group: Group, member_id: str, what: str, reason: str, member: Member | None = None) -> None:
    """Tell what happened to a member or a reserved id."""
    if member is None:
        turn.out.append(MemberChanged(group.group_id, member_id, what, reason))
        return
    told = MemberChanged(group.group_id, member_id, what, reason, member.group_instance_id, member.client_id, member.client_host)
    turn.out.append(told)


def move(turn: Turn, group: Group, state: State, reason: str) -> None:
    """Change a group's state and tell why in plain words."""
    before = group.move(state, turn.wall_ms)
    tell_move(turn, group, str(before), str(state), reason)


def tell_move(turn: Turn, group: Group, before: str, after: str, reason: str) -> None:
    """Tell a change of state that has happened."""
    turn.out.append(
        Moved(
            group=group.group_id,
            before=before,
            after=after,
            generation=group.generation,
            reason=reason,
            leader=group.leader_id,
            protocol_type=group.protocol_type,
            protocol_name=group.protocol_name,
            members=len(group.members),
        )
    )
