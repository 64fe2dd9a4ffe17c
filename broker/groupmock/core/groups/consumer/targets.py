"""When another target is computed, by which assignor, and of what (CG-100 to CG-107; TargetAssignmentBuilder)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from ...turn import Turn
from ...units import NS_PER_MS
from .assignors import ASSIGNORS, Subscriber, Target, assign
from .group import Group, Member
from .timing import Timing


def may_compute(turn: Turn, group: Group, timing: Timing) -> bool:
    """Is there something to compute, and was the last time long enough ago? The first target is never delayed (CG-106)."""
    if group.generation == group.assignment_epoch:
        return False
    return group.computed_at is None or turn.now >= group.computed_at + timing.assignment_ms() * NS_PER_MS


def compute(turn: Turn, group: Group, heard: Member, names: Sequence[str] | None, replaced: str | None, alike: bool | None) -> None:
    """The target of this group epoch. `heard`: whose heartbeat it is, `names`: as that gives them; `replaced`: whose place it takes.

    `alike`: how the group subscribed before this heartbeat, where that did not look at topics: Kafka looks at the subscriptions anew
    together with those, so that who joins with no topics leaves a group alike, and may be the one whose topics all are given (seen on
    4.3.0).
    """
    assignor = preferred(turn, group, heard)
    instead_of = replaced if replaced != heard.member_id else None
    subscribers = _subscribers(group, heard, names)
    alike = group.judge() if alike is None else alike
    group.assign(assign(assignor, subscribers, group.topics, instead_of, alike=alike), turn.now, assignor)


def _subscribers(group: Group, heard: Member, names: Sequence[str] | None) -> list[Subscriber]:
    """Everybody in the table, then `heard`, if it is new to that. Flat: it is the way of every member of a group."""
    members, targets, listed = group.members, group.targets, dict[frozenset[str], list[str]]()
    nothing: Target = {}
    found = []
    for member_id, spread in group.table.spreads():
        member = members.get(member_id)
        if member is heard or member is None or member.regex:
            found.append(_subscriber(group, member_id, names if member is heard else None, spread))
            continue
        given = listed.get(member.names)
        if given is None:
            given = listed[member.names] = sorted(member.names)
        found.append(Subscriber(member_id, member.group_instance_id, given, targets.get(member_id, nothing), spread=spread))
    if heard.member_id not in group.table:
        found.append(_subscriber(group, heard.member_id, names, None))
    return found


def _subscriber(group: Group, member_id: str, names: Sequence[str] | None, spread: int | None) -> Subscriber:
    """`names`: as its heartbeat gives them; None: they are sorted."""
    member = group.members.get(member_id)
    if member is None:  # who was replaced
        return Subscriber(member_id, None, (), {}, spread=spread)
    given = sorted(member.names) if names is None else names
    resolved = group.resolved.get(member.regex) if member.regex else None
    matched = () if resolved is None else sorted(resolved.topics)
    return Subscriber(member_id, member.group_instance_id, given, group.targets.get(member_id, {}), member.regex, matched, spread)


def preferred(turn: Turn, group: Group, heard: Member | None = None) -> str:
    """The assignor that most of those name who name one; else the first of those that there are (CG-100).

    Of even votes the first in the map of votes wins. That has `uniform` first; but a heartbeat (`heard`: whose) counts its member's vote
    anew, in a copy, and what nobody else votes for is put in front there (ConsumerGroup.computePreferredServerAssignor; HashMap.compute).
    """
    votes = Counter(member.assignor for member in group.members.values() if member.assignor is not None)
    if not votes:
        return turn.settings.consumer_assignors[0]
    most = max(votes.values())
    if heard is not None and most == 1 and heard.assignor is not None:
        return heard.assignor
    return next(name for name in ASSIGNORS if votes[name] == most)
