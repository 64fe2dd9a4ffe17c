"""The story of one group, which grows with each row."""

from __future__ import annotations

from .bounded import FirstAndLast
from .folding import Folded
from .tale import Tale


class Section:
    """A group's `tale`, and its `lines` in the order of time, in bounded number."""

    def __init__(self, tale: Tale, most: int) -> None:
        self.tale = tale
        self.folded = Folded()
        self.lines = FirstAndLast(most)
