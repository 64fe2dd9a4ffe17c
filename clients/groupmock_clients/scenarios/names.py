"""What a journal calls the run it is of."""

from __future__ import annotations

from pathlib import Path

from .play import Sizes


def run_name(sizes: Sizes, journal: Path | None) -> str:
    """What a journal calls the run: the file's name and the seed, so that runs of many scenarios can be told apart and put together."""
    return f"{sizes.seed:x}" if journal is None else f"{journal.stem}-seed-{sizes.seed}"
