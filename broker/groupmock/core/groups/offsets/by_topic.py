"""An index maps each topic to the groups with offsets in it, so that deleting a topic does not visit every group."""

from __future__ import annotations

Owner = tuple[int, str]
"""The owner of offsets as a pair: a number that orders owners (or the partition of the offsets topic), and a group id."""


class ByTopic:
    """Maps each topic to the owners of the offsets in it. Its users add and discard entries: a topic is in it exactly while a group has
    an offset there."""

    def __init__(self) -> None:
        self._owners: dict[str, dict[str, int]] = {}  # Maps a topic to the owners' group ids, and each group id to the owner's number.

    def __len__(self) -> int:
        return len(self._owners)

    def add(self, topic: str, owner: Owner) -> None:
        self._owners.setdefault(topic, {})[owner[1]] = owner[0]

    def discard(self, topic: str, owner: Owner) -> None:
        """Note that the owner has no offset in the topic any more."""
        owners = self._owners.get(topic)
        if owners is not None and owners.get(owner[1]) == owner[0]:
            del owners[owner[1]]
            if not owners:
                del self._owners[topic]

    def take(self, topic: str) -> dict[str, int]:
        """Remove the topic from the index and return its owners: group id -> number."""
        return self._owners.pop(topic, {})

    def owners(self, topic: str) -> list[Owner]:
        """Return the owners of offsets in the topic, sorted."""
        return sorted((number, group_id) for group_id, number in self._owners.get(topic, {}).items())

    def clear(self) -> None:
        self._owners.clear()
