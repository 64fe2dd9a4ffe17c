"""Remembers things by name until a time, and no more than a number of them."""

from __future__ import annotations

from collections.abc import Collection
from typing import Generic, TypeVar

V = TypeVar("V")


class Expiring(Generic[V]):
    """Values by name, each with the time (ns of the run) until which it is remembered. Of more than `most`, the one whose time comes first
    is forgotten."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._found: dict[str, tuple[V, int]] = {}

    def note(self, name: str, value: V, until: int) -> None:
        """Remember a value until a time."""
        self._found[name] = (value, until)
        if len(self._found) > self._most:
            del self._found[min(self._found, key=lambda each: self._found[each][1])]

    def get(self, name: str, now: int) -> V | None:
        """Return the value of a name, or None if nothing is remembered."""
        found = self._found.get(name)
        if found is None or now < found[1]:
            return None if found is None else found[0]
        del self._found[name]
        return None

    def ends(self) -> Collection[int]:
        """Return the times at which values are forgotten."""
        return [until for _, until in self._found.values()]
