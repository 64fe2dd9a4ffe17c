"""Infer the likely cause of a failed test from patterns of rows: one file for a few related causes, each cause a function.

A cause looks at the `Evidence` of one group, at its fold and at its members, and says nothing unless all rows of its pattern are there. Its
sentence names these rows by their times. The order of `CAUSES` is that of the lines in a story: a cause that explains what a member did
keeps later causes from explaining it again. docs/how-to/read-the-story.md shows a story for each mistake.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from .assignments import assignors_without_a_common_name, several_services, unknown_topic
from .case import Case, Likely
from .commits import commit_after_revoke, commits_in_wrong_order, nobody_commits, uncommitted_work_handed_over
from .fetches import begins_at_the_end, never_fetched, open_transaction
from .members import closed_without_leaving, polls_too_slowly, static_id_twice
from .rights import lacks_a_right
from .topologies import another_topology, application_ended, topics_keep_tasks_away

Cause = Callable[[Case], Iterator[Likely]]
CAUSES: Final[tuple[Cause, ...]] = (
    lacks_a_right, topics_keep_tasks_away, another_topology, application_ended, static_id_twice, polls_too_slowly, closed_without_leaving,
    commit_after_revoke, uncommitted_work_handed_over, commits_in_wrong_order, begins_at_the_end, assignors_without_a_common_name,
    several_services, unknown_topic, open_transaction, never_fetched, nobody_commits,
)  # fmt: skip
MOST: Final = 3
"""At most this many likely causes are told of one group, the first of each kind."""
LIKELY: Final = "Likely: "


def likely_lines(case: Case) -> list[str]:
    """Return a line for each likely cause of a group's trouble, [] if no pattern is in its rows."""
    found: list[str] = []
    for cause in CAUSES:
        first = next(cause(case), None)
        if first is not None:
            case.explained.update(first.members)
            found.append(f"{LIKELY}{first.sentence}")
    return found[:MOST]


__all__ = ["CAUSES", "LIKELY", "Case", "Cause", "Likely", "likely_lines"]
