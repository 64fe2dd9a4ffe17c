"""Collect the story of one group row by row."""

from __future__ import annotations

from .bounded import FirstAndLast
from .folding import Folded
from .tale import Tale


class Section:
    """The story of one group: its `tale`, and a bounded number of its `lines` in the order of time."""

    def __init__(self, tale: Tale, most: int) -> None:
        self.tale = tale
        self.folded = Folded()
        self.lines = FirstAndLast(most)
