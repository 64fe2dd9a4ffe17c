"""Reads the task lists of heartbeats and descriptions of streams groups (KIP-1071)."""

from __future__ import annotations

from typing import Any, Final

ACTIVE: Final = "active"
STANDBY: Final = "standby"
RoleTask = tuple[str, str, int]
"""A task as its role, its subtopology and its partition."""


def tasks_in(lists: Any) -> frozenset[RoleTask]:
    """Return the tasks of a message or a part of one that has `active_tasks` and `standby_tasks`."""
    of_roles = ((ACTIVE, lists.active_tasks), (STANDBY, lists.standby_tasks))
    return frozenset((role, each.subtopology_id, number) for role, found in of_roles for each in found or () for number in each.partitions)
