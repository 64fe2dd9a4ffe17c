"""Judgements of rules: the client did what the rule asks, or it did not."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple


class Kept(NamedTuple):
    """The client did here what the rule asks."""


class Broken(NamedTuple):
    """The client did something else. `sentence`: who did what, for a developer; `rows`: numbers of the rows that show it; `instead`: what
    would have been right."""

    sentence: str
    rows: tuple[int, ...]
    instead: str


KEPT: Final = Kept()
Judgements = Iterator[Kept | Broken]
