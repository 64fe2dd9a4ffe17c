"""Who is in a group: dynamic members, reserved ids (KIP-394), static members and their replacement (KIP-345)."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import NamedTuple

import msgspec

from ..events import Request
from ..java.hashes import spread
from ..turn import Turn
from . import answers, codes, sessions, telling
from .group import Group, Member, Parked, Protocols


class Wish(NamedTuple):
    """What a JoinGroup asks for, whatever its version."""

    protocol_type: str
    protocols: Protocols
    session_timeout_ms: int
    rebalance_timeout_ms: int
    group_instance_id: str | None


def validate(turn: Turn, group: Group, member_id: str, group_instance_id: str | None, joining: bool = False) -> int:
    """The code that these ids earn: 25 for an unknown instance or id, 82 for an instance of another member, else 0 (spec 2.2)."""
    if group_instance_id is not None:
        mapped = group.static_members.get(group_instance_id)
        if mapped is None and (joining or not turn.quirks.unmapped_instance_ignored):
            return codes.UNKNOWN_MEMBER_ID
        if mapped is not None and mapped != member_id:
            return codes.FENCED_INSTANCE_ID
    return codes.NONE if member_id in group.members else codes.UNKNOWN_MEMBER_ID


def new_id(turn: Turn, client_id: str | None, group_instance_id: str | None) -> str:
    """A fresh member id: the instance id or the client id, a dash, a random UUID (spec 2.2)."""
    prefix = group_instance_id
    if prefix is None:
        prefix = client_id if client_id is not None else ("null" if turn.quirks.null_client_id_prefix else "")
    return f"{prefix}-{turn.environment.dice.uuid_text()}"


def reserve(turn: Turn, group: Group, client_id: str | None, session_timeout_ms: int) -> str:
    """Reserve a fresh id for a client that has to come back with it (79)."""
    member_id = new_id(turn, client_id, None)
    group.pending_joins.add(member_id)
    sessions.reserve(turn, group, member_id, session_timeout_ms)
    telling.changed(turn, group, member_id, "reserved", f"client {client_id or ''!r} asked to join and must come back with this id")
    return member_id


def drop_reservation(turn: Turn, group: Group, member_id: str, why: str, what: str = "removed") -> None:
    """Forget a reserved id."""
    group.pending_joins.discard(member_id)
    sessions.end(turn, group, member_id)
    telling.changed(turn, group, member_id, what, why)


def add(turn: Turn, group: Group, request: Request, member_id: str, wish: Wish) -> Member:
    """Take a new member in, its JoinGroup parked (spec 2.2, 'Add member')."""
    if not group.members:
        group.protocol_type = wish.protocol_type
    member = Member(
        member_id=member_id,
        group_instance_id=wish.group_instance_id,
        client_id=sys.intern(request.client_id or ""),
        client_host=sys.intern(request.client_host),
        session_timeout_ms=wish.session_timeout_ms,
        rebalance_timeout_ms=wish.rebalance_timeout_ms,
        protocols=wish.protocols,
        session=sessions.begin(turn, group, member_id, wish.session_timeout_ms),
        spread=spread(member_id),
        join=Parked(request.ticket, request.version),
    )
    group.pending_joins.discard(member_id)
    group.put(member)
    telling.changed(turn, group, member_id, "added", f"member {member_id} joined", member)
    if group.leader_id is None:
        lead(turn, group, member, "it is the first member")
    return member


def update(turn: Turn, group: Group, member: Member, request: Request, wish: Wish) -> None:
    """A member joined again: take over what it offers and asks for, park its JoinGroup; an earlier one is never answered (spec 2.4)."""
    if member.protocols != wish.protocols:
        group.relist(member, wish.protocols)
        telling.changed(turn, group, member.member_id, "updated", f"member {member.member_id} joined again with other protocols", member)
    if not turn.quirks.rejoin_keeps_timeouts:
        member.session_timeout_ms = wish.session_timeout_ms
        member.rebalance_timeout_ms = wish.rebalance_timeout_ms
    earlier = group.park_join(member, Parked(request.ticket, request.version))
    if earlier is not None and not earlier.answered:
        turn.abandon(earlier.ticket, f"member {member.member_id} sent another JoinGroup")


def remove(turn: Turn, group: Group, member: Member, why: str) -> None:
    """Take a member out: its parked join is answered 25, its parked sync never (spec 2.11)."""
    if member.join is not None and not member.join.answered:
        turn.reply(member.join.ticket, answers.join_refused(codes.UNKNOWN_MEMBER_ID, member.join.version))
    discard(turn, group, member, why)


def discard(turn: Turn, group: Group, member: Member, why: str, what: str = "removed") -> None:
    """Take a member without a parked join out of the group; the next leader is the first of Kafka's member map."""
    sessions.end(turn, group, member.member_id)
    group.drop(member)
    group.pending_syncs.discard(member.member_id)
    telling.changed(turn, group, member.member_id, what, why, member)
    if member.sync is not None:
        turn.abandon(member.sync.ticket, f"member {member.member_id} is gone: {why}")
    if group.is_leader(member):
        lead(turn, group, group.first(), f"leader {member.member_id} is gone")


