"""The group record is the state of a classic group in the coordinator's log (docs/kafka/group-protocol.md#load-unload-deletion).

It is written when the leader's assignment comes, when a group becomes Empty and when a static member is replaced, but never in between. So
a coordinator that moves during a rebalance restores the previous generation, or no group. Members of the lost generation then get
ILLEGAL_GENERATION (22) or UNKNOWN_MEMBER_ID (25) and join again.
"""

from __future__ import annotations

from collections.abc import Generator

from groupmock_codec import error_codes

from ...turn import Turn
from ...work import at_once, parts
from . import answers, sessions
from .group import Group, Member, StoredGroup, metadata_of
from .subscription import UNKNOWN, Subscribed

RECORD_OVERHEAD = 80
"""The approximate number of bytes that a record batch with one record has besides key and value."""


def store(turn: Turn, group: Group) -> None:
    """Write the group record, from which a coordinator can restore the group. Only the fields that ever change are stored in columns
    beside the members."""
    members = tuple(group.members.values())
    group.stored = StoredGroup(
        generation=group.generation,
        protocol_type=group.protocol_type,
        protocol_name=group.protocol_name,
        leader_id=group.leader_id,
        state_since_ms=group.state_since_ms,
        members=members,
        protocols=tuple([member.protocols for member in members]),
        assignments=tuple([member.assignment for member in members]),
        session_timeouts_ms=tuple([member.session_timeout_ms for member in members]),
        rebalance_timeouts_ms=tuple([member.rebalance_timeout_ms for member in members]),
    )


def too_large(turn: Turn, group: Group) -> bool:
    """True if the group record would exceed the largest batch size of the offsets topic. Only profiles with `group_record_limit` check
    this."""
    return at_once(too_large_in_steps(turn, group))


def too_large_in_steps(turn: Turn, group: Group) -> Generator[None, None, bool]:
    """Find out `too_large` of a group that may have many members."""
    if not turn.quirks.group_record_limit:
        return False
    return (yield from _record_size(group)) > group.home.largest_batch(group.partition)


def _record_size(group: Group) -> Generator[None, None, int]:
    """Return the approximate size of the group record (GroupMetadataKey v2, GroupMetadataValue v3)."""
    chosen = group.protocol_name or ""
    size = (
        RECORD_OVERHEAD + 4 + _text(group.group_id) + 22 + _text(group.protocol_type) + _text(group.protocol_name) + _text(group.leader_id)
    )
    for number, some in enumerate(parts([*group.members.values()])):
        if number:
            yield
        for member in some:
            names = _text(member.member_id) + _text(member.group_instance_id) + _text(member.client_id) + _text(member.client_host)
            size += names + 16 + len(member.metadata(chosen)) + len(member.assignment)
    return size


def _text(value: str | None) -> int:
    return 2 + len((value or "").encode("utf-8", "surrogatepass"))


def unload(turn: Turn, group: Group) -> None:
    """Unload the group, which refuses parked requests with NOT_COORDINATOR (16), a JoinGroup with its member id, and stops every timer
    (SERVER-49)."""
    for member in group.members.values():
        sessions.end(turn, group, member.member_id)
        if member.join is not None and not member.join.answered:
            turn.reply(member.join.ticket, answers.join_refused(error_codes.NOT_COORDINATOR, member.join.version, member.member_id))
        if member.sync is not None:
            turn.reply(member.sync.ticket, answers.sync_refused(error_codes.NOT_COORDINATOR))
    for name in ("join", "sync"):
        turn.timers.cancel((name, group.group_id))
    group.clear()


def restore(turn: Turn, group: Group, stored: StoredGroup | None) -> None:
    """Restore a group from its last group record."""
    group.stored = stored
    if stored is None:
        return
    group.refill(stored, (_restored(turn, group, stored, row, member) for row, member in enumerate(stored.members)))
    metadata = [member.metadata(stored.protocol_name or "") for member in group.members.values()]
    group.subscribed = Subscribed(metadata) if stored.protocol_type == "consumer" else UNKNOWN


def _restored(turn: Turn, group: Group, stored: StoredGroup, row: int, member: Member) -> Member:
    timeout, chosen = stored.session_timeouts_ms[row], stored.protocol_name or ""
    return Member(
        member_id=member.member_id,
        group_instance_id=member.group_instance_id,
        client_id=member.client_id,
        client_host=member.client_host,
        session_timeout_ms=timeout,
        rebalance_timeout_ms=stored.rebalance_timeouts_ms[row],
        # The record has only the chosen protocol, so a member's first rejoin with its full list may look like a change.
        protocols=((chosen, metadata_of(stored.protocols[row], chosen)),),
        session=turn.timers.set(sessions.key(group, member.member_id), turn.after(timeout)),
        spread=member.spread,
        is_new=False,
        assignment=stored.assignments[row],
    )
