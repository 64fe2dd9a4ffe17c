"""Who comes, changes and goes, and what that does to the group (GroupMetadataManager.consumerGroupHeartbeat, consumerGroupLeave)."""

from __future__ import annotations

import msgspec

from ...turn import Turn
from .. import causes, telling
from ..causes import Why
from . import reconciliation, timing
from .beat import Beat
from .group import Group, Member, Spot, no_session
from .reconciliation import Owned
from .states import JOINING, Progress


def settle(turn: Turn, group: Group, why: Why) -> None:
    """Tell it where the group's state has become another one."""
    now = group.present()
    if now != group.state:
        telling.moved(turn, group, group.move(now), why)


def admit(turn: Turn, group: Group, beat: Beat) -> tuple[Member, str | None, Why]:
    """Somebody joins: a new member, or a static one that was away and is back, by whatever member id (CG-93): then whose place it takes."""
    away = None if beat.group_instance_id is None else group.static_members.get(beat.group_instance_id)
    if away is not None:
        member, why = _returned(turn, group, group.members[away], beat)
        return member, away, why
    member = Member(beat.member_id, beat.group_instance_id, beat.client_id, beat.client_host)
    group.put(member)
    why = causes.member_joined(member.member_id)
    telling.changed(turn, group, member.member_id, "added", why, member)
    return member, None, why


def _returned(turn: Turn, group: Group, old: Member, beat: Beat) -> tuple[Member, Why]:
    """It has what it had kept, and its target; its epoch begins anew."""
    timing.stop(turn, group, old.member_id)
    new = msgspec.structs.replace(old, member_id=beat.member_id, epoch=JOINING, previous_epoch=-1, session=no_session())
    group.replace(old, new)
    why = causes.instance_replaced(str(old.group_instance_id), new.member_id, old.member_id)
    telling.changed(turn, group, new.member_id, "replaced", why, new)
    return new, why


def update(turn: Turn, group: Group, member: Member, beat: Beat) -> None:
    """What of a member is stored and calls for nothing (CG-35, CG-41)."""
    before = _stored(member)
    if beat.group_instance_id is not None and beat.group_instance_id != member.group_instance_id:
        member.group_instance_id = beat.group_instance_id
        group.static_members[beat.group_instance_id] = member.member_id
    member.client_id, member.client_host = beat.client_id, beat.client_host
    if member.classic is not None:  # it has been updated, and speaks the consumer protocol from now on
        timing.stop_classic(turn, group, member.member_id)
        group.speak(member, None)
    if beat.rack_id is not None:
        member.rack_id = beat.rack_id
    if beat.rebalance_timeout_ms != -1:
        member.rebalance_timeout_ms = beat.rebalance_timeout_ms
    if beat.assignor is not None:
        member.assignor = beat.assignor
    if _stored(member) != before:
        group.end_leases()  # a heartbeat by another connection would change it back


def _stored(member: Member) -> tuple[object, ...]:
    instance, rack, client = member.group_instance_id, member.rack_id, (member.client_id, member.client_host)
    return instance, rack, client, member.rebalance_timeout_ms, member.assignor


def advance(turn: Turn, group: Group, member: Member, owned: Owned, resubscribed: bool) -> bool:
    """The member's step of this heartbeat, told where it is one. Is what it may have another than before?"""
    before = (member.epoch, member.progress, member.assigned.keys(), member.revoking.keys())
    reconciliation.reconcile(group, member, owned, resubscribed)
    if before == (member.epoch, member.progress, member.assigned.keys(), member.revoking.keys()):
        return False
    if member.progress is Progress.UNREVOKED:
        if member.classic is None:  # others owe a JoinGroup (timing)
            timing.await_revocation(turn, group, member)
        what, why = "revoking", causes.must_revoke(member.member_id, in_words(group, list(member.revoking)))
    else:
        timing.revoked(turn, group, member)
        has, awaited = in_words(group, list(member.assigned)), _awaited(group, member)
        what, why = "reconciled", causes.reconciled(member.member_id, member.epoch, has, awaited)
    telling.changed(turn, group, member.member_id, what, why, member)
    return before[2] != member.assigned.keys()


def _awaited(group: Group, member: Member) -> str:
    return in_words(group, reconciliation.missing(group, member)) if member.progress is Progress.UNRELEASED else ""


def in_words(group: Group, spots: list[Spot], most: int = 4) -> str:
    """orders-0, orders-1 and 3 more."""
    names = {topic_id: name for name, (topic_id, _) in group.topics.items()}
    told = [f"{names.get(topic, 'a topic that is gone')}-{index}" for topic, index in sorted(spots)[:most]]
    more = f" and {len(spots) - most} more" if len(spots) > most else ""
    return ", ".join(told) + more if told else "nothing"


def go_away(turn: Turn, group: Group, member: Member) -> None:
    """A static member leaves and will be back: nobody else notices (CG-92)."""
    timing.revoked(turn, group, member)
    reconciliation.go_away(group, member)
    why = causes.instance_away(str(member.group_instance_id), member.member_id)
    telling.changed(turn, group, member.member_id, "away", why, member)
    settle(turn, group, why)


def left_to_classics(turn: Turn, group: Group) -> bool:
    """Is the group to be a classic one, now that a member of the consumer protocol went (CG-185 to CG-189)?"""
    alone = group.lost is not None and group.classics > 0 and group.classics == len(group.members)
    allowed = turn.settings.group_consumer_migration_policy in ("downgrade", "bidirectional")
    return alone and allowed and group.classics <= turn.settings.group_max_size


def remove(turn: Turn, group: Group, members: list[Member], why: Why) -> None:
    """They are gone for good: what they had is free, and another target is called for, once for all of them (CG-66)."""
    for member in members:
        group.lost = "gone" if member.classic is None else group.lost
        timing.stop(turn, group, member.member_id)
        group.drop(member)
        group.table.discard(member.member_id)
        telling.changed(turn, group, member.member_id, "removed", why, member)
    if not left_to_classics(turn, group):  # else the registry makes it another group, at this epoch
        group.bump()
        settle(turn, group, why)
