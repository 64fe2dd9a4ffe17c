"""Target assignments are computed here: this module decides when a target is due, and chooses the assignor and its input (CG-100 to
CG-107; TargetAssignmentBuilder)."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import Any, Final

from groupmock_codec.units import NS_PER_MS

from ...settings import listed
from ...turn import Turn
from ..modern import ModernGroup
from ..timing import Timing
from .assignors import ASSIGNORS, Effort, Steps, Subscription, Target, assign, subscription_of
from .assignors import Member as Seen
from .group import Group, Member

NOTHING_NAMED: Final = Subscription((), 0)


def may_compute(turn: Turn, group: ModernGroup[Any, Any], timing: Timing) -> bool:
    """True if a new target assignment is needed, and the last one was computed long enough ago. The first target is never delayed
    (CG-106)."""
    if group.generation == group.assignment_epoch:
        return False
    return group.computed_at is None or turn.now >= group.computed_at + timing.assignment_ms() * NS_PER_MS


def compute(turn: Turn, group: Group, heard: Member, names: Sequence[str] | None, replaced: str | None, alike: bool | None) -> Steps[None]:
    """Compute the target assignment for the present group epoch. `heard` is the member of the heartbeat, `names` are its topic names in the
    order of the heartbeat, and `replaced` is the member whose place it takes.

    `alike` says whether the group subscribed alike before this heartbeat, if the heartbeat did not check topics: Kafka checks the
    subscriptions only together with the topics. So a member that joins without topics leaves a group alike, and may get all partitions of
    the others' topics (seen on 4.3.0)."""
    assignor = preferred(turn, group, heard)
    instead_of = replaced if replaced != heard.member_id and turn.quirks.replacement_has_no_target else None
    alike, effort = group.judge() if alike is None else alike, Effort()
    members = yield from _members(group, heard, names, instead_of, effort)
    targets = yield from assign(ASSIGNORS[assignor], members, group.topics, instead_of, alike=alike, effort=effort)
    group.assign(targets, turn.now, assignor)


def _members(group: Group, heard: Member, names: Sequence[str] | None, instead_of: str | None, effort: Effort) -> Steps[list[Seen]]:
    """Return all members of the member table in the form in which assignors see them, followed by `heard` if it is new. `instead_of` is
    the id of a replaced static member to keep, which is still in the table."""
    newcomers = () if heard.member_id in group.table else ((heard.member_id, None),)
    nothing: Target = {}
    found = []
    matched: dict[tuple[frozenset[str], str], Subscription] = {}
    for member_id, spread in chain(group.table.spreads(), newcomers):
        member = group.members.get(member_id)
        if member is None:  # A member may be missing: a replaced static member is still in the table, but has no subscription any more.
            if member_id == instead_of:
                found.append(Seen(member_id, None, NOTHING_NAMED, nothing, spread))
            continue
        subscription, cost = _subscription(group, member, names if member is heard else None, matched)
        found.append(Seen(member_id, member.group_instance_id, subscription, group.targets.get(member_id, nothing), spread))
        if effort.spend(2 + cost):
            yield
    return found


def _subscription(
    group: Group, member: Member, listed: Sequence[str] | None, matched: dict[tuple[frozenset[str], str], Subscription]
) -> tuple[Subscription, int]:
    """Return the member's subscription and the effort of reading it, which is 0 if an equal subscription was already read. `listed` has
    the names in the order of its heartbeat; None means sorted, and shared. `matched` has what was read of members with regular
    expressions."""
    named = group.named[member.names]
    found = None if listed is not None else matched.get((member.names, member.regex)) if member.regex else named.subscription
    if found is not None:
        return found, 0
    resolved = group.resolved.get(member.regex) if member.regex else None
    found_names = sorted(member.names) if listed is None else listed
    found = subscription_of(found_names, () if resolved is None else sorted(resolved.topics), group.topics, group.spreads)
    if listed is None and member.regex:
        matched[member.names, member.regex] = found
    elif listed is None:
        named.subscription = found
    return found, 4 * found.size


def first_configured(turn: Turn) -> str:
    """Return the assignor of groups whose members name none."""
    return listed(turn.settings.group_consumer_assignors)[0]


def preferred(turn: Turn, group: Group, heard: Member | None = None) -> str:
    """Return the assignor that most members name, of those that name one; else the first configured one (CG-100).

    In a tie the first in the map of votes wins, which is `uniform`. But a heartbeat (of the member `heard`) counts its member's vote
    again, in a copy of the map, and an assignor that no other member names is put in front there
    (ConsumerGroup.computePreferredServerAssignor; HashMap.compute)."""
    votes = group.votes
    if not votes:
        return first_configured(turn)
    most = max(votes.values())
    if heard is not None and most == 1 and heard.assignor is not None:
        return heard.assignor
    return next(name for name in ASSIGNORS if votes[name] == most)
