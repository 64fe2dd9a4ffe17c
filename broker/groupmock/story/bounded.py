"""Lines of a story: all of them while they are few, else the first and the last ones."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator


class FirstAndLast:
    """Keeps `most` lines, a quarter of them from the beginning. `count`: how many there were."""

    def __init__(self, most: int) -> None:
        self.count = 0
        self._left_out = 0
        self._first: list[str] = []
        self._most_first = max(1, most // 4)
        self._last: deque[str] = deque(maxlen=max(1, most - self._most_first))

    def add(self, line: str) -> None:
        """One more."""
        self.count += 1
        if len(self._first) < self._most_first:
            self._first.append(line)
        else:
            self._left_out += len(self._last) == self._last.maxlen
            self._last.append(line)

    def lines(self) -> Iterator[str]:
        """In order, with a line in place of those that were left out."""
        yield from self._first
        if self._left_out:
            yield f"{'...':>9}  {self._left_out} lines are left out here"
        yield from self._last
