"""Holds the facts about a group, and makes and formats verdicts on the claims of its story."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from groupmock_codec.units import NS_PER_S

from .claims import Claim, Partition
from .history import GroupFacts, History


@dataclass(frozen=True, slots=True)
class Verdict:
    """The verdict on one claim of a story. `true` is None if the journal does not say. `why` and `rows` say what contradicts the claim."""

    group: str
    claim: Claim
    true: bool | None
    why: str = ""
    rows: tuple[int, ...] = ()

    def __str__(self) -> str:
        word = {True: "true", False: "FALSE", None: "unknown"}[self.true]
        rows = f" (rows {', '.join(map(str, self.rows))})" if self.rows else ""
        return f"{word} [{self.claim.kind}] {self.group}: {self.claim.line.strip()}\n      {self.why}{rows}"


@dataclass(slots=True)
class Bench:
    """One group whose story is judged, with the facts from its rows. `leader` is the one at the end of the story."""

    group: GroupFacts
    history: History
    leader: str | None

    def verdict(self, claim: Claim, true: bool | None, why: str = "", rows: Iterable[int] = ()) -> Verdict:
        return Verdict(self.group.name, claim, true, "" if true else why, tuple(rows))

    def ids(self, who: str) -> set[str]:
        """Return the ids of the members that have this name in the story, which are several if they share it."""
        return self.group.names.get(who, set())


def printed(ns: int) -> str:
    """Format a time as stories do."""
    return f"{ns / NS_PER_S:.3f}"


def named(partitions: Iterable[Partition]) -> str:
    """Format partitions as `orders/0 orders/1` for a sentence."""
    return " ".join(f"{topic}/{number}" for topic, number in sorted(partitions)) or "nothing"
