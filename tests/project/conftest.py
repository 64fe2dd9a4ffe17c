"""The tests of this folder check the source tree itself: they read files and change nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

TREE = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="session")
def tree() -> Path:
    """Return the root of the checkout or of an unpacked sdist."""
    return TREE
