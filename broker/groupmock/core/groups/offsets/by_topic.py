"""An index from topics to groups with offsets in them, so that the cost of deleting a topic depends on its offsets and not on the number
of groups."""

from __future__ import annotations

Owner = tuple[int, str]
"""The owner of offsets: a number for the order of owners (or the partition of the offsets topic), and a group's id."""


class ByTopic:
    """The index from topics to owners. Its users add and discard entries: a topic is in it exactly while a group has an offset there."""

    def __init__(self) -> None:
        self._owners: dict[str, dict[str, int]] = {}  # topic -> group's id -> number

    def __len__(self) -> int:
        return len(self._owners)

    def add(self, topic: str, owner: Owner) -> None:
        self._owners.setdefault(topic, {})[owner[1]] = owner[0]

    def discard(self, topic: str, owner: Owner) -> None:
        """Note that the owner has no offset in the topic (any more)."""
        owners = self._owners.get(topic)
        if owners is not None and owners.get(owner[1]) == owner[0]:
            del owners[owner[1]]
            if not owners:
                del self._owners[topic]

    def take(self, topic: str) -> dict[str, int]:
        """Remove the topic and return its owners, number by id."""
        return self._owners.pop(topic, {})

    def owners(self, topic: str) -> list[Owner]:
        """Return the owners of offsets in the topic, in order."""
        return sorted((number, group_id) for group_id, number in self._owners.get(topic, {}).items())

    def clear(self) -> None:
        self._owners.clear()
