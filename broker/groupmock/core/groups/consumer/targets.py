"""When another target is computed, by which assignor, and of what (CG-100 to CG-107; TargetAssignmentBuilder)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import chain
from typing import Final

from groupmock_codec.units import NS_PER_MS

from ...turn import Turn
from .assignors import ASSIGNORS, Effort, Steps, Subscription, Target, assign, subscription_of
from .assignors import Member as Seen
from .group import Group, Member
from .timing import Timing

NOTHING_NAMED: Final = Subscription((), 0)


def may_compute(turn: Turn, group: Group, timing: Timing) -> bool:
    """Is there something to compute, and was the last time long enough ago? The first target is never delayed (CG-106)."""
    if group.generation == group.assignment_epoch:
        return False
    return group.computed_at is None or turn.now >= group.computed_at + timing.assignment_ms() * NS_PER_MS


def compute(turn: Turn, group: Group, heard: Member, names: Sequence[str] | None, replaced: str | None, alike: bool | None) -> Steps[None]:
    """The target of this group epoch. `heard`: whose heartbeat it is, `names`: as that gives them; `replaced`: whose place it takes.

    `alike`: how the group subscribed before this heartbeat, where that did not look at topics: Kafka looks at the subscriptions anew
    together with those, so that who joins with no topics leaves a group alike, and may be the one whose topics all are given (seen on
    4.3.0).
    """
    assignor = preferred(turn, group, heard)
    instead_of = replaced if replaced != heard.member_id else None
    alike, effort = group.judge() if alike is None else alike, Effort()
    members = yield from _members(group, heard, names, effort)
    targets = yield from assign(assignor, members, group.topics, instead_of, alike=alike, effort=effort)
    group.assign(targets, turn.now, assignor)


def _members(group: Group, heard: Member, names: Sequence[str] | None, effort: Effort) -> Steps[list[Seen]]:
    """Everybody in the table, then `heard`, if it is new to that."""
    newcomers = () if heard.member_id in group.table else ((heard.member_id, None),)
    nothing: Target = {}
    found = []
    matched: dict[tuple[frozenset[str], str], Subscription] = {}
    for member_id, spread in chain(group.table.spreads(), newcomers):
        member = group.members.get(member_id)
        if member is None:  # who was replaced
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
    """What the member subscribes to, and the effort of reading it: none where somebody was seen who subscribes to the same. `listed`: names
    as its heartbeat gives them; None: they are sorted, and shared. `matched`: what has been read of members with regular expressions."""
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


def preferred(turn: Turn, group: Group, heard: Member | None = None) -> str:
    """The assignor that most of those name who name one; else the first of those that there are (CG-100).

    Of even votes the first in the map of votes wins. That has `uniform` first; but a heartbeat (`heard`: whose) counts its member's vote
    anew, in a copy, and what nobody else votes for is put in front there (ConsumerGroup.computePreferredServerAssignor; HashMap.compute).
    """
    named = [member.assignor for member in group.members.values() if member.assignor is not None]
    if not named:
        return turn.settings.consumer_assignors[0]
    votes = Counter(named)
    most = max(votes.values())
    if heard is not None and most == 1 and heard.assignor is not None:
        return heard.assignor
    return next(name for name in ASSIGNORS if votes[name] == most)
