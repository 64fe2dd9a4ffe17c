"""A task of a streams group is a subtopology and a number, which is the number of the partitions that the task reads."""

from __future__ import annotations

Task = tuple[str, int]
"""A task as a pair of subtopology id and number."""
TasksBySubtopology = dict[str, tuple[int, ...]]
"""The numbers of tasks by subtopology id, in ascending order."""
