"""The tests of this folder are about the tree itself: they read files and change nothing."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

TREE = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="session")
def tree() -> Path:
    """The root of the checkout, or of an unpacked sdist."""
    return TREE


@pytest.fixture(scope="session")
def tool() -> ToolLoader:
    """Loads tools/NAME.py, which is on nobody's path."""
    return ToolLoader()


class ToolLoader:
    """`tool("readme_blocks")` -> the module."""

    def __call__(self, name: str, folder: str = "tools") -> ModuleType:
        key = f"groupmock_{folder.replace('/', '_')}_{name}"
        if key not in sys.modules:
            spec = importlib.util.spec_from_file_location(key, TREE / folder / f"{name}.py")
            assert spec and spec.loader
            sys.modules[key] = importlib.util.module_from_spec(spec)
            spec.loader.exec_module(sys.modules[key])
        return sys.modules[key]
