"""Why a group or a member changed: a word for programs, a sentence for people. Every one of both stands here.

Rows of kind `moved` and `member` carry them as `cause` and `reason`. The words are a closed set that analyses rely on; the sentences may be
put better at any time. A client's own reason (KIP-800) follows the sentence after a colon and has no word.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Literal, get_args

import msgspec

Cause = Literal[
    # a group comes and goes
    "group_created",
    "coordinator_loaded",
    "coordinator_left",
    "group_deleted",
    "last_offset_deleted",
    "nothing_left",
    # somebody comes
    "id_reserved",
    "member_joined",
    "member_changed",
    "leader_rejoined",
    "instance_returned",
    "instance_taken_over",
    "replacement_undone",
    # somebody goes
    "member_left",
    "instance_removed",
    "reservation_left",
    "reservation_expired",
    "session_expired",
    "member_silent",
    "sync_overdue",
    "revocation_overdue",
    "instance_away",
    "member_fenced",
    "group_upgraded",
    "group_downgraded",
    "group_full",
    # a phase ends
    "all_joined",
    "initial_delay_over",
    "rebalance_timeout_over",
    "no_members_left",
    "leader_assigned",
    "assignment_too_large",
    "group_too_large",
    # a consumer group's target, and who follows it
    "topics_changed",
    "regex_resolved",
    "target_computed",
    "must_revoke",
    "reconciled",
    # who leads
    "first_member",
    "leader_gone",
    "leader_silent",
    "leader_chosen",
    # a transaction ends
    "transaction_committed",
    "transaction_aborted",
    # somebody steered
    "forced",
    "released",
    "delay_ended",
    "generation_set",
]
"""The words for causes in rows. They are a Literal and no enumeration: a mistyped one is a type error, and a join costs no look-up (a
storm has thousands)."""

CAUSES: Final[tuple[Cause, ...]] = get_args(Cause)


class Why(msgspec.Struct, frozen=True, gc=False):
    """A cause and its sentence."""

    cause: Cause
    sentence: str


def with_reason(why: Why, reason: str) -> Why:
    """And what the client gave as its reason (KIP-800)."""
    return Why(why.cause, f"{why.sentence}: {reason}")


def _told(sentence: str, reason: str | None) -> str:
    return f"{sentence}: {reason}" if reason else sentence


# -- a group comes and goes --------------------------------------------------------------------------------------------


def first_join(client_id: str | None) -> Why:
    """Whatever becomes of that JoinGroup."""
    return Why("group_created", f"client {client_id or ''!r} sent the first JoinGroup")


def first_heartbeat(client_id: str | None) -> Why:
    """The group came into being by a heartbeat of the consumer protocol."""
    return Why("group_created", f"client {client_id or ''!r} sent the first heartbeat")


def first_commit(client_id: str | None) -> Why:
    """A consumer that assigns itself, or an administrator."""
    return Why("group_created", f"client {client_id or ''!r} committed offsets")


def committed_by_admin() -> Why:
    return Why("group_created", "offsets were committed by command")


def coordinator_loaded(partition: int, node: int | None) -> Why:
    """Read from the log of __consumer_offsets."""
    return Why("coordinator_loaded", f"node {node} loaded partition {partition} of __consumer_offsets")


def coordinator_left(partition: int, node: int | None) -> Why:
    """The group lives on in the log alone."""
    return Why("coordinator_left", f"partition {partition} of __consumer_offsets left node {node}")


def group_deleted(client_id: str | None) -> Why:
    return Why("group_deleted", f"client {client_id or ''!r} deleted the group")


LAST_OFFSET_DELETED: Final = Why("last_offset_deleted", "its last offset was deleted")
MISLAID: Final = Why("group_deleted", "an Empty consumer group makes way for a JoinGroup, though that is refused: its offsets stay")
NOTHING_LEFT: Final = Why("nothing_left", "no members and no offsets are left")

# -- somebody comes ----------------------------------------------------------------------------------------------------


def id_reserved(client_id: str | None) -> Why:
    """An id was reserved; the JoinGroup is answered with 79 (MEMBER_ID_REQUIRED)."""
    return Why("id_reserved", f"client {client_id or ''!r} asked to join and must come back with this id")


def member_joined(member_id: str) -> Why:
    return Why("member_joined", f"member {member_id} joined")


def protocols_changed(member_id: str) -> Why:
    """The cause for the member itself. What its change does to the group has the cause `member_changed`."""
    return Why("member_changed", f"member {member_id} joined again with other protocols")


def member_changed(member_id: str, reason: str | None) -> Why:
    """It joined again with another list of protocols or other metadata."""
    return Why("member_changed", _told(f"member {member_id} rejoined with other protocols", reason))


def leader_rejoined(member_id: str, reason: str | None) -> Why:
    """With the same protocols: how a leader asks for a rebalance."""
    return Why("leader_rejoined", _told(f"leader {member_id} rejoined", reason))


def instance_replaced(group_instance_id: str, member_id: str, old_id: str) -> Why:
    """The cause for the member itself. What its return does to the group has the cause `instance_returned`."""
    return Why("instance_returned", f"instance {group_instance_id} came back: {member_id} replaces {old_id}")


def instance_returned(group_instance_id: str | None, member_id: str, reason: str | None) -> Why:
    """A static member joined without its member id."""
    return Why("instance_returned", _told(f"static member {group_instance_id} came back as {member_id}", reason))


def instance_taken_over(group_instance_id: str, member_id: str, old_id: str) -> Why:
    """Somebody steered: whoever has the old id is fenced."""
    return Why("instance_taken_over", f"instance {group_instance_id} was taken over: {member_id} replaces {old_id}")


def replacement_undone(member_id: str) -> Why:
    """The old member is there again."""
    return Why("replacement_undone", f"undone: {member_id} could not be stored")


# -- somebody goes -----------------------------------------------------------------------------------------------------


def member_left(member_id: str, reason: str | None) -> Why:
    """LeaveGroup by the member itself."""
    return Why("member_left", _told(f"member {member_id} left", reason))


def instance_removed(member_id: str, reason: str | None) -> Why:
    """LeaveGroup that names the instance alone: an administrator's (KIP-345)."""
    return Why("instance_removed", _told(f"member {member_id} was removed by its instance id", reason))


