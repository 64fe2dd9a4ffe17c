"""A picture can be written in several forms, each in a file of this folder."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from ..model import Timeline
from . import html, perfetto, svg

FORMS: Final[dict[str, Callable[[Timeline], str]]] = {"html": html.write, "svg": svg.write, "perfetto": perfetto.write}
