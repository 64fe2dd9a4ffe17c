"""Lists the invariants of a streams group, which tests check after every event."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Final

from ..consumer.states import AWAY, Progress
from .group import Group, roles
from .states import State
from .tasks import Task


def _actives(group: Group) -> dict[Task, list[str]]:
    found: dict[Task, list[str]] = {}
    for member in group.members.values():
        for task in roles(member, "active"):
            found.setdefault(task, []).append(member.member_id)
    return found


def _standing(group: Group) -> set[tuple[Task, str]]:
    return {(task, member.held_by) for member in group.members.values() for task in roles(member, "standby")}


def _instances(group: Group) -> dict[str, str]:
    return {each.group_instance_id: each.member_id for each in group.members.values() if each.group_instance_id is not None}


def _targeted(group: Group) -> Counter[Task]:
    return Counter(task for target in group.targets.values() for task in target.active)


INVARIANTS: Final[dict[str, Callable[[Group], bool]]] = {
    "no active task is in two members' hands": lambda group: all(len(who) == 1 for who in _actives(group).values()),
    "holders of active tasks are known": lambda group: group.actives == {task: who[0] for task, who in _actives(group).items()},
    "processes with a standby task have it": lambda group: (
        _standing(group).issuperset((task, process) for task, processes in group.standing.items() for process in processes)
    ),
    "tasks are noted for the process that has them": lambda group: all(
        member.held_by == member.process_id for member in group.members.values()
    ),
    "no active task is in two targets": lambda group: all(count == 1 for count in _targeted(group).values()),
    "while the topology is ready, targets have tasks that exist": lambda group: (
        not group.is_ready
        or group.generation != group.assignment_epoch
        or group.configured is None
        or all(0 <= number < group.configured.tasks.get(subtopology, 0) for subtopology, number in _targeted(group))
    ),
    "no member is ahead of the target, nor the target of the group": lambda group: all(
        member.epoch <= group.assignment_epoch <= group.generation for member in group.members.values()
    ),
    "a member that has to give up something has it": lambda group: all(
        member.revoking.any == (member.progress is Progress.UNREVOKED) for member in group.members.values()
    ),
    "instances are those of the members": lambda group: group.static_members == _instances(group),
    "only members have targets": lambda group: group.targets.keys() <= group.members.keys(),
    "a static member that is away has nothing to give up": lambda group: all(
        not member.revoking.any for member in group.members.values() if member.epoch == AWAY
    ),
    "members that are not at rest are known": lambda group: (
        group.restless == {member.member_id for member in group.members.values() if not group.at_rest(member)}
    ),
    "members in order are the members": lambda group: set(group.table) == group.members.keys(),
    "the state is that of the members": lambda group: group.state == State.DEAD or group.state == group.present(),
    "members have a topology": lambda group: not group.members or group.topology is not None,
    "topics are taken down as they are, unless one is to be looked at again": lambda group: (
        group.stale or group.failed_epoch > 0 or group.topology is None or group.topics == group.as_they_are(group.required)
    ),
}
"""Maps the name of each invariant to the function that checks it."""
