"""Whom a heartbeat is from: the member it names, whether it may speak so, and at that epoch (CG-20 to CG-22, CG-39 to CG-40, CG-90)."""

from __future__ import annotations

from collections.abc import Mapping

from .. import codes
from .beat import Beat
from .group import Group, Member
from .refusal import Refused
from .states import AWAY


def check_room(members: Mapping[str, object], beat: Beat, most: int) -> None:
    """A full group takes nobody whose member id it does not know, at any epoch (CG-99). Raises Refused."""
    if len(members) >= most and beat.member_id not in members:
        raise Refused(codes.GROUP_MAX_SIZE_REACHED, f"The consumer group has reached its maximum capacity of {most} members.")


def find(group: Group, beat: Beat) -> Member | None:
    """Who it is from; None: somebody who joins. Raises Refused."""
    member = _dynamic(group, beat) if beat.group_instance_id is None else _static(group, beat, beat.group_instance_id)
    if member is not None and beat.epoch >= 0:
        _check_epoch(member, beat)
    return member


def of_instance(group: Group, beat: Beat, instance: str) -> Member:
    """The static member of that instance, where it is who speaks. Raises Refused."""
    holder = group.static_members.get(instance)
    if holder is None:
        raise Refused(codes.UNKNOWN_MEMBER_ID, f"Instance id {instance} is unknown.")
    if holder != beat.member_id:
        text = f"Static member {beat.member_id} with instance id {instance} was fenced by member {holder}."
        raise Refused(codes.FENCED_INSTANCE_ID, text)
    return group.members[holder]


def _dynamic(group: Group, beat: Beat) -> Member | None:
    """A static member that omits its instance id is served like this as well, and stays static (CG-91)."""
    member = group.members.get(beat.member_id)
    if member is None and not beat.joins:
        raise Refused(codes.UNKNOWN_MEMBER_ID, f"Member {beat.member_id} is not a member of group {beat.group_id}.")
    return member


def _static(group: Group, beat: Beat, instance: str) -> Member | None:
    if not beat.joins:
        return of_instance(group, beat, instance)
    holder = group.static_members.get(instance)
    known = None if holder is None else group.members[holder]
    if known is not None and known.epoch != AWAY and known.classic is None:
        text = (
            f"Static member {beat.member_id} with instance id {instance} cannot join the group "
            f"because the instance id is owned by {holder} member."
        )
        raise Refused(codes.UNRELEASED_INSTANCE_ID, text)
    # Who is away, or speaks the classic protocol, is replaced, by its own id as by another (CG-93, CG-188)
    return group.members.get(beat.member_id) if known is None else None


def _check_epoch(member: Member, beat: Beat) -> None:
    """Of the future: no. Of the past: from who lost an answer, which shows by what it owns (CG-40); 0 is a clean new beginning (CG-39)."""
    if beat.epoch > member.epoch:
        raise _fenced("greater", member, beat)
    if 0 < beat.epoch < member.epoch:
        lost_an_answer = beat.epoch == member.previous_epoch and beat.owned is not None and beat.owned <= member.assigned.keys()
        if not lost_an_answer:
            raise _fenced("smaller", member, beat)


def _fenced(how: str, member: Member, beat: Beat) -> Refused:
    text = (
        f"The consumer group member has a {how} member epoch ({beat.epoch}) than the one known by the group coordinator ({member.epoch}). "
        "The member must abandon all its partitions and rejoin."
    )
    return Refused(codes.FENCED_MEMBER_EPOCH, text)
