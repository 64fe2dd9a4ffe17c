"""Each change of a group or a member has a cause: a fixed word for programs, and a sentence for people.

Rows of kind `moved` and `member` have them as `cause` and `reason`. The words are a closed set that analyses rely on; the sentences may be
reworded at any time. A client's own reason (KIP-800) follows the sentence after a colon and has no word.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Literal, get_args

import msgspec

Cause = Literal[
    "group_created",
    "coordinator_loaded",
    "coordinator_left",
    "group_deleted",
    "last_offset_deleted",
    "nothing_left",
    "id_reserved",
    "member_joined",
    "member_changed",
    "leader_rejoined",
    "instance_returned",
    "instance_taken_over",
    "replacement_undone",
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
    "all_joined",
    "initial_delay_over",
    "rebalance_timeout_over",
    "no_members_left",
    "leader_assigned",
    "assignment_too_large",
    "group_too_large",
    "topics_changed",
    "settings_changed",
    "partitions_initialized",
    "regex_resolved",
    "target_computed",
    "must_revoke",
    "reconciled",
    "first_member",
    "leader_gone",
    "leader_silent",
    "leader_chosen",
    "transaction_committed",
    "transaction_aborted",
    "forced",
    "released",
    "delay_ended",
    "generation_set",
]
"""The fixed words for causes in journal rows. They are a Literal and no enumeration, so that a mistyped word is a type error and a join
costs no look-up (a storm has thousands of joins)."""

CAUSES: Final[tuple[Cause, ...]] = get_args(Cause)


class Why(msgspec.Struct, frozen=True, gc=False):
    cause: Cause
    sentence: str


def with_reason(why: Why, reason: str) -> Why:
    """Return the cause with the client's own reason (KIP-800) appended to its sentence."""
    return Why(why.cause, f"{why.sentence}: {reason}")


def _sentence(sentence: str, reason: str | None) -> str:
    return f"{sentence}: {reason}" if reason else sentence


def first_join(client_id: str | None) -> Why:
    """Return the cause of a group's creation by a JoinGroup, whatever the answer to the JoinGroup is."""
    return Why("group_created", f"client {client_id or ''!r} sent the first JoinGroup")


def first_heartbeat(client_id: str | None) -> Why:
    """Return the cause of a group's creation by a heartbeat of a consumer or share group."""
    return Why("group_created", f"client {client_id or ''!r} sent the first heartbeat")


def first_commit(client_id: str | None) -> Why:
    """Return the cause of a group's creation by an OffsetCommit of an administrator or of a consumer that assigns itself."""
    return Why("group_created", f"client {client_id or ''!r} committed offsets")


def share_offsets_altered(client_id: str | None) -> Why:
    """Return the cause for a share group that begins with start offsets, which AlterShareGroupOffsets has set."""
    return Why("group_created", f"client {client_id or ''!r} set start offsets of the share group")


def committed_by_admin() -> Why:
    return Why("group_created", "offsets were committed by command")


def coordinator_loaded(partition: int, node: int | None) -> Why:
    """Return the cause for a group that its new coordinator loads from a partition of __consumer_offsets."""
    return Why("coordinator_loaded", f"node {node} loaded partition {partition} of __consumer_offsets")


def coordinator_left(partition: int, node: int | None) -> Why:
    """Return the cause for a group whose coordinator loses the partition of __consumer_offsets. From then on the group exists in the log
    only."""
    return Why("coordinator_left", f"partition {partition} of __consumer_offsets left node {node}")


def group_deleted(client_id: str | None) -> Why:
    return Why("group_deleted", f"client {client_id or ''!r} deleted the group")


LAST_OFFSET_DELETED: Final = Why("last_offset_deleted", "its last offset was deleted")
MISLAID: Final = Why("group_deleted", "an Empty consumer group makes way for a JoinGroup, though that is refused: its offsets stay")
NOTHING_LEFT: Final = Why("nothing_left", "no members and no offsets are left")


