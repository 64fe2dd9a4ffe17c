"""Lists the invariants of a consumer group, which tests check after every event."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Final

from .group import Group
from .orders import Spot
from .states import AWAY, Progress, State


def _holders(group: Group) -> dict[Spot, list[str]]:
    found: dict[Spot, list[str]] = {}
    for member in group.members.values():
        for spot in {**member.assigned, **member.revoking}:
            found.setdefault(spot, []).append(member.member_id)
    return found


def _instances(group: Group) -> dict[str, str]:
    return {instance: member.member_id for member in group.members.values() for instance in member.instances}


INVARIANTS: Final[dict[str, Callable[[Group], bool]]] = {
    "no partition is in two members' hands": lambda group: all(len(who) == 1 for who in _holders(group).values()),
    "holders are who has what": lambda group: group.holders == {spot: who[0] for spot, who in _holders(group).items()},
    "nobody is ahead of the target, nor the target of the group": lambda group: all(
        member.epoch <= group.assignment_epoch <= group.generation for member in group.members.values()
    ),
    "who was told to give up something has it": lambda group: all(
        bool(member.revoking) == (member.progress is Progress.UNREVOKED) for member in group.members.values()
    ),
    "instances are those of the members": lambda group: group.static_members == _instances(group),
    "only members have targets": lambda group: group.targets.keys() <= group.members.keys(),
    "a static member that is away has no partition to give up": lambda group: all(
        not member.revoking for member in group.members.values() if member.epoch == AWAY
    ),
    "who is not at rest is known": lambda group: (
        group.restless == {member.member_id for member in group.members.values() if not group.at_rest(member)}
    ),
    "who speaks classic is counted": lambda group: group.classics == sum(each.classic is not None for each in group.members.values()),
    "members in order are the members": lambda group: set(group.table) == group.members.keys(),
    "the state is that of the members": lambda group: group.state == State.DEAD or group.state == group.present(),
    "every expression can be matched": lambda group: group.expressions.keys() == group.matchers.keys() >= group.resolved.keys(),
    "expressions are those of the members": lambda group: (
        group.expressions == Counter(member.regex for member in group.members.values() if member.regex)
    ),
    "assignors are those that members name": lambda group: (
        group.votes == Counter(member.assignor for member in group.members.values() if member.assignor is not None)
    ),
    "names are those of the members": lambda group: (
        {names: named.members for names, named in group.named.items()} == Counter(member.names for member in group.members.values())
    ),
    "no name is hashed that nobody subscribes to": lambda group: group.spreads.keys() <= {*group.subscribed_names()},
    "topics are taken down as they are, unless one is to be looked at again": lambda group: (
        group.stale or group.recounted != {} or group.topics == group.as_they_are(group.subscribed_names())
    ),
}
"""Maps the name of each invariant to the function that checks it."""
