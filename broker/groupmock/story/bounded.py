"""A story keeps all of its lines while they are few, otherwise only the first and the last ones."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, MutableSequence

Entry = tuple[int, str]
"""A line of a story with its time (ns)."""


class FirstAndLast:
    """Keeps at most `most` lines in the order of time, a quarter of them from the beginning. `count` counts all lines."""

    def __init__(self, most: int) -> None:
        self.count = 0
        self._left_out = 0
        self._first: list[Entry] = []
        self._most_first = max(1, most // 4)
        self._last: deque[Entry] = deque(maxlen=max(1, most - self._most_first))

    def add(self, line: str, at: int) -> None:
        """Insert a line by its time, because some lines are made later than their events."""
        self.count += 1
        entry = (at, line)
        if len(self._first) < self._most_first:
            _insert(self._first, entry)
            return
        if at < self._first[-1][0]:
            _insert(self._first, entry)
            entry = self._first.pop()
        if len(self._last) == self._last.maxlen:
            self._left_out += 1
            if entry[0] < self._last[0][0]:
                return
            self._last.popleft()
        _insert(self._last, entry)

    def lines(self) -> Iterator[str]:
        """Yield the lines in order, with a line that counts those that were left out."""
        yield from (line for _, line in self._first)
        if self._left_out:
            yield f"{'...':>9}  {self._left_out} lines are left out here"
        yield from (line for _, line in self._last)


def _insert(lines: MutableSequence[Entry], entry: Entry) -> None:
    """Insert the line after all lines that are not later."""
    place = len(lines)
    while place and lines[place - 1][0] > entry[0]:
        place -= 1
    lines.insert(place, entry)
