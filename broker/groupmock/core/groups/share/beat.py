"""Checks the content and the sender of a ShareGroupHeartbeat before the heartbeat changes anything (SG-10 to SG-26).

In Kafka: GroupCoordinatorService.throwIfShareGroupHeartbeatRequestIsInvalid, and the throwIf... of GroupMetadataManager.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, Final

import msgspec

from groupmock_codec import error_codes

from ..consumer.states import JOINING, LEAVING
from ..refused import Refused
from .group import Group, Member

if TYPE_CHECKING:
    from groupmock_codec.messages.k76_share_group_heartbeat import ShareGroupHeartbeatRequest

LONGEST_MEMBER_ID: Final = 36
"""The most UTF-16 units that a member id may have, as many as a printed UUID."""


class Beat(msgspec.Struct, frozen=True):
    """The values of one ShareGroupHeartbeat request. None means unchanged. `listed` has the topic names as they were sent."""

    group_id: str
    member_id: str
    epoch: int
    rack_id: str | None
    listed: list[str] | None
    client_id: str
    client_host: str


def read(message: ShareGroupHeartbeatRequest, client_id: str | None, client_host: str) -> Beat:
    return Beat(
        group_id=message.group_id,
        member_id=message.member_id,
        epoch=message.member_epoch,
        rack_id=message.rack_id,
        listed=message.subscribed_topic_names,
        client_id=client_id or "",
        client_host=client_host,
    )


def misnamed(member_id: str) -> bool:
    """True if a member id is missing or too long, which is refused without a text."""
    return not member_id or len(member_id.encode("utf-16-le", "surrogatepass")) > 2 * LONGEST_MEMBER_ID


def check(beat: Beat) -> None:
    """Check the fields of a heartbeat before its group is looked up, in Kafka's order. Raises Refused."""
    if misnamed(beat.member_id):
        raise Refused(error_codes.INVALID_REQUEST, "")
    if not beat.member_id.strip():
        raise _invalid("MemberId can't be empty.")
    if not beat.group_id.strip():
        raise _invalid("GroupId can't be empty.")
    if beat.rack_id is not None and not beat.rack_id.strip():
        raise _invalid("RackId can't be empty.")
    if beat.epoch == JOINING and not beat.listed:
        raise _invalid("SubscribedTopicNames must be set in first request.")
    if beat.epoch < LEAVING:
        raise _invalid("MemberEpoch is invalid.")


def _invalid(text: str) -> Refused:
    return Refused(error_codes.INVALID_REQUEST, text)


def not_found(group_id: str, exists: bool, epoch: int) -> Refused:
    """Return the refusal of a heartbeat whose group does not exist, or is of another type (SG-20, SG-96)."""
    if exists:
        text = f"Group {group_id} is not a share group."
    else:
        text = f"{'Share group' if epoch > 0 else 'Group'} {group_id} not found."
    return Refused(error_codes.GROUP_ID_NOT_FOUND, text)


def check_room(members: Collection[str], beat: Beat, most: int) -> None:
    """Refuse the heartbeat of a new member if the group is full, whatever its epoch is (SG-26). Raises Refused."""
    if len(members) >= most and beat.member_id not in members:
        raise Refused(error_codes.GROUP_MAX_SIZE_REACHED, f"The share group has reached its maximum capacity of {most} members.")


def sender(group: Group, beat: Beat) -> Member | None:
    """Return the member that sent the heartbeat, or None for a new member that joins. Raises Refused, also if the member may not send this
    epoch (SG-21 to SG-23)."""
    member = group.members.get(beat.member_id)
    if member is None:
        if beat.epoch != JOINING:
            raise Refused(error_codes.UNKNOWN_MEMBER_ID, f"Member {beat.member_id} is not a member of group {beat.group_id}.")
        return None
    if beat.epoch > member.epoch:
        raise _fenced(f"greater member epoch ({beat.epoch})", f"({member.epoch})")
    if 0 < beat.epoch < member.epoch and beat.epoch != member.previous_epoch:
        known = f"({member.epoch}), and it does not match the previous member epoch ({member.previous_epoch})"
        raise _fenced(f"smaller member epoch ({beat.epoch})", known)
    return member


def _fenced(has: str, known: str) -> Refused:
    text = (
        f"The share group member has a {has} than the one known by the group coordinator {known}. "
        "The member must abandon all its partitions and rejoin."
    )
    return Refused(error_codes.FENCED_MEMBER_EPOCH, text)
