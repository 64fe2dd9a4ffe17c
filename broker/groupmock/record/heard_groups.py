"""The groups of a recording: so many and no more, and none of which only refusals were seen."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from .heard_group import HeardGroup

MOST_GROUPS: Final = 10_000
"""Groups that are followed; one more, and the oldest is forgotten."""
MOST_IDS: Final = 30_000
"""Members and reserved ids in all groups; of more the oldest group is forgotten with its own."""
COUNT_EVERY: Final = 1000
"""JoinGroups between two counts of these."""


class HeardGroups(dict[str, HeardGroup]):
    """Group id -> group, the oldest first. `forgets` is called with the id of one that was forgotten."""

    def __init__(self, forgets: Callable[[str], None]) -> None:
        super().__init__()
        self._forgets = forgets
        self._joins = 0

    def follow(self, group_id: str) -> HeardGroup:
        """Return that group, a new one if it was not heard of."""
        group = self.get(group_id)
        if group is None:
            if len(self) >= MOST_GROUPS:
                self._forget(next(iter(self)))
            group = self[group_id] = HeardGroup(group_id)
        return group

    def forget_refused(self, group_id: str) -> None:
        """A group of which only refusals were seen may be none at all."""
        group = self.get(group_id)
        if group is not None and group.unseen:
            self._forget(group_id)

    def bound(self, group_id: str, now: int) -> None:
        """A JoinGroup came: bound, now and then, what is kept of all groups together, but not of the one that it asks."""
        self._joins += 1
        if self._joins % COUNT_EVERY:
            return
        count = 0
        for group in self.values():
            group.forget_reserved(now)
            count += _ids(group)
        for oldest in list(self) if count > MOST_IDS else ():
            if count <= MOST_IDS:
                break
            if oldest != group_id:
                count -= _ids(self[oldest])
                self._forget(oldest)

    def _forget(self, group_id: str) -> None:
        del self[group_id]
        self._forgets(group_id)


def _ids(group: HeardGroup) -> int:
    return len(group.members) + len(group.reserved)
