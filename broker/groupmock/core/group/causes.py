"""Why a group or a member changed: a word for programs, a sentence for people. Every one of both stands here.

Rows of kind `moved` and `member` carry them as `cause` and `reason`. The words are a closed set that analyses rely on; the sentences may be
put better at any time. A client's own reason (KIP-800) follows the sentence after a colon and has no word.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum

import msgspec


class Cause(StrEnum):
    """The words, by what they are about."""

    # a group comes and goes
    GROUP_CREATED = "group_created"
    COORDINATOR_LOADED = "coordinator_loaded"
    COORDINATOR_LEFT = "coordinator_left"
    GROUP_DELETED = "group_deleted"
    LAST_OFFSET_DELETED = "last_offset_deleted"
    NOTHING_LEFT = "nothing_left"
    # somebody comes
    ID_RESERVED = "id_reserved"
    MEMBER_JOINED = "member_joined"
    MEMBER_CHANGED = "member_changed"
    LEADER_REJOINED = "leader_rejoined"
    INSTANCE_RETURNED = "instance_returned"
    INSTANCE_TAKEN_OVER = "instance_taken_over"
    REPLACEMENT_UNDONE = "replacement_undone"
    # somebody goes
    MEMBER_LEFT = "member_left"
    INSTANCE_REMOVED = "instance_removed"
    RESERVATION_LEFT = "reservation_left"
    RESERVATION_EXPIRED = "reservation_expired"
    SESSION_EXPIRED = "session_expired"
    MEMBER_SILENT = "member_silent"
    SYNC_OVERDUE = "sync_overdue"
    GROUP_FULL = "group_full"
    # a phase ends
    ALL_JOINED = "all_joined"
    INITIAL_DELAY_OVER = "initial_delay_over"
    REBALANCE_TIMEOUT_OVER = "rebalance_timeout_over"
    NO_MEMBERS_LEFT = "no_members_left"
    LEADER_ASSIGNED = "leader_assigned"
    ASSIGNMENT_TOO_LARGE = "assignment_too_large"
    GROUP_TOO_LARGE = "group_too_large"
    # who leads
    FIRST_MEMBER = "first_member"
    LEADER_GONE = "leader_gone"
    LEADER_SILENT = "leader_silent"
    LEADER_CHOSEN = "leader_chosen"
    # somebody steered (architecture section 3; docs/control.md)
    FORCED = "forced"
    RELEASED = "released"
    DELAY_ENDED = "delay_ended"


class Why(msgspec.Struct, frozen=True, gc=False):
    """A cause and its sentence."""

    cause: Cause
    sentence: str


def _told(sentence: str, reason: str | None) -> str:
    return f"{sentence}: {reason}" if reason else sentence


# -- a group comes and goes --------------------------------------------------------------------------------------------


def first_join(client_id: str | None) -> Why:
    """Whatever becomes of that JoinGroup."""
    return Why(Cause.GROUP_CREATED, f"client {client_id or ''!r} sent the first JoinGroup")


def first_commit(client_id: str | None) -> Why:
    """A consumer that assigns itself, or an administrator."""
    return Why(Cause.GROUP_CREATED, f"client {client_id or ''!r} committed offsets")


def coordinator_loaded(partition: int, node: int | None) -> Why:
    """Read from the log of __consumer_offsets."""
    return Why(Cause.COORDINATOR_LOADED, f"node {node} loaded partition {partition} of __consumer_offsets")


def coordinator_left(partition: int, node: int | None) -> Why:
    """The group lives on in the log alone."""
    return Why(Cause.COORDINATOR_LEFT, f"partition {partition} of __consumer_offsets left node {node}")


def group_deleted(client_id: str | None) -> Why:
    """DeleteGroups."""
    return Why(Cause.GROUP_DELETED, f"client {client_id or ''!r} deleted the group")


LAST_OFFSET_DELETED = Why(Cause.LAST_OFFSET_DELETED, "its last offset was deleted")
NOTHING_LEFT = Why(Cause.NOTHING_LEFT, "no members and no offsets are left")

# -- somebody comes ----------------------------------------------------------------------------------------------------


def id_reserved(client_id: str | None) -> Why:
    """The answer is 79."""
    return Why(Cause.ID_RESERVED, f"client {client_id or ''!r} asked to join and must come back with this id")


def member_joined(member_id: str, reason: str | None = None) -> Why:
    """A new member."""
    return Why(Cause.MEMBER_JOINED, _told(f"member {member_id} joined", reason))


def protocols_changed(member_id: str) -> Why:
    """What changed about the member itself; `member_changed` is what that does to the group."""
    return Why(Cause.MEMBER_CHANGED, f"member {member_id} joined again with other protocols")


def member_changed(member_id: str, reason: str | None) -> Why:
    """It joined again with another list of protocols or other metadata."""
    return Why(Cause.MEMBER_CHANGED, _told(f"member {member_id} rejoined with other protocols", reason))


def leader_rejoined(member_id: str, reason: str | None) -> Why:
    """With the same protocols: how a leader asks for a rebalance."""
    return Why(Cause.LEADER_REJOINED, _told(f"leader {member_id} rejoined", reason))


def instance_replaced(group_instance_id: str, member_id: str, old_id: str) -> Why:
    """What changed about the member; `instance_returned` is what that does to the group."""
    return Why(Cause.INSTANCE_RETURNED, f"instance {group_instance_id} came back: {member_id} replaces {old_id}")


def instance_returned(group_instance_id: str | None, member_id: str, reason: str | None) -> Why:
    """A static member joined without its member id."""
    return Why(Cause.INSTANCE_RETURNED, _told(f"static member {group_instance_id} came back as {member_id}", reason))


def instance_taken_over(group_instance_id: str, member_id: str, old_id: str) -> Why:
    """Somebody steered: whoever has the old id is fenced."""
    return Why(Cause.INSTANCE_TAKEN_OVER, f"instance {group_instance_id} was taken over: {member_id} replaces {old_id}")


def replacement_undone(member_id: str) -> Why:
    """The old member is there again."""
    return Why(Cause.REPLACEMENT_UNDONE, f"undone: {member_id} could not be stored")


# -- somebody goes -----------------------------------------------------------------------------------------------------


def member_left(member_id: str, reason: str | None) -> Why:
    """LeaveGroup by the member itself."""
    return Why(Cause.MEMBER_LEFT, _told(f"member {member_id} left", reason))


def instance_removed(member_id: str, reason: str | None) -> Why:
    """LeaveGroup that names the instance alone: an administrator's (KIP-345)."""
    return Why(Cause.INSTANCE_REMOVED, _told(f"member {member_id} was removed by its instance id", reason))


