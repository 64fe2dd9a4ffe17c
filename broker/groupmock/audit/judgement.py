"""A rule judges that the client did what the rule asks, or that it did not."""

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


KEPT: Final = Kept()
Judgements = Iterator[Kept | Broken]
