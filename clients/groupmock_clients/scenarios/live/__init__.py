"""The live stage: stock clients, a process each, over TCP to a broker of groupmock (`stage`), Kafka Connect's workers (`connect`)."""

from __future__ import annotations

from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..play import Protocol, ScenarioStage, Sizes


def open_stage(sizes: Sizes, protocol: Protocol, journal: Path | None = None) -> AbstractContextManager[ScenarioStage]:
    """A stage for one run; everything ends with the block. Raises Unsupported for what is not installed."""
    from .stage import open_stage  # the member processes load this package, and no server

    return open_stage(sizes, protocol, journal)
