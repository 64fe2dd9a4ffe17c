"""The live stage: stock clients in a process each, over TCP to a groupmock broker (`stage`), Kafka Connect's workers (`connect`), and
instances of Kafka Streams (`streams`)."""

from __future__ import annotations

from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..play import Protocol, ScenarioStage, Sizes


def open_stage(sizes: Sizes, protocol: Protocol, journal: Path | None = None) -> AbstractContextManager[ScenarioStage]:
    """Open a stage for one run, and end all its processes when the block ends. Raises Unsupported if a library is not installed."""
    # The module is imported on demand, because processes of members load this package and need no server.
    from .opening import open_stage

    return open_stage(sizes, protocol, journal)
