"""Fold repeated lines of a story into one: a line with a key is held back until something else happens, and equal lines are added to it."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator
from typing import Final

from ..rounds import Partition
from .words import count, listed, offsets_text, partitions_text, seconds

HELD: Final = 64
"""At most this many lines are held back for a repetition; then the oldest is written."""
PARTITIONS: Final = 10_000
"""The last offset of at most this many partitions is kept in one line."""


class Line:
    """A line of a story. `who` has the ids of the members that the line is about, and is empty if it is about the whole group. `key` is
    equal for lines that repeat each other. A line without a key is written at once, after all lines that were held back."""

    def __init__(self, at: int, text: str, who: Iterable[str] = (), key: Hashable | None = None) -> None:
        self.at = self.until = at
        self._text = text
        self.who = frozenset(who)
        self.key = key
        self.times = 1

    def takes(self, other: Line) -> bool:
        return True

    def add(self, other: Line) -> None:
        """Add a line that repeats this one, so that both become one line."""
        self.times += 1
        self.until = max(self.until, other.at)
        self.who |= other.who

    @property
    def text(self) -> str:
        return f"{seconds(self.at):>9}  {self.told()}"

    def told(self) -> str:
        """Return the text of the line without its time."""
        return self._text if self.times == 1 else f"{self._text} ({self.times} times, until {seconds(self.until)})"

    def append(self, text: str) -> None:
        """Append to the line what followed from its event."""
        self._text += text


class Commits(Line):
    """Offsets that one member has committed, one after another."""

    def __init__(self, at: int, name: str, offsets: dict[Partition, int], who: Iterable[str]) -> None:
        super().__init__(at, "", who, ("commits", name))
        self._name = name
        self._offsets = dict(offsets)

    def add(self, other: Line) -> None:
        super().add(other)
        if isinstance(other, Commits) and len(self._offsets) < PARTITIONS:
            self._offsets |= other._offsets

    def told(self) -> str:
        if self.times == 1:
            return f"{self._name} commits {offsets_text(self._offsets)}"
        return f"{self._name}: {count(self.times, 'commit')} until {seconds(self.until)}, the last {offsets_text(self._offsets)}"


class Together(Line):
    """Several members that do the same thing, such as "anna, ben hear of it"."""

    def __init__(self, at: int, name: str, one: str, many: str, who: Iterable[str], key: Hashable) -> None:
        super().__init__(at, "", who, key)
        self._names = {name: None}
        self._one, self._many = one, many

    def add(self, other: Line) -> None:
        super().add(other)
        if isinstance(other, Together):
            self._names |= other._names

    def told(self) -> str:
        end = "" if self.until == self.at else f" (until {seconds(self.until)})"
        return f"{listed(list(self._names))} {self._one if len(self._names) == 1 else self._many}{end}"


class Offsets(Line):
    """Partitions with the offsets at which a member begins, collected over several requests."""

    def __init__(self, at: int, name: str, what: str, offsets: dict[Partition, int], none: Iterable[Partition], who: Iterable[str]) -> None:
        super().__init__(at, "", who, (what, name))
        self._name, self._what = name, what
        self._offsets, self._none = dict(offsets), set(none)

    def takes(self, other: Line) -> bool:
        return isinstance(other, Offsets) and self._places().isdisjoint(other._places())

    def _places(self) -> set[Partition]:
        return self._none | self._offsets.keys()

    def add(self, other: Line) -> None:
        super().add(other)
        if isinstance(other, Offsets) and len(self._offsets) + len(self._none) < PARTITIONS:
            self._offsets |= other._offsets
            self._none |= other._none

    def told(self) -> str:
        parts = [offsets_text(self._offsets)] if self._offsets else []
        parts += [f"nothing for {partitions_text(self._none)}"] if self._none else []
        end = "" if seconds(self.until) == seconds(self.at) else f" (until {seconds(self.until)})"
        return f"{self._name} {self._what} {', '.join(parts) or 'nothing'}{end}"


class Folded:
    """Folds repeated lines of a story into one."""

    def __init__(self) -> None:
        self._held: dict[Hashable, Line] = {}

    def feed(self, line: Line) -> Iterator[Line]:
        """Take a line, and yield the lines that can be written now because nothing will be added to them."""
        if line.key is None:
            yield from self.rest()
            yield line
        elif line.key in self._held and self._held[line.key].takes(line):
            self._held[line.key].add(line)
        elif line.key in self._held:
            yield self._held.pop(line.key)
            self._held[line.key] = line
        else:
            if len(self._held) >= HELD:
                yield self._held.pop(next(iter(self._held)))
            self._held[line.key] = line

    def rest(self) -> list[Line]:
        """Return the lines that are still held back."""
        held, self._held = list(self._held.values()), {}
        return held
