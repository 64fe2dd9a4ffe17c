"""Membership of a classic group: dynamic members, reserved ids (KIP-394), static members and their replacement (KIP-345)."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Final

import msgspec

from groupmock_codec import error_codes

from ...budget import LONG, LONGEST_TEXT, OverBudget
from ...events import Request
from ...turn import Turn
from ...work import Steps, parts
from .. import causes
from ..causes import Why
from . import answers, sessions
from .group import Group, Member, Parked, Protocols

ROOM_FOR_UUID: Final = 37


class JoinTerms(msgspec.Struct, gc=False, frozen=True):
    """The fields of a JoinGroup request, in the same form for every version."""

    protocol_type: str
    protocols: Protocols
    session_timeout_ms: int
    rebalance_timeout_ms: int
    group_instance_id: str | None


def validate(turn: Turn, group: Group, member_id: str, group_instance_id: str | None) -> int:
    """Return the error code for a member id and instance id: UNKNOWN_MEMBER_ID (25), FENCED_INSTANCE_ID (82) for an instance of another
    member, or 0.

    The instance is checked first (ClassicGroup.validateMember): a process that was replaced must learn that it is fenced for good. If it
    were told that its id is unknown, it would send another JoinGroup (KIP-345, SERVER-37)."""
    if group_instance_id is not None:
        mapped = group.static_members.get(group_instance_id)
        if mapped is None:
            return error_codes.UNKNOWN_MEMBER_ID
        if mapped != member_id:
            return error_codes.FENCED_INSTANCE_ID
    return error_codes.NONE if member_id in group.members else error_codes.UNKNOWN_MEMBER_ID


def new_id(turn: Turn, group: Group, client_id: str | None, group_instance_id: str | None) -> str:
    """Return a new member id: the instance id or the client id, a dash, and a random UUID (SERVER-01).

    The coordinator never parses it, but tools and people do, so the prefix is exactly that of the release."""
    prefix = group_instance_id
    if prefix is None:
        prefix = client_id or ""
    if len(prefix) > LONG and len(prefix.encode("utf-8", "surrogatepass")) > LONGEST_TEXT - ROOM_FOR_UUID:
        raise OverBudget(f"a client id or instance id of {len(prefix)} characters: no answer can carry a member id that is longer still")
    while True:  # Ids are drawn in a loop, because a command may set the same seed twice (`reseed`), and then the same ids are drawn again.
        member_id = f"{prefix}-{turn.environment.dice.uuid_text()}"
        if not (member_id in group.members or member_id in group.pending_joins or member_id in group.pending_syncs):
            return member_id


def reserve(turn: Turn, group: Group, client_id: str | None, session_timeout_ms: int) -> str:
    """Reserve a new member id for a client that has to join again with this id, because its JoinGroup is answered MEMBER_ID_REQUIRED (79).

    The id is no member: it is in no list, does not count for group.max.size, and has no protocols; only the join phase waits for it
    (KIP-394)."""
    member_id = new_id(turn, group, client_id, None)
    group.pending_joins.add(member_id)
    sessions.reserve(turn, group, member_id, session_timeout_ms)
    turn.member_changed(group, member_id, "reserved", causes.id_reserved(client_id))
    return member_id


def drop_reservation(turn: Turn, group: Group, member_id: str, why: Why, what: str = "removed") -> None:
    group.pending_joins.discard(member_id)
    sessions.end(turn, group, member_id)
    turn.member_changed(group, member_id, what, why)


def _timeouts_ms(terms: JoinTerms, known: Member | None) -> tuple[int, int]:
    """Return the session timeout and the rebalance timeout, as the same objects that a known member has if they are equal."""
    timeouts = terms.session_timeout_ms, terms.rebalance_timeout_ms
    held = timeouts if known is None else (known.session_timeout_ms, known.rebalance_timeout_ms)
    return held if held == timeouts else timeouts


def add(turn: Turn, group: Group, request: Request, member_id: str, terms: JoinTerms, why: Why) -> Member:
    if not group.members:  # The first member sets the protocol type, so an Empty group may change its type.
        group.protocol_type = terms.protocol_type
    session = sessions.begin(turn, group, member_id, terms.session_timeout_ms)
    session_timeout_ms, rebalance_timeout_ms = _timeouts_ms(terms, group.members.get(group.leader_id or ""))
    # Equal objects are shared, because a group may have thousands of members: a reserved id is in the key of its session timer already.
    member = Member(
        member_id=session.key[2],
        group_instance_id=terms.group_instance_id,
        client_id=sys.intern(request.client_id or ""),
        client_host=sys.intern(request.client_host),
        session_timeout_ms=session_timeout_ms,
        rebalance_timeout_ms=rebalance_timeout_ms,
        protocols=terms.protocols,
        session=session,
        join=Parked(request.ticket, request.version),
    )
    group.pending_joins.discard(member_id)
    group.put(member)
    turn.member_changed(group, member_id, "added", why, member)
    if group.leader_id is None:  # The first member becomes the leader at once, though members learn of it only when the join phase ends.
        lead(turn, group, member, causes.FIRST_MEMBER)
    return member


def update(turn: Turn, group: Group, member: Member, request: Request, terms: JoinTerms) -> None:
    """Update a member from the JoinGroup with which it joined again, and park that request. An earlier parked one is never answered
    (P1-d8)."""
    if member.protocols != terms.protocols:
        group.relist(member, terms.protocols)
        turn.member_changed(group, member.member_id, "updated", causes.protocols_changed(member.member_id), member)
    member.session_timeout_ms = terms.session_timeout_ms
    member.rebalance_timeout_ms = terms.rebalance_timeout_ms
    earlier = group.park_join(member, Parked(request.ticket, request.version))
    if earlier is not None and not earlier.answered:
        # Kafka overwrites the callback of the earlier JoinGroup and so never answers that request. Its connection waits for the answer and
        # is not read any more (P1-d6).
        turn.abandon(earlier.ticket, f"member {member.member_id} sent another JoinGroup")


def remove(turn: Turn, group: Group, member: Member, why: Why) -> None:
    """Remove a member from the group, and refuse its parked JoinGroup with UNKNOWN_MEMBER_ID (25). Its parked join is answered 25 with
    an empty id, and its parked sync never (P1-d4, P1-d6)."""
    if member.join is not None and not member.join.answered:
        turn.reply(member.join.ticket, answers.join_refused(error_codes.UNKNOWN_MEMBER_ID, member.join.version))
    discard(turn, group, member, why)


def discard(turn: Turn, group: Group, member: Member, why: Why, what: str = "removed") -> None:
    """Remove a member that has no parked JoinGroup, and elect a new leader if it was the leader. The next leader is the first in Kafka's
    member map."""
    sessions.end(turn, group, member.member_id)
    group.drop(member)
    group.pending_syncs.discard(member.member_id)  # The old id of a replaced static member stays in `pending_syncs`: see `replace`.
    turn.member_changed(group, member.member_id, what, why, member)
    if member.sync is not None:
        turn.abandon(member.sync.ticket, f"member {member.member_id} is gone: {why.sentence}")
    if group.is_leader(member):
        lead(turn, group, group.first(), causes.leader_gone(member.member_id))


def discard_all(turn: Turn, group: Group, members: list[Member], why: Callable[[Member], Why]) -> Steps:
    """Remove many members, and elect a new leader only once, the first of the remaining members."""
    leader = group.members.get(group.leader_id) if group.leader_id is not None else None
    # Kafka removes the members one by one, so several may become leader in turn, but clients only learn of the last one.
    for number, some in enumerate(parts(members)):
        if number:
            yield
        for member in some:
            if member is not leader:
                discard(turn, group, member, why(member))
    if leader is not None and leader in members:
        discard(turn, group, leader, why(leader))


def lead(turn: Turn, group: Group, member: Member | None, why: Why) -> None:
    """Make a member the leader, or leave the group without a leader if `member` is None."""
    group.lead(member)
    if member is not None:
        turn.member_changed(group, member.member_id, "led", causes.leads(member.member_id, why), member)


def refuse(turn: Turn, group: Group, member_id: str, why: Why) -> bool:
    """Drop a member or a reserved id that was refused because the group is full (81, SERVER-32). Return True if the group had it."""
    if member_id in group.pending_joins:
        # Dropping a reserved id does not end the join phase: if all other members are parked, the phase lasts until its timer fires
        # (P1-d3).
        drop_reservation(turn, group, member_id, why, "refused")
        return True
    member = group.members.get(member_id)
    if member is not None:
        discard(turn, group, member, why, "refused")
    return member is not None


def replace(turn: Turn, group: Group, old: Member, request: Request, terms: JoinTerms) -> Member:
    """Replace a static member that rejoined without its member id by a member with a new id
    (docs/kafka/group-protocol.md#static-membership).

    `pending_syncs` keeps the old id on purpose: Kafka forgets to rewrite it, so a sync timer may start a rebalance later. The caller ends
    the old session timer."""
    assert old.group_instance_id is not None
    # A request that is parked under the old id was sent by another process, or by the same process before it restarted, so it is refused
    # with FENCED_INSTANCE_ID (82) (SERVER-36).
    refuse_parked(turn, group, old)
    member_id = new_id(turn, group, request.client_id, old.group_instance_id)
    # The member keeps the client id and host of the old process, because every release of Kafka does so in DescribeGroups
    # (docs/kafka/differences.md).
    new = msgspec.structs.replace(
        old,
        member_id=member_id,
        # The timer still has the old session timeout; the new one counts from the next renewal on.
        session=turn.timers.set(sessions.key(group, member_id), turn.after(old.session_timeout_ms)),
        spread=0,
        is_new=old.is_new and turn.quirks.replacement_stays_new,
    )
    swap(group, old, new)
    turn.member_changed(group, member_id, "replaced", causes.instance_replaced(old.group_instance_id, member_id, old.member_id), new)
    group.relist(new, terms.protocols)
    new.session_timeout_ms = terms.session_timeout_ms
    new.rebalance_timeout_ms = terms.rebalance_timeout_ms
    group.park_join(new, Parked(request.ticket, request.version))
    return new


def swap(group: Group, old: Member, new: Member) -> None:
    """Replace member `old` by `new` in the group's maps and counts, and as leader."""
    group.drop(old)
    group.put(new)
    if group.is_leader(old):
        group.lead(new)


def refuse_parked(turn: Turn, group: Group, old: Member) -> None:
    """Refuse the parked requests of a replaced static member with FENCED_INSTANCE_ID (82)."""
    join = group.park_join(old, None)
    if join is not None and not join.answered:
        turn.reply(join.ticket, answers.join_refused(error_codes.FENCED_INSTANCE_ID, join.version, old.member_id))
    sync, old.sync = old.sync, None
    if sync is not None:
        turn.reply(sync.ticket, answers.sync_refused(error_codes.FENCED_INSTANCE_ID))
