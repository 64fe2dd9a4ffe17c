"""LeaveGroup of members of a consumer group: an administrator's (CG-163, CG-179; GroupMetadataManager.classicGroupLeaveToConsumerGroup)."""

from __future__ import annotations

from collections.abc import Sequence

from groupmock_codec.messages.k13_leave_group import MemberIdentity

from ...turn import Turn
from .. import causes, codes
from . import membership
from .group import Group, Member


def remove(turn: Turn, group: Group, entries: Sequence[MemberIdentity]) -> list[int]:
    """A code per entry; one other target is called for, however many go."""
    gone: dict[str, MemberIdentity] = {}
    errors = []
    for entry in entries:
        member, error = _named(group, entry)
        if member is not None and member.member_id in gone:
            error = codes.UNKNOWN_MEMBER_ID
        elif member is not None:
            gone[member.member_id] = entry
        errors.append(error)
    if gone:
        told = [(each.member_id, each.group_instance_id, each.reason) for each in gone.values()]
        membership.remove(turn, group, [group.members[member_id] for member_id in gone], causes.members_left(told))
    return errors


def _named(group: Group, entry: MemberIdentity) -> tuple[Member | None, int]:
    if entry.group_instance_id is None:
        member = group.members.get(entry.member_id)
        return member, codes.NONE if member is not None else codes.UNKNOWN_MEMBER_ID
    holder = group.static_members.get(entry.group_instance_id)
    if holder is None:
        return None, codes.UNKNOWN_MEMBER_ID
    if entry.member_id and entry.member_id != holder:
        return None, codes.FENCED_INSTANCE_ID
    return group.members[holder], codes.NONE