def id_reserved(client_id: str | None) -> Why:
    """Return the cause for a member id that is reserved when the JoinGroup of a new member is answered with MEMBER_ID_REQUIRED (79)."""
    return Why("id_reserved", f"client {client_id or ''!r} asked to join and must come back with this id")


def member_joined(member_id: str) -> Why:
    return Why("member_joined", f"member {member_id} joined")


def protocols_changed(member_id: str) -> Why:
    """Return the cause for a member whose protocol list changed. The effect of the change on the group has the cause `member_changed`."""
    return Why("member_changed", f"member {member_id} joined again with other protocols")


def member_changed(member_id: str, reason: str | None) -> Why:
    """Return the cause for a group in which a member joined again with another list of protocols or other metadata."""
    return Why("member_changed", _sentence(f"member {member_id} rejoined with other protocols", reason))


def leader_rejoined(member_id: str, reason: str | None) -> Why:
    """Return the cause for a leader that joined again with the same protocols, which is how a leader requests a rebalance."""
    return Why("leader_rejoined", _sentence(f"leader {member_id} rejoined", reason))


def instance_replaced(group_instance_id: str, member_id: str, old_id: str) -> Why:
    """Return the cause for a static member that is replaced by its returning process. The effect on the group has the cause
    `instance_returned`."""
    return Why("instance_returned", f"instance {group_instance_id} came back: {member_id} replaces {old_id}")


def instance_returned(group_instance_id: str | None, member_id: str, reason: str | None) -> Why:
    """Return the cause for a group whose static member joined without its member id."""
    return Why("instance_returned", _sentence(f"static member {group_instance_id} came back as {member_id}", reason))


def instance_taken_over(group_instance_id: str, member_id: str, old_id: str) -> Why:
    """Return the cause for a static member that a command gave to another process, which fences the process with the old member id."""
    return Why("instance_taken_over", f"instance {group_instance_id} was taken over: {member_id} replaces {old_id}")


def replacement_undone(member_id: str) -> Why:
    """Return the cause for an old static member that is restored, because its replacement could not be stored."""
    return Why("replacement_undone", f"undone: {member_id} could not be stored")


def member_left(member_id: str, reason: str | None) -> Why:
    """Return the cause for a member that sent a LeaveGroup itself."""
    return Why("member_left", _sentence(f"member {member_id} left", reason))


def instance_removed(member_id: str, reason: str | None) -> Why:
    """Return the cause for a LeaveGroup with the instance id only, which an administrator sends (KIP-345)."""
    return Why("instance_removed", _sentence(f"member {member_id} was removed by its instance id", reason))


def members_left(gone: Sequence[tuple[str, str | None, str | None]]) -> Why:
    """Return the cause for one LeaveGroup that removes several members; the sentence names the first. `gone` has (member id, instance
    id, reason) of each."""
    member_id, group_instance_id, reason = gone[0]
    who = f"member {member_id}" if member_id else f"static member {group_instance_id}"
    left = f"{who} left" if len(gone) == 1 else f"{who} and {len(gone) - 1} more left"
    return Why("member_left" if member_id else "instance_removed", _sentence(left, reason))


def reservation_left(member_id: str) -> Why:
    """Return the cause for a LeaveGroup with a reserved member id that was never used."""
    return Why("reservation_left", f"the reserved id {member_id} left")


def reservation_expired(member_id: str) -> Why:
    """Return the cause for a client that did not come back with its reserved member id in time."""
    return Why("reservation_expired", f"the reserved id {member_id} was not used in time")


def session_expired(member_id: str, session_timeout_ms: int, is_new: bool) -> Why:
    """Return the cause for a member whose session no heartbeat and no other request renewed in time."""
    waited = "before its first answer" if is_new else f"after {session_timeout_ms} ms"
    return Why("session_expired", f"session of {member_id} expired {waited}")


