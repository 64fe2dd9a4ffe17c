"""Computes the targets of a share group's members (TargetAssignmentBuilder.ShareTargetAssignmentBuilder; SG-57, SG-60)."""

from __future__ import annotations

from collections.abc import Sequence

from ...turn import Turn
from ..consumer.assignors import Computed, Effort, Steps, Subscription, assign, subscription_of
from ..consumer.assignors import Group as Seen
from ..consumer.assignors import Member as SeenMember
from . import simple_assignor
from .group import Group, Member


def compute(turn: Turn, group: Group, heard: Member, listed: Sequence[str] | None) -> Steps[Computed]:
    """Compute the target for the present group epoch. `listed` are the topic names of the member `heard` in the order of its heartbeat,
    whose answer lists its target in the order in which that is returned (the others' targets are read from the log)."""
    effort, members = Effort(), []
    for member_id, spread in group.table.spreads():
        member = group.members[member_id]
        subscription = _subscription(group, member, listed if member is heard else None)
        members.append(SeenMember(member_id, None, subscription, group.targets.get(member_id, {}), spread))
        if effort.spend(2):
            yield
    computed: dict[str, Computed] = {}

    def simple(seen: Seen, effort: Effort) -> Steps[dict[str, Computed]]:
        computed.update((yield from simple_assignor.assign(group.initialized, seen, effort)))
        return computed

    targets = yield from assign(simple, members, group.topics, alike=group.alike(), effort=effort)
    group.assign(targets, turn.now)
    return computed.get(heard.member_id, {})


def _subscription(group: Group, member: Member, listed: Sequence[str] | None) -> Subscription:
    """Return the member's subscription, which members with equal names share unless the names come from a heartbeat."""
    if listed is not None:
        return subscription_of(listed, (), group.topics, group.spreads)
    named = group.named[member.names]
    if named.subscription is None:
        named.subscription = subscription_of(sorted(member.names), (), group.topics, group.spreads)
    return named.subscription
