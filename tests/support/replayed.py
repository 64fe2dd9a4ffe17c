"""Checks that a test's journal can be replayed to the last row."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol, TypeVar

from groupmock.rig.replay import replay


class Journalled(Protocol):
    """A test helper with a rig and the path of its journal."""

    rig: Any
    path: Path


W = TypeVar("W", bound=Journalled)


@contextmanager
def replayed(world: W) -> Iterator[W]:
    """Yield the helper, close it after the test and replay its journal."""
    yield world
    world.rig.close()
    result = replay(world.path)
    assert result.difference is None, result