def members_left(gone: Sequence[tuple[str, str | None, str | None]]) -> Why:
    """Several members left by one LeaveGroup: (member id, instance id, reason) of each. The sentence names the first."""
    member_id, group_instance_id, reason = gone[0]
    who = f"member {member_id}" if member_id else f"static member {group_instance_id}"
    left = f"{who} left" if len(gone) == 1 else f"{who} and {len(gone) - 1} more left"
    return Why("member_left" if member_id else "instance_removed", _told(left, reason))


def reservation_left(member_id: str) -> Why:
    """LeaveGroup with an id that was never used."""
    return Why("reservation_left", f"the reserved id {member_id} left")


def reservation_expired(member_id: str) -> Why:
    """The client never came back with it."""
    return Why("reservation_expired", f"the reserved id {member_id} was not used in time")


def session_expired(member_id: str, session_timeout_ms: int, is_new: bool) -> Why:
    """Neither a heartbeat nor another request renewed the session in time."""
    waited = "before its first answer" if is_new else f"after {session_timeout_ms} ms"
    return Why("session_expired", f"session of {member_id} expired {waited}")


def member_silent(member_id: str, why: Why) -> Why:
    """The join phase ended without it; `why` it ended."""
    return Why("member_silent", f"member {member_id} did not join again: {why.sentence}")


def sync_overdue(member_ids: Sequence[str], timeout_ms: int) -> Why:
    """They owed a SyncGroup (KAFKA-12890)."""
    more = f" and {len(member_ids) - 3} more" if len(member_ids) > 3 else ""
    return Why("sync_overdue", f"{', '.join(member_ids[:3])}{more} sent no SyncGroup within {timeout_ms} ms")


def member_sync_overdue(member_id: str, timeout_ms: int) -> Why:
    return Why("sync_overdue", f"member {member_id} sent no SyncGroup within {timeout_ms} ms")


def member_join_overdue(member_id: str, timeout_ms: int) -> Why:
    """A classic member of a consumer group was told to join again, and has not."""
    return Why("member_silent", f"member {member_id} did not join again within {timeout_ms} ms")


def upgraded(client_id: str | None) -> Why:
    """The first member of the consumer protocol came to a classic group (KIP-848, online migration)."""
    return Why("group_upgraded", f"client {client_id or ''!r} speaks the consumer protocol: the group is a consumer group from now on")


DOWNGRADED: Final = Why("group_downgraded", "the last member of the consumer protocol is gone: the group is a classic group from now on")


REPLACED_ID_OVERDUE: Final = Why("sync_overdue", "a replaced member's id still owed a SyncGroup")


def group_full(limit: int) -> Why:
    """JoinGroup was answered 81 (GROUP_MAX_SIZE_REACHED)."""
    return Why("group_full", f"group.max.size is {limit}")


LAST_HAD_NO_ROOM: Final = Why("group_full", "nobody else is awaited: the last one found no room")

# -- a phase ends ------------------------------------------------------------------------------------------------------


