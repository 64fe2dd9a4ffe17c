"""Colour lines for a terminal, unless the user or the terminal refuses colours."""

from __future__ import annotations

import os
from typing import Final, TextIO

BOLD: Final = "1"
DIM: Final = "2"
RED: Final = "31;1"
GREEN: Final = "32"
YELLOW: Final = "33"
MAGENTA: Final = "35"


def wants_colour(out: TextIO) -> bool:
    """True for a terminal that shows colours, if the variable NO_COLOR (https://no-color.org) is not set."""
    return out.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def painted(text: str, colour: str) -> str:
    return f"\x1b[{colour}m{text}\x1b[0m"
