"""Who has offsets in which topic, so that a topic's deletion costs what is in it, however many groups there are."""

from __future__ import annotations

Owner = tuple[int, str]
"""A number in the order in which owners are to be told, or their partition of the offsets topic, and a group's id."""


class ByTopic:
    """Topic -> owners. Kept by whoever adds and discards offsets: a topic is here exactly while somebody has something in it."""

    def __init__(self) -> None:
        self._owners: dict[str, dict[str, int]] = {}  # topic -> group's id -> number

    def __len__(self) -> int:
        return len(self._owners)

    def add(self, topic: str, owner: Owner) -> None:
        """It has something there."""
        self._owners.setdefault(topic, {})[owner[1]] = owner[0]

    def discard(self, topic: str, owner: Owner) -> None:
        """It has nothing there (any more)."""
        owners = self._owners.get(topic)
        if owners is not None and owners.get(owner[1]) == owner[0]:
            del owners[owner[1]]
            if not owners:
                del self._owners[topic]

    def take(self, topic: str) -> dict[str, int]:
        """Who has something there, number by id, and is no more filed under it."""
        return self._owners.pop(topic, {})

    def owners(self, topic: str) -> list[Owner]:
        """Who has something there, in order."""
        return sorted((number, group_id) for group_id, number in self._owners.get(topic, {}).items())

    def clear(self) -> None:
        """Nobody has anything."""
        self._owners.clear()
