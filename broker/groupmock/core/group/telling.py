"""What a group does is told: its state moves, members come, go, change."""

from __future__ import annotations

from ..effects import MemberChanged, Moved
from ..turn import Turn
from .causes import Why
from .group import Group, Member
from .states import State


def changed(turn: Turn, group: Group, member_id: str, what: str, why: Why, member: Member | None = None) -> None:
    """Tell what happened to a member or a reserved id."""
    if member is None:
        turn.out.append(MemberChanged(group.group_id, member_id, what, why.cause, why.sentence))
        return
    instance, client_id, client_host = member.group_instance_id, member.client_id, member.client_host
    turn.out.append(MemberChanged(group.group_id, member_id, what, why.cause, why.sentence, instance, client_id, client_host))


def move(turn: Turn, group: Group, state: State, why: Why) -> None:
    """Change a group's state and tell why."""
    before = group.move(state, turn.wall_ms)
    tell_move(turn, group, str(before), str(state), why)


def tell_move(turn: Turn, group: Group, before: str, after: str, why: Why) -> None:
    """Tell a change of state that has happened."""
    turn.out.append(
        Moved(
            group=group.group_id,
            before=before,
            after=after,
            generation=group.generation,
            cause=why.cause,
            reason=why.sentence,
            leader=group.leader_id,
            protocol_type=group.protocol_type,
            protocol_name=group.protocol_name,
            members=len(group.members),
        )
    )
