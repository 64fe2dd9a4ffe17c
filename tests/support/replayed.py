"""Whatever a test does to a world with a journal can be played again, to the last row."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol, TypeVar

from groupmock.rig.replay import replay


class Journalled(Protocol):
    """A world: its rig, and where its journal is."""

    rig: Any
    path: Path


W = TypeVar("W", bound=Journalled)


@contextmanager
def replayed(world: W) -> Iterator[W]:
    """Closes it behind the test, and replays its journal."""
    yield world
    world.rig.close()
    result = replay(world.path)
    assert result.difference is None, result
