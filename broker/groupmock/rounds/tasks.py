"""Read the tasks of the members of a streams group (KIP-1071).

An active task counts as a partition, because one member at a time has it. Its topic is "task " and the subtopology, which no topic can be
called, because names of topics have no blanks.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from .embedded import Partition, Partitions
from .owners import NOTHING, Changed

TASK: Final = "task "


def tasks_of(found: Iterable[Mapping[str, Any]] | None) -> Partitions:
    """Return the tasks in a list of a StreamsGroupHeartbeat; null counts as an empty list."""
    return frozenset((f"{TASK}{each['subtopology_id']}", number) for each in found or () for number in each["partitions"])


def is_task(partition: Partition) -> bool:
    return partition[0].startswith(TASK)


def place_name(topic: str, number: int) -> str:
    """Return the name of a partition, such as orders/2, or of a task in Kafka's form, such as 1_2."""
    return f"{topic.removeprefix(TASK)}_{number}" if topic.startswith(TASK) else f"{topic}/{number}"


class Standbys:
    """The standby tasks of a streams group's members. `of` maps member ids to tasks, and `changed` is called after each change."""

    __slots__ = ("_changed", "of")

    def __init__(self, changed: Changed | None) -> None:
        self._changed = changed
        self.of: dict[str, Partitions] = {}

    def changes(self, member: str, tasks: Partitions, at: int) -> Partitions:
        """Note that a member has exactly these standby tasks from now on, and return the former ones."""
        before = self.of.pop(member, NOTHING)
        if tasks:
            self.of[member] = tasks
        if self._changed is not None and tasks != before:
            self._changed(member, before, tasks, at)
        return before
