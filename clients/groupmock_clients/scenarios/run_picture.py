"""Draw the ownership map of one run, for a cell of the heat table."""

from __future__ import annotations

from collections.abc import Sequence

from groupmock.rounds import ownership_maps
from groupmock.timeline.forms.ownership import thumbnail

from .play import GROUP, RUNNER, Row


def picture(rows: Sequence[Row]) -> str:
    """Return the ownership map of the measured part of a run as a small picture."""
    at = {row["what"]: row["t"] for row in rows if row["kind"] == "client" and row["client"] == RUNNER and row["what"] in ("begin", "end")}
    found = ownership_maps(rows, GROUP)[GROUP]
    # A little of what was before belongs to the picture, because it shows from whom partitions move.
    return thumbnail(found, at["begin"] - (at["end"] - at["begin"]) // 12, at["end"])
