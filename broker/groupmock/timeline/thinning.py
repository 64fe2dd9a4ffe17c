"""Bound the size of a picture, which keeps at most a fixed number of marks and of spans of time. Beyond that, marks that would be drawn
side by side are merged, and the shortest spans are dropped, because no screen shows each heartbeat of a day. A text beside the picture
always says how much was merged."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from typing import Any, Final, Generic, Protocol, TypeVar

from groupmock_codec.units import NS_PER_MS

WIDEST: Final = 1 << 50
"""The longest period in ns (13 days) whose items are merged into one. Further dots are counted and not kept."""
ROOM: Final = 0.75
"""Merging items leaves this share of the room used, because merging for each row would cost too much time."""


class Dot(Protocol):
    """An item of the picture with a first time, a last time, and the number of items that were merged into it."""

    at: int
    until: int
    count: int


D = TypeVar("D", bound=Dot)


class Dots(Generic[D]):
    """A collection of at most `most` items of a picture, each a `Dot`. Dots with the same key in one bucket of time are merged, and
    buckets grow when there are too many dots. `together` counts the dots that represent several things, and those things. `dropped`
    counts the dots without room."""

    def __init__(self, most: int, add: Callable[[D, D], None]) -> None:
        self.width = 1
        self.dropped = 0
        self._most, self._add, self._count = most, add, 0
        self._kept: dict[Hashable, dict[int, D]] = {}

    def add(self, key: Hashable, at: int, make: Callable[[], D], brief: Callable[[], D]) -> None:
        """Add an item of the picture under a key, or merge it into a similar one. `make` makes the whole dot; `brief`, which may be
        cheaper, makes one that is only counted."""
        kept = self._kept.get(key)
        old = kept.get(at // self.width) if kept is not None else None
        if old is not None:
            self._add(old, brief())
        elif self.width >= WIDEST and self._count >= self._most:
            self.dropped += 1
        else:
            if kept is None:  # The dict is made only now, so that a key whose dots are all dropped leaves nothing behind.
                kept = self._kept[key] = {}
            kept[at // self.width] = make()
            self._count += 1
            if self._count > self._most:
                self._widen()

    def items(self) -> Iterator[tuple[Any, list[D]]]:
        """Yield each key with its items in the order of time."""
        for key, kept in self._kept.items():
            yield key, sorted(kept.values(), key=lambda each: each.at)

    def forget(self, before: int) -> None:
        """Forget items that ended before a time (ns). The fewer dots that are left begin again with the narrowest buckets."""
        kept = {key: {dot.at: dot for dot in dots.values() if dot.until >= before} for key, dots in self._kept.items()}
        self._kept = {key: dots for key, dots in kept.items() if dots}
        self._count, self.width = sum(map(len, self._kept.values())), 1

    @property
    def together(self) -> tuple[int, int]:
        """Return how many items stand for several merged ones, and for how many."""
        several = [dot.count for kept in self._kept.values() for dot in kept.values() if dot.count > 1]
        return len(several), sum(several)

    def _widen(self) -> None:
        while self._count > ROOM * self._most and self.width < WIDEST:
            self.width = max(NS_PER_MS, 2 * self.width)
            for key, kept in self._kept.items():
                self._kept[key] = self._merged(kept)
            self._count = sum(map(len, self._kept.values()))

    def _merged(self, kept: dict[int, D]) -> dict[int, D]:
        merged: dict[int, D] = {}
        if len(kept) == 1:  # A key with a single dot, as most have, needs no merging.
            (dot,) = kept.values()
            return {dot.at // self.width: dot}
        for dot in sorted(kept.values(), key=lambda each: each.at):
            old = merged.setdefault(dot.at // self.width, dot)
            if old is not dot:
                self._add(old, dot)
        return merged


class Spanned(Protocol):
    """An item of the picture with a duration; `until` is None if it lasts to the end."""

    since: int
    until: int | None


S = TypeVar("S", bound=Spanned)


class Spans(Generic[S]):
    """A collection of at most `most` items with a duration. Beyond that, the shortest of the ended spans are dropped. `dropped` counts
    them, and each was shorter than `shortest` (ns)."""

    def __init__(self, most: int) -> None:
        self.dropped = 0
        self.shortest = 0
        self._most = most
        self._kept: dict[Hashable, list[S]] = {}
        self._count = 0

    def add(self, key: Hashable, span: S) -> None:
        """Add an item, whose end may be set later."""
        if span.until is not None and span.until - span.since < self.shortest:
            self.dropped += 1
            return
        self._kept.setdefault(key, []).append(span)
        self._count += 1
        if self._count > self._most:
            self._thin()

    def of(self, key: Hashable) -> list[S]:
        """Return the items of a key in the order in which they were added."""
        return self._kept.get(key, [])

    def forget(self, before: int) -> None:
        """Forget items that ended before a time (ns)."""
        self._kept = {
            key: kept
            for key, spans in self._kept.items()
            if (kept := [each for each in spans if each.until is None or each.until >= before])
        }
        self._count, self.shortest = sum(map(len, self._kept.values())), 0

    def _thin(self) -> None:
        lasting = sorted(each.until - each.since for kept in self._kept.values() for each in kept if each.until is not None)
        spare = self._count - int(ROOM * self._most)
        if not lasting:
            self._most *= 2  # No time span with a former owner exists that could be left out, and present owners are always drawn.
            return
        self.shortest = max(self.shortest, lasting[min(spare, len(lasting)) - 1] + 1)
        for key, kept in self._kept.items():
            self._kept[key] = [each for each in kept if each.until is None or each.until - each.since >= self.shortest]
        left = sum(map(len, self._kept.values()))
        self.dropped += self._count - left
        self._count = left
