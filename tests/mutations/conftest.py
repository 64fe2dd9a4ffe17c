"""tools/mutations.py, which is on nobody's path."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

TOOL = Path(__file__).resolve().parents[2] / "tools/mutations.py"


def loaded() -> ModuleType:
    """The module of the tool."""
    name = "groupmock_tools_mutations"
    if name not in sys.modules:
        spec = importlib.util.spec_from_file_location(name, TOOL)
        assert spec and spec.loader
        sys.modules[name] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(sys.modules[name])
    return sys.modules[name]


@pytest.fixture(scope="session")
def tool() -> ModuleType:
    """tools/mutations.py."""
    return loaded()