def members_left(gone: Sequence[tuple[str, str | None, str | None]]) -> Why:
    """What one LeaveGroup does to the group: (member id, instance id, reason) of each that went, told by the first."""
    member_id, group_instance_id, reason = gone[0]
    who = f"member {member_id}" if member_id else f"static member {group_instance_id}"
    left = f"{who} left" if len(gone) == 1 else f"{who} and {len(gone) - 1} more left"
    return Why(Cause.MEMBER_LEFT if member_id else Cause.INSTANCE_REMOVED, _told(left, reason))


def reservation_left(member_id: str) -> Why:
    """LeaveGroup with an id that was never used."""
    return Why(Cause.RESERVATION_LEFT, f"the reserved id {member_id} left")


def reservation_expired(member_id: str) -> Why:
    """The client never came back with it."""
    return Why(Cause.RESERVATION_EXPIRED, f"the reserved id {member_id} was not used in time")


def session_expired(member_id: str, session_timeout_ms: int, is_new: bool) -> Why:
    """No sign of life."""
    waited = "before its first answer" if is_new else f"after {session_timeout_ms} ms"
    return Why(Cause.SESSION_EXPIRED, f"session of {member_id} expired {waited}")


def member_silent(member_id: str, why: Why) -> Why:
    """The join phase ended without it; `why` it ended."""
    return Why(Cause.MEMBER_SILENT, f"member {member_id} did not join again: {why.sentence}")


def sync_overdue(member_ids: Sequence[str], timeout_ms: int) -> Why:
    """They owed a SyncGroup (KAFKA-12890)."""
    more = f" and {len(member_ids) - 3} more" if len(member_ids) > 3 else ""
    return Why(Cause.SYNC_OVERDUE, f"{', '.join(member_ids[:3])}{more} sent no SyncGroup within {timeout_ms} ms")


def member_sync_overdue(member_id: str, timeout_ms: int) -> Why:
    """What changed about one of them."""
    return Why(Cause.SYNC_OVERDUE, f"member {member_id} sent no SyncGroup within {timeout_ms} ms")


REPLACED_ID_OVERDUE = Why(Cause.SYNC_OVERDUE, "a replaced member's id still owed a SyncGroup")


def group_full(limit: int) -> Why:
    """81."""
    return Why(Cause.GROUP_FULL, f"group.max.size is {limit}")


LAST_HAD_NO_ROOM = Why(Cause.GROUP_FULL, "nobody else is awaited: the last one found no room")

# -- a phase ends ------------------------------------------------------------------------------------------------------


def all_joined(member_id: str) -> Why:
    """The last one awaited."""
    return Why(Cause.ALL_JOINED, f"all members joined, {member_id} was the last")


NOBODY_AWAITED = Why(Cause.ALL_JOINED, "nobody else is awaited")
INITIAL_DELAY_OVER = Why(Cause.INITIAL_DELAY_OVER, "the initial delay is over")
REBALANCE_TIMEOUT_OVER = Why(Cause.REBALANCE_TIMEOUT_OVER, "the rebalance timeout is over")


def no_members_left(why: Why) -> Why:
    """The join phase ended with nobody in it; `why` it ended."""
    return Why(Cause.NO_MEMBERS_LEFT, f"no members are left: {why.sentence}")


def leader_assigned(member_id: str | None) -> Why:
    """Its SyncGroup came."""
    return Why(Cause.LEADER_ASSIGNED, f"leader {member_id} brought the assignments")


def assignment_too_large(member_id: str | None) -> Why:
    """The group record would not fit into a batch of the log."""
    return Why(Cause.ASSIGNMENT_TOO_LARGE, f"the assignment of leader {member_id} is too large to be stored")


GROUP_TOO_LARGE = Why(Cause.GROUP_TOO_LARGE, "the loaded group is larger than group.max.size")

# -- who leads ---------------------------------------------------------------------------------------------------------

FIRST_MEMBER = Why(Cause.FIRST_MEMBER, "it is the first member")
LEADER_SILENT = Why(Cause.LEADER_SILENT, "the leader did not join again")
LEADER_CHOSEN = Why(Cause.LEADER_CHOSEN, "it was chosen")


def leader_gone(member_id: str) -> Why:
    """The leader before."""
    return Why(Cause.LEADER_GONE, f"leader {member_id} is gone")


def leads(member_id: str, why: Why) -> Why:
    """`why` it does."""
    return Why(why.cause, f"member {member_id} leads: {why.sentence}")


# -- somebody steered --------------------------------------------------------------------------------------------------


def forced(reason: str) -> Why:
    """A rebalance that no client asked for."""
    return Why(Cause.FORCED, reason)


RELEASED = Why(Cause.RELEASED, "the group was released")
DELAY_ENDED = Why(Cause.DELAY_ENDED, "its delay was ended")
