"""Conditions of a wait for a streams group (KIP-1071): the tasks that members have, active and standby."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ..core.groups.streams.group import in_words
from ..core.groups.streams.type import StreamsGroup
from ..core.java.numbers import whole_number
from ..text.printable import brief, printable, quoted
from .wait_condition import BadWait, Condition, Sight

TaskAssignment = Mapping[str, Iterable[str]]
"""Maps members, by member id, instance id or client id, to tasks in Kafka's form: {"anna": ["0_1", "1_1"]}."""
Task = tuple[str, int]


def tasks(role: str, given: TaskAssignment) -> Condition:
    """Return the condition that each named member has exactly these tasks. `role` is active or standby. Raises BadWait."""
    wanted = {name: frozenset(_tasks_of(role, name, found)) for name, found in _named(role, given).items()}

    def lacks(sight: Sight) -> str | None:
        group = sight.group
        if not isinstance(group, StreamsGroup):
            return f"{role} tasks: the group is no streams group"
        missing = []
        for name, each in wanted.items():
            members = [group.members[view.member_id] for view in sight.members(name)]
            has = {task for member in members for task in (member.assigned.active if role == "active" else member.assigned.standby)}
            if not members:
                missing.append(f"there is no member {quoted(name)}")
            elif has != each:
                missing.append(f"{quoted(name)} to have the {role} tasks {printable(in_words(each))}: it has {in_words(has)}")
        return "; ".join(missing) or None

    words = "; ".join(f"{quoted(name)} {printable(in_words(each))}" for name, each in wanted.items())
    return Condition(f"{role} tasks {words}", lacks)


def _named(role: str, given: object) -> TaskAssignment:
    if not isinstance(given, Mapping) or not given:
        raise BadWait(f'{role} tasks are what each member has: {{"anna": ["0_1", "1_1"]}}')
    return given


def _tasks_of(role: str, name: str, found: object) -> Iterable[Task]:
    if isinstance(found, str) or not isinstance(found, Iterable):
        raise BadWait(f'{role} tasks of {name!r}: a list of tasks, as ["0_1"]; [] for none')
    for each in found:
        subtopology, mark, number = str(each).rpartition("_")
        index = whole_number(number, 31) if number.isascii() else None
        if not (subtopology and mark) or index is None or index < 0:
            raise BadWait(f"{brief(each)} is no task: write subtopology_number, as 0_1")
        yield subtopology, index