def member_silent(member_id: str, why: Why) -> Why:
    """Return the cause for a member that did not join before the join phase ended; `why` is the cause of that end."""
    return Why("member_silent", f"member {member_id} did not join again: {why.sentence}")


def sync_overdue(member_ids: Sequence[str], timeout_ms: int) -> Why:
    """Return the cause for members that did not send their SyncGroup in time (KAFKA-12890)."""
    more = f" and {len(member_ids) - 3} more" if len(member_ids) > 3 else ""
    return Why("sync_overdue", f"{', '.join(member_ids[:3])}{more} sent no SyncGroup within {timeout_ms} ms")


def member_sync_overdue(member_id: str, timeout_ms: int) -> Why:
    return Why("sync_overdue", f"member {member_id} sent no SyncGroup within {timeout_ms} ms")


def member_join_overdue(member_id: str, timeout_ms: int) -> Why:
    """Return the cause for a classic member of a consumer group that did not rejoin in time when the coordinator told it to."""
    return Why("member_silent", f"member {member_id} did not join again within {timeout_ms} ms")


def upgraded(client_id: str | None) -> Why:
    """Return the cause for the first member of the consumer protocol in a classic group (KIP-848, online migration)."""
    return Why("group_upgraded", f"client {client_id or ''!r} speaks the consumer protocol: the group is a consumer group from now on")


DOWNGRADED: Final = Why("group_downgraded", "the last member of the consumer protocol is gone: the group is a classic group from now on")


REPLACED_ID_OVERDUE: Final = Why("sync_overdue", "a replaced member's id still owed a SyncGroup")


def group_full(limit: int) -> Why:
    """Return the cause for a member whose JoinGroup was refused with GROUP_MAX_SIZE_REACHED (81)."""
    return Why("group_full", f"group.max.size is {limit}")


LAST_HAD_NO_ROOM: Final = Why("group_full", "nobody else is awaited: the last one found no room")


def all_joined(member_id: str) -> Why:
    """Return the cause for a join phase that ended because its last missing member joined."""
    return Why("all_joined", f"all members joined, {member_id} was the last")


NOBODY_AWAITED: Final = Why("all_joined", "nobody else is awaited")
INITIAL_DELAY_OVER: Final = Why("initial_delay_over", "the initial delay is over")
REBALANCE_TIMEOUT_OVER: Final = Why("rebalance_timeout_over", "the rebalance timeout is over")


def no_members_left(why: Why) -> Why:
    """Return the cause for a join phase that ended without members; `why` is the cause of that end."""
    return Why("no_members_left", f"no members are left: {why.sentence}")


def leader_assigned(member_id: str | None) -> Why:
    return Why("leader_assigned", f"leader {member_id} brought the assignments")


def assignment_too_large(member_id: str | None) -> Why:
    """Return the cause for an assignment whose group record would not fit into a batch of the log."""
    return Why("assignment_too_large", f"the assignment of leader {member_id} is too large to be stored")


GROUP_TOO_LARGE: Final = Why("group_too_large", "the loaded group is larger than group.max.size")


TOPICS_CHANGED: Final = Why("topics_changed", "a topic that the group subscribes to has come, grown or gone")
PARTITIONS_INITIALIZED: Final = Why("partitions_initialized", "partitions are initialised that no member has")
TARGET_COMPUTED: Final = Why("target_computed", "the target was computed")


def resubscribed(member_id: str) -> Why:
    """Return the cause for a member that subscribed to other names or to another regular expression."""
    return Why("member_changed", f"member {member_id} subscribes to something else")


def record_changed(member_id: str) -> Why:
    """Return the cause for a member of a streams group whose process, rack, tags, endpoint, timeout or client is another one."""
    return Why("member_changed", f"member {member_id} changed what the coordinator knows of it")


USED_TOPICS_CHANGED: Final = Why("topics_changed", "a topic that the topology uses has come, grown or gone")
SETTINGS_CHANGED: Final = Why("settings_changed", "the group's number of standbys or its rack-aware tags have changed")
TOPOLOGY_READY: Final = Why("topics_changed", "the topology goes with the topics now")