def discard_all(turn: Turn, group: Group, members: list[Member], why: Callable[[Member], str]) -> None:
    """Take many members out, electing a leader once: the first of those who remain, as one by one would give."""
    leader = group.members.get(group.leader_id) if group.leader_id is not None else None
    for member in members:
        if member is not leader:
            discard(turn, group, member, why(member))
    if leader is not None and leader in members:
        discard(turn, group, leader, why(leader))


def lead(turn: Turn, group: Group, member: Member | None, why: str) -> None:
    """Make a member the leader; None: there is none any more."""
    group.lead(member)
    if member is not None:
        telling.changed(turn, group, member.member_id, "led", f"member {member.member_id} leads: {why}", member)


def refuse(turn: Turn, group: Group, member_id: str, why: str) -> bool:
    """Drop an id, member or reserved, that found no room (81, spec 2.12). Was there one?"""
    if member_id in group.pending_joins:
        drop_reservation(turn, group, member_id, why, "refused")
        return True
    member = group.members.get(member_id)
    if member is not None:
        discard(turn, group, member, why, "refused")
    return member is not None


def replace(turn: Turn, group: Group, old: Member, request: Request, wish: Wish) -> Member:
    """A static member came back without its id: a new id takes the old one's place (spec 2.8, steps 1 to 4).

    `pending_syncs` keeps the old id on purpose: Kafka forgets to rewrite it (2.8 does), so a sync timer may start a rebalance later.
    The old session timer is left to the caller.
    """
    assert old.group_instance_id is not None
    refuse_parked(turn, group, old)
    member_id = new_id(turn, request.client_id, old.group_instance_id)
    new = msgspec.structs.replace(
        old,
        member_id=member_id,
        session=turn.timers.set(sessions.key(group, member_id), turn.after(old.session_timeout_ms)),
        spread=spread(member_id),
        is_new=old.is_new and turn.quirks.replacement_stays_new,
    )
    swap(group, old, new)
    if turn.quirks.replacement_takes_over_debts and old.member_id in group.pending_syncs:
        group.pending_syncs.remove(old.member_id)
        group.pending_syncs.add(member_id)
    why = f"instance {old.group_instance_id} came back: {member_id} replaces {old.member_id}"
    telling.changed(turn, group, member_id, "replaced", why, new)
    group.relist(new, wish.protocols)
    if not turn.quirks.rejoin_keeps_timeouts:
        new.session_timeout_ms = wish.session_timeout_ms
        new.rebalance_timeout_ms = wish.rebalance_timeout_ms
    group.park_join(new, Parked(request.ticket, request.version))
    return new


def swap(group: Group, old: Member, new: Member) -> None:
    """Put `new` where `old` was: maps, counts, leadership."""
    group.drop(old)
    group.put(new)
    if group.is_leader(old):
        group.lead(new)


def refuse_parked(turn: Turn, group: Group, old: Member) -> None:
    """Whoever waits under a replaced member's id is fenced (82)."""
    join = group.park_join(old, None)
    if join is not None and not join.answered:
        turn.reply(join.ticket, answers.join_refused(codes.FENCED_INSTANCE_ID, join.version, old.member_id))
    sync, old.sync = old.sync, None
    if sync is not None:
        turn.reply(sync.ticket, answers.sync_refused(codes.FENCED_INSTANCE_ID))
