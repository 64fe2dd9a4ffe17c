"""Reimplements java.util.PriorityQueue, which decides which of several equal elements comes first."""

from __future__ import annotations

from typing import Generic, TypeVar

T = TypeVar("T")


class PriorityQueue(Generic[T]):
    """A binary heap of elements with priorities, of which the lowest comes first. An element's priority must not change while the element
    is in the queue."""

    __slots__ = ("_entries",)

    def __init__(self) -> None:
        self._entries: list[tuple[float, T]] = []

    def __bool__(self) -> bool:
        return bool(self._entries)

    def add(self, priority: float, element: T) -> None:
        """Add an element at the end of the heap, and move the element up past parents of a higher priority (PriorityQueue.siftUp)."""
        entries, at = self._entries, len(self._entries)
        entries.append((priority, element))
        while at:
            parent = (at - 1) // 2
            if priority >= entries[parent][0]:
                break
            entries[at] = entries[parent]
            at = parent
        entries[at] = (priority, element)

    def poll(self) -> T:
        """Remove the first element and return it. The last element of the heap takes its place and moves down (PriorityQueue.siftDown)."""
        entries = self._entries
        first, last = entries[0][1], entries.pop()
        if entries:
            at, size = 0, len(entries)
            while (child := 2 * at + 1) < size:
                if child + 1 < size and entries[child][0] > entries[child + 1][0]:
                    child += 1
                if last[0] <= entries[child][0]:
                    break
                entries[at] = entries[child]
                at = child
            entries[at] = last
        return first