def all_joined(member_id: str) -> Why:
    """The last awaited member has joined."""
    return Why("all_joined", f"all members joined, {member_id} was the last")


NOBODY_AWAITED: Final = Why("all_joined", "nobody else is awaited")
INITIAL_DELAY_OVER: Final = Why("initial_delay_over", "the initial delay is over")
REBALANCE_TIMEOUT_OVER: Final = Why("rebalance_timeout_over", "the rebalance timeout is over")


def no_members_left(why: Why) -> Why:
    """The join phase ended with nobody in it; `why` it ended."""
    return Why("no_members_left", f"no members are left: {why.sentence}")


def leader_assigned(member_id: str | None) -> Why:
    return Why("leader_assigned", f"leader {member_id} brought the assignments")


def assignment_too_large(member_id: str | None) -> Why:
    """The group record would not fit into a batch of the log."""
    return Why("assignment_too_large", f"the assignment of leader {member_id} is too large to be stored")


GROUP_TOO_LARGE: Final = Why("group_too_large", "the loaded group is larger than group.max.size")

# -- a consumer group's target, and who follows it ---------------------------------------------------------------------

TOPICS_CHANGED: Final = Why("topics_changed", "a topic that the group subscribes to has come, grown or gone")
TARGET_COMPUTED: Final = Why("target_computed", "the target was computed")


def resubscribed(member_id: str) -> Why:
    """Other names, or another regular expression."""
    return Why("member_changed", f"member {member_id} subscribes to something else")


def regex_resolved(regex: str, topics: int) -> Why:
    """In the background, after the answer to whoever brought it."""
    return Why("regex_resolved", f"{regex!r} matches {topics} topics")


def must_revoke(member_id: str, partitions: str) -> Why:
    """It was told so by a shorter assignment."""
    return Why("must_revoke", f"member {member_id} owes the broker {partitions}")


def reconciled(member_id: str, epoch: int, partitions: str, awaited: str) -> Why:
    """It is at the target's epoch. `awaited`: what others have still to give up; "" nothing."""
    waits = f" and waits for {awaited}" if awaited else ""
    return Why("reconciled", f"member {member_id} is at epoch {epoch} with {partitions}{waits}")


def member_arrived(member_id: str, epoch: int) -> Why:
    """The cause for the group when its last member reached the target."""
    return Why("reconciled", f"member {member_id} is at epoch {epoch}")


def instance_away(group_instance_id: str, member_id: str) -> Why:
    """Epoch -2: its partitions are kept for it until its session is over."""
    return Why("instance_away", f"member {member_id} left for a while, instance {group_instance_id} is kept for it")


def member_fenced(member_id: str, epoch: int) -> Why:
    """Somebody steered: its process speaks of an epoch that is over."""
    return Why("member_fenced", f"member {member_id} was fenced: it is at epoch {epoch} unknown to its process, which must join again")


def revocation_overdue(member_id: str, rebalance_timeout_ms: int) -> Why:
    """It never said that it gave up what it was told to."""
    return Why("revocation_overdue", f"member {member_id} gave nothing up within {rebalance_timeout_ms} ms")


# -- who leads ---------------------------------------------------------------------------------------------------------

FIRST_MEMBER: Final = Why("first_member", "it is the first member")
LEADER_SILENT: Final = Why("leader_silent", "the leader did not join again")
LEADER_CHOSEN: Final = Why("leader_chosen", "it was chosen")


def leader_gone(member_id: str) -> Why:
    """The member that led the group before is gone."""
    return Why("leader_gone", f"leader {member_id} is gone")


def leads(member_id: str, why: Why) -> Why:
    """A member leads from now on, because of `why`."""
    return Why(why.cause, f"member {member_id} leads: {why.sentence}")


# -- a transaction ends ------------------------------------------------------------------------------------------------


def transaction_committed(producer_id: int) -> Why:
    """The pending offsets of a transaction were committed."""
    return Why("transaction_committed", f"the transaction of producer {producer_id} was committed")


def transaction_aborted(producer_id: int) -> Why:
    """The pending offsets of a transaction were dropped."""
    return Why("transaction_aborted", f"the transaction of producer {producer_id} was aborted: what it committed is dropped")


# -- somebody steered --------------------------------------------------------------------------------------------------


def forced(reason: str) -> Why:
    """A rebalance that no client asked for."""
    return Why("forced", reason)


RELEASED: Final = Why("released", "the group was released")
DELAY_ENDED: Final = Why("delay_ended", "its delay was ended")


def generation_set(before: int) -> Why:
    """Behind the backs of its members."""
    return Why("generation_set", f"its generation was {before} and was set, unknown to its members")
