"""Lists the invariants of a share group, which tests check after every event."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Final

from .group import Group
from .states import State

INVARIANTS: Final[dict[str, Callable[[Group], bool]]] = {
    "no member is ahead of the target, nor the target of the group": lambda group: all(
        member.epoch <= group.assignment_epoch <= group.generation for member in group.members.values()
    ),
    "only members have targets": lambda group: group.targets.keys() <= group.members.keys(),
    "members in order are the members": lambda group: set(group.table) == group.members.keys(),
    "the state is that of the members": lambda group: group.state == State.DEAD or group.state == group.present(),
    "names are those of the members": lambda group: (
        {names: named.members for names, named in group.named.items()} == Counter(member.names for member in group.members.values())
    ),
    "names are counted": lambda group: group.subscribers == Counter(name for member in group.members.values() for name in member.names),
    "members have only what was assigned to them at their epoch": lambda group: all(
        member.epoch != group.assignment_epoch or _within(member.assigned, group.targets.get(member.member_id, {}))
        for member in group.members.values()
    ),
}
"""Maps the name of each invariant to the function that checks it."""


def _within(assigned: dict[bytes, tuple[int, ...]], target: dict[bytes, tuple[int, ...]]) -> bool:
    return all(set(indexes) <= set(target.get(topic_id, ())) for topic_id, indexes in assigned.items())
