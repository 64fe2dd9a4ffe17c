"""Members of a consumer group join, change and leave, with the effects on the group (GroupMetadataManager.consumerGroupHeartbeat,
consumerGroupLeave, classicGroupLeaveToConsumerGroup)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import msgspec

from groupmock_codec import error_codes
from groupmock_codec.messages.k13_leave_group import MemberIdentity

from ...turn import Turn
from .. import causes, timing
from ..causes import Why
from ..modern import in_words, settle
from . import reconciliation
from .beat import Beat
from .group import Departure, Group, Member, no_session
from .reconciliation import Owned
from .states import JOINING, Progress

if TYPE_CHECKING:
    from ...re2j.matching import Matcher
    from .assignors import Steps


def admit(turn: Turn, group: Group, beat: Beat, known: Member | None) -> tuple[Member, str | None, Why | None]:
    """Return the member that sent the heartbeat: `known`, or else a new member. That may be a static member that was away and is back,
    with any member id (CG-93); the second value is then the id of the member whose place it takes. The third value is the cause, or None
    if no member came."""
    if known is not None:
        update(turn, group, known, beat)
        return known, None, None
    away = None if beat.group_instance_id is None else group.static_members.get(beat.group_instance_id)
    if away is not None:
        member, why = _returned(turn, group, group.members[away], beat)
        update(turn, group, member, beat)
        return member, away, why
    member = Member(
        beat.member_id,
        beat.group_instance_id,
        beat.client_id,
        beat.client_host,
        rack_id=beat.rack_id,
        rebalance_timeout_ms=beat.rebalance_timeout_ms,
        assignor=beat.assignor,
    )
    group.put(member)
    why = causes.member_joined(member.member_id)
    turn.member_changed(group, member.member_id, "added", why, member)
    return member, None, why


def _returned(turn: Turn, group: Group, old: Member, beat: Beat) -> tuple[Member, Why]:
    """Return the static member that came back, with the partitions and the target of its former process. Its epoch starts from 0."""
    timing.stop(turn, group, old.member_id)
    anew = {"epoch": JOINING, "previous_epoch": -1, "session": no_session()}
    new = msgspec.structs.replace(old, member_id=beat.member_id, group_instance_id=beat.group_instance_id, former_instances=(), **anew)
    group.replace(old, new)
    why = causes.instance_replaced(str(old.group_instance_id), new.member_id, old.member_id)
    turn.member_changed(group, new.member_id, "replaced", why, new)
    return new, why


def update(turn: Turn, group: Group, member: Member, beat: Beat) -> None:
    """Update the stored fields of a member that do not affect its target (CG-35, CG-41)."""
    before = _stored(member)
    if beat.group_instance_id is not None and beat.group_instance_id != member.group_instance_id:
        former = tuple(instance for instance in member.instances if instance != beat.group_instance_id)
        if not turn.quirks.former_instance_ids_stay:
            for instance in former:
                del group.static_members[instance]
            former = ()
        member.former_instances, member.group_instance_id = former, beat.group_instance_id
        group.static_members[beat.group_instance_id] = member.member_id
    member.client_id, member.client_host = beat.client_id, beat.client_host
    if member.classic is not None:  # The member sent a heartbeat, so it uses the consumer protocol from now on.
        timing.stop_classic(turn, group, member.member_id)
        group.speak(member, None)
    if beat.rack_id is not None:
        member.rack_id = beat.rack_id
    if beat.rebalance_timeout_ms != -1:
        member.rebalance_timeout_ms = beat.rebalance_timeout_ms
    if beat.assignor is not None:
        group.vote(member, beat.assignor)
    if _stored(member) != before:
        # The core has to see the group's next heartbeats, because a heartbeat that a connection repeats on its own would change the fields
        # back.
        group.end_leases()


def _stored(member: Member) -> tuple[object, ...]:
    return (
        member.group_instance_id, member.rack_id, member.client_id, member.client_host, member.rebalance_timeout_ms, member.assignor,
    )  # fmt: skip


def subscribe(group: Group, member: Member, beat: Beat, matcher: Matcher | None) -> tuple[bool, bool]:
    """Set the member's subscription from the heartbeat, and return whether it changed and whether a new target is needed.

    A regular expression that was never resolved matches nothing yet, and needs no target (CG-110, CG-114)."""
    names = member.names if beat.names is None else beat.names
    regex = member.regex if beat.regex is None else beat.regex
    renamed, other = names != member.names, regex != member.regex
    if not (renamed or other):
        return False, False
    group.subscribe(member, names, regex)
    if matcher is not None:
        group.matchers[regex] = matcher
    return True, renamed or (other and (not regex or regex in group.resolved))


def advance(turn: Turn, group: Group, member: Member, owned: Owned, resubscribed: bool, aimless: bool = False) -> Steps[bool]:
    """Do the member's step towards its target for this heartbeat, and emit an event if anything changed. Return True if its partitions
    changed. `aimless`: no target is found for it (CG-97)."""
    before = (member.epoch, member.progress, member.assigned.keys(), member.revoking.keys())
    target = {} if aimless else group.targets.get(member.member_id, {})
    yield from reconciliation.reconcile(group, member, owned, resubscribed, target)
    if before == (member.epoch, member.progress, member.assigned.keys(), member.revoking.keys()):
        return False
    if member.progress is Progress.UNREVOKED:
        if member.classic is None:  # A classic member has a timer for its next JoinGroup instead of a revocation timer (`timing`).
            timing.await_revocation(turn, group, member)
        what, why = "revoking", causes.must_revoke(member.member_id, in_words(group, list(member.revoking)))
    else:
        if before[1] is Progress.UNREVOKED:
            timing.revoked(turn, group, member)
        has = in_words(group, list(member.assigned))
        awaited = in_words(group, reconciliation.missing(group, member)) if member.progress is Progress.UNRELEASED else ""
        what, why = "reconciled", causes.reconciled(member.member_id, member.epoch, has, awaited)
    turn.member_changed(group, member.member_id, what, why, member)
    return before[2] != member.assigned.keys()


def go_away(turn: Turn, group: Group, member: Member) -> None:
    """Let a static member leave temporarily, without effect on the other members (CG-92)."""
    timing.revoked(turn, group, member)
    reconciliation.go_away(group, member)
    group.judge_anew(settled=True)
    why = causes.instance_away(str(member.group_instance_id), member.member_id)
    turn.member_changed(group, member.member_id, "away", why, member)
    settle(turn, group, why)


def left_to_classics(turn: Turn, group: Group) -> bool:
    """True if the group has to become a classic one, because a member left and only classic members remain (CG-185 to CG-189). Usually
    that member used the consumer protocol. A member that changed its protocol in place does not convert the group, but the next
    departure does."""
    alone = group.lost is not None and group.classics > 0 and group.classics == len(group.members)
    allowed = turn.settings.group_consumer_migration_policy in ("downgrade", "bidirectional")
    return alone and allowed and group.classics <= turn.settings.group_max_size


def remove(turn: Turn, group: Group, members: list[Member], why: Why) -> None:
    """Remove members from the group for good: their partitions become free, and the remaining members need one new target (CG-66)."""
    group.lost = Departure(rebalances=True)
    for member in members:
        timing.stop(turn, group, member.member_id)
        group.drop(member)
        group.table.discard(member.member_id)
        turn.member_changed(group, member.member_id, "removed", why, member)
    group.judge_anew(settled=False)
    # The group epoch is not raised if the group becomes classic, because the registry converts it at the present epoch.
    if not left_to_classics(turn, group):
        group.count_topics()
        group.bump()
        if not group.members and not turn.quirks.emptied_group_keeps_assignment_epoch:
            group.catch_up()
        settle(turn, group, why, bumped=True)


def leave(turn: Turn, group: Group, entries: Sequence[MemberIdentity]) -> list[int]:
    """Handle the LeaveGroup of an administrator (CG-163, CG-179), and return an error code per entry. One new target is needed, however
    many members go. A member that is listed twice is answered without error twice (seen on 4.3.0 and 4.4.0)."""
    gone: dict[str, MemberIdentity] = {}
    errors = []
    for entry in entries:
        member, error = _named(group, entry)
        if member is not None:
            gone.setdefault(member.member_id, entry)
        errors.append(error)
    if gone:
        told = [(each.member_id, each.group_instance_id, each.reason) for each in gone.values()]
        remove(turn, group, [group.members[member_id] for member_id in gone], causes.members_left(told))
    return errors


def _named(group: Group, entry: MemberIdentity) -> tuple[Member | None, int]:
    if entry.group_instance_id is None:
        member = group.members.get(entry.member_id)
        return member, error_codes.NONE if member is not None else error_codes.UNKNOWN_MEMBER_ID
    holder = group.static_members.get(entry.group_instance_id)
    if holder is None:
        return None, error_codes.UNKNOWN_MEMBER_ID
    if entry.member_id and entry.member_id != holder:
        return None, error_codes.FENCED_INSTANCE_ID
    return group.members[holder], error_codes.NONE
