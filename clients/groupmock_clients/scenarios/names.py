"""Choose the name under which a run appears in its journal."""

from __future__ import annotations

from pathlib import Path

from .play import Sizes


def run_name(sizes: Sizes, journal: Path | None) -> str:
    """Return the file's name and the seed, so that runs of many scenarios can be distinguished and grouped."""
    return f"{sizes.seed:x}" if journal is None else f"{journal.stem}-seed-{sizes.seed}"
