"""The observed groups of a recording, in bounded number. Groups of which only refusals were seen are not kept."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from .heard_group import HeardGroup

MOST_GROUPS: Final = 10_000
"""At most this many groups are followed; the oldest is forgotten if there are more."""
MOST_IDS: Final = 30_000
"""At most this many members and reserved ids are kept in all groups; the oldest group is forgotten if there are more."""
COUNT_EVERY: Final = 1000
"""Members and reserved ids are counted after this many JoinGroups."""


class HeardGroups(dict[str, HeardGroup]):
    """Maps group ids to groups, the oldest first. `forgets` is called with the id of a forgotten group."""

    def __init__(self, forgets: Callable[[str], None]) -> None:
        super().__init__()
        self._forgets = forgets
        self._joins = 0

    def follow(self, group_id: str) -> HeardGroup:
        """Return the group with this id, a new one if it is not followed yet."""
        group = self.get(group_id)
        if group is None:
            if len(self) >= MOST_GROUPS:
                self._forget(next(iter(self)))
            group = self[group_id] = HeardGroup(group_id)
        return group

    def forget_refused(self, group_id: str) -> None:
        """Forget a group of which only refusals were seen, because it may not exist."""
        group = self.get(group_id)
        if group is not None and group.unseen:
            self._forget(group_id)

    def bound(self, group_id: str, now: int) -> None:
        """Limit the memory of all groups together, once in `COUNT_EVERY` JoinGroups. The group of this JoinGroup is not forgotten."""
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
