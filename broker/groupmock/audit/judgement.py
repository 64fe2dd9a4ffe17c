"""A rule judges that the client did what the rule asks, that it did not, or that the journal does not tell."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple


class Kept(NamedTuple):
    """A judgement that the client did what the rule asks."""


class Broken(NamedTuple):
    """A judgement that the client did not do what the rule asks. `sentence` tells a developer which client did what, `rows` has the
    numbers of the rows that show it, and `instead` describes the right behaviour."""

    sentence: str
    rows: tuple[int, ...]
    instead: str


class NotJudged(NamedTuple):
    """A judgement that the client was in the situation of the rule, but a wrong client would not have been seen as wrong. `reason` is a
    constant sentence without names and numbers, because occasions are counted by reason: "the answer was lost"."""

    reason: str


KEPT: Final = Kept()
Judgement = Kept | Broken | NotJudged
Judgements = Iterator[Judgement]