def tasks_withheld(member_id: str) -> Why:
    """Return the cause for a member that gets tasks of its target which an earlier heartbeat did not give it."""
    return Why("target_computed", f"member {member_id} has other tasks than its target has")


def assignor_changed(member_id: str, assignor: str) -> Why:
    """Return the cause for a member whose vote makes another assignor the group's."""
    return Why("member_changed", f"with the vote of member {member_id} the group's assignor is {assignor}")


def regex_resolved(regex: str, topics: int) -> Why:
    """Return the cause for new matches of a regular expression that the coordinator resolved in the background."""
    return Why("regex_resolved", f"{regex!r} matches {topics} topics")


def must_revoke(member_id: str, partitions: str) -> Why:
    """Return the cause for a member whose shorter assignment tells it to revoke partitions."""
    return Why("must_revoke", f"member {member_id} owes the broker {partitions}")


def reconciled(member_id: str, epoch: int, partitions: str, awaited: str) -> Why:
    """Return the cause for a member that has reached the epoch of its target. `awaited` names the partitions that other members still
    have to revoke, "" if none."""
    waits = f" and waits for {awaited}" if awaited else ""
    return Why("reconciled", f"member {member_id} is at epoch {epoch} with {partitions}{waits}")


def member_arrived(member_id: str, epoch: int) -> Why:
    """Return the cause for a group that becomes Stable because its last member has reached its target."""
    return Why("reconciled", f"member {member_id} is at epoch {epoch}")


def instance_away(group_instance_id: str, member_id: str) -> Why:
    """Return the cause for a static member that left with epoch -2. Its partitions are kept until its session expires."""
    return Why("instance_away", f"member {member_id} left for a while, instance {group_instance_id} is kept for it")


def member_fenced(member_id: str, epoch: int) -> Why:
    """Return the cause for a member that a command fenced, so that its process has an invalid epoch."""
    return Why("member_fenced", f"member {member_id} was fenced: it is at epoch {epoch} unknown to its process, which must join again")


def revocation_overdue(member_id: str, rebalance_timeout_ms: int) -> Why:
    """Return the cause for a member that did not confirm a revocation in time."""
    return Why("revocation_overdue", f"member {member_id} gave nothing up within {rebalance_timeout_ms} ms")


FIRST_MEMBER: Final = Why("first_member", "it is the first member")
LEADER_SILENT: Final = Why("leader_silent", "the leader did not join again")
LEADER_CHOSEN: Final = Why("leader_chosen", "it was chosen")


def leader_gone(member_id: str) -> Why:
    """Return the cause for electing a new leader because the former leader has left the group."""
    return Why("leader_gone", f"leader {member_id} is gone")


def leads(member_id: str, why: Why) -> Why:
    """Return the cause for a member that becomes the leader; `why` is the cause of the election."""
    return Why(why.cause, f"member {member_id} leads: {why.sentence}")


def transaction_committed(producer_id: int) -> Why:
    """Return the cause for pending offsets that became visible because their transaction was committed."""
    return Why("transaction_committed", f"the transaction of producer {producer_id} was committed")


def transaction_aborted(producer_id: int) -> Why:
    """Return the cause for pending offsets that were dropped because their transaction was aborted."""
    return Why("transaction_aborted", f"the transaction of producer {producer_id} was aborted: what it committed is dropped")


def forced(reason: str) -> Why:
    """Return the cause for a rebalance that a test's command started, not a client."""
    return Why("forced", reason)


RELEASED: Final = Why("released", "the group was released")
DELAY_ENDED: Final = Why("delay_ended", "its delay was ended")


def generation_set(before: int) -> Why:
    """Return the cause for a generation that a command set without telling the members."""
    return Why("generation_set", f"its generation was {before} and was set, unknown to its members")
