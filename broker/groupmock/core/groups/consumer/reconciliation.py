"""Each heartbeat moves its member one step towards its target assignment (CurrentAssignmentBuilder; CG-60 to CG-73). `states` explains the
steps."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, Final

from .group import NOTHING, Group, Member
from .orders import Held, Spot, given, grouped, remaining
from .states import AWAY, Progress

if TYPE_CHECKING:
    from .assignors import Steps, Target

MANY: Final = 1000
"""A member's step takes a millisecond if it had or gets this number of partitions."""
Owned = Collection[Spot] | None
"""The partitions that a member claims to own in a heartbeat, or None if the heartbeat does not list them."""


def reconcile(group: Group, member: Member, owned: Owned, resubscribed: bool, target: Target) -> Steps[None]:
    """Do the member's step towards `target` for one heartbeat. `resubscribed`: the subscription changed in this heartbeat. The work is
    divided if the member has many partitions, because a member that joined alone has all of them."""
    there = member.progress is Progress.STABLE and member.epoch == group.assignment_epoch
    if there or (member.progress is Progress.UNREVOKED and _still_owns(owned, member.revoking)):
        if resubscribed:
            _unsubscribe(group, member, owned)
    else:
        yield from _go_on(group, member, owned, target)
    group.watch(member)


def _still_owns(owned: Owned, lost: Held) -> bool:
    """True if the member owns, or may own, a partition that it has to revoke. That is False for an empty list."""
    return bool(lost) and (owned is None or not lost.keys().isdisjoint(owned))


def _subscribed(group: Group, member: Member, spots: Held) -> Held:
    """Return the partitions of topics to which the member still subscribes."""
    ids = {group.topics[name][0] for name in group.subscription_of(member) if name in group.topics}
    return {spot: epoch for spot, epoch in spots.items() if spot[0] in ids}


def _unsubscribe(group: Group, member: Member, owned: Owned) -> None:
    """Revoke at once, at the member's old epoch, the partitions of topics to which the member no longer subscribes (CG-36, CG-70; 4.2
    and later). That is a step, so this epoch becomes the previous one, too. Without any subscription it is a step even if nothing is
    revoked (updateCurrentAssignment)."""
    kept = _subscribed(group, member, member.assigned)
    lost = {spot: epoch for spot, epoch in member.assigned.items() if spot not in kept}
    if not lost and (member.revoking or group.subscription_of(member)):
        return
    member.previous_epoch = member.epoch
    must_revoke = member.progress is Progress.UNREVOKED or _still_owns(owned, lost)
    group.give(member, remaining(member.assigned, kept), _revoked_too(member.revoking, lost) if must_revoke else {})
    member.progress = Progress.UNREVOKED if must_revoke else Progress.STABLE


def _revoked_too(revoking: Held, lost: Held) -> Held:
    """Return the partitions that the member was already revoking, together with those that it lost in this heartbeat. Their topics come
    first, the last one foremost, because Kafka's map of topics puts a new one at the front of its bucket (HashMap.computeIfAbsent; seen
    on 4.4.0)."""
    known = {topic for topic, _ in revoking}
    first = [spot for spot in reversed(lost) if spot[0] not in known]
    return {**{spot: lost[spot] for spot in first}, **revoking, **lost}


def _go_on(group: Group, member: Member, owned: Owned, target: Target) -> Steps[None]:
    """Move the member towards its target: first it revokes partitions at its old epoch, then it takes the new epoch with all free
    partitions of the target."""
    wanted = _subscribed(group, member, {(topic, index): group.assignment_epoch for topic, indexes in target.items() for index in indexes})
    had, own = grouped(member.assigned), member.member_id
    kept: Held = {}
    lost: Held = {}
    for spot, epoch in member.assigned.items():
        (kept if spot in wanted else lost)[spot] = epoch
    many = len(member.assigned) + len(wanted) > MANY
    if many:
        yield
    revoking = given(lost, {}, target, had) if _still_owns(owned, lost) else NOTHING
    if many:
        yield
    free = {} if revoking else {spot: epoch for spot, epoch in wanted.items() if spot not in kept and group.holders.get(spot, own) == own}
    assigned = given(kept, free, target, had)
    if many:
        yield
    member.previous_epoch = member.epoch
    group.give(member, assigned, revoking)
    if revoking:
        member.progress = Progress.UNREVOKED
        return
    member.epoch = group.assignment_epoch
    member.progress = Progress.STABLE if len(assigned) == len(wanted) else Progress.UNRELEASED


def missing(group: Group, member: Member) -> list[Spot]:
    """Return the partitions of the member's target that the member was not assigned yet, because other members hold them."""
    target = group.targets.get(member.member_id, {})
    return [(topic, index) for topic, indexes in target.items() for index in indexes if (topic, index) not in member.assigned]


def go_away(group: Group, member: Member) -> None:
    """Let a static member leave temporarily: the partitions that it is revoking become free at once, and the others are kept for it
    (CG-92, CG-98)."""
    group.give(member, dict.fromkeys(member.assigned, 0), {})
    member.previous_epoch, member.epoch = member.epoch, AWAY
    member.progress = Progress.STABLE
    group.watch(member)
