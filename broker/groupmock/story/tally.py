"""Count what happens in a long story, for a summary of at most ten lines."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Final

from ..rounds import Partition, Rebalance
from .words import count, listed, offsets_text, rebalances_text, seconds

KEYS: Final = 1000
"""At most this many different texts of one kind are counted separately; the rest are counted as "others"."""
PARTITIONS: Final = 10_000
LINES: Final = 10


class Bounded(Counter[str]):
    """Counts texts, in bounded number because peers may make texts up."""

    def more(self, key: str) -> None:
        self[key if key in self or len(self) < KEYS else "others"] += 1


class Tally:
    """The counts that the summary of a story shows. `first` is the time of the first refusal."""

    def __init__(self) -> None:
        self.causes = Bounded()
        self.first_joins = 0
        self.gone = Bounded()
        self.faults = Bounded()
        self.orders = Bounded()
        self.odd = Bounded()
        self.refusals = Bounded()
        self.first: int | None = None
        self._commits = Bounded()
        self._number = 0
        self._last: dict[Partition, int] = {}

    def rebalances(self, begun: Rebalance) -> None:
        """Count a rebalance that has begun."""
        if begun.number == self._number:
            return
        self._number = begun.number
        if begun.first_join:
            self.first_joins += 1
        else:
            self.causes.more((begun.cause or "no cause").replace("_", " "))

    def refused(self, who: str, api: str, error: str, t: int) -> None:
        self.refusals.more(f"{who}'s {api} {error}")
        self.first = t if self.first is None else self.first

    def commits(self, who: str, offsets: Mapping[Partition, int]) -> None:
        self._commits.more(who)
        if len(self._last) < PARTITIONS:
            self._last |= offsets

    def lines(self, joined: bool) -> Iterator[str]:
        """Yield the lines of the summary. `joined`: the group ever had members."""
        if self.causes or self.first_joins:
            causes = f": {_counted(self.causes)}" if self.causes else ""
            yield f"{rebalances_text(self.first_joins, self.causes.total())}{causes}"
        if self.refusals:
            yield f"{self.refusals.total()} REFUSED, the first at {seconds(self.first or 0)}: {_counted(self.refusals)}"
        if self.odd:
            yield f"odd: {_counted(self.odd)}"
        if self._commits:
            yield f"{count(self._commits.total(), 'commit')}: {_counted(self._commits)}; the last {offsets_text(self._last)}"
        elif joined:
            yield "nobody has committed an offset"
        if self.gone:
            yield f"gone: {_counted(self.gone)}"
        if self.orders:
            yield f"ordered by the test: {_counted(self.orders)}"
        if self.faults:
            yield f"fault rules: {_counted(self.faults)}"


def _counted(found: Counter[str]) -> str:
    return listed([f"{key} x{times}" if times > 1 else key for key, times in found.most_common()])
