"""The story of one group as it grows."""

from __future__ import annotations

from .bounded import FirstAndLast
from .folding import Folded
from .tale import Tale


class Section:
    """The `lines` of a group, bounded, in the order of time."""

    def __init__(self, tale: Tale, most: int) -> None:
        self.tale = tale
        self.folded = Folded()
        self.lines = FirstAndLast(most)
