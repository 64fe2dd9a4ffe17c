"""The tests of this folder are about the tree itself: they read files and change nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

TREE = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="session")
def tree() -> Path:
    """The root of the checkout, or of an unpacked sdist."""
    return TREE
