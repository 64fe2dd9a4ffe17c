"""The syntax trees of this repository's modules, for the checks that read the whole tree. Each module is parsed once per process."""

from __future__ import annotations

import ast
import gc
from functools import cache
from pathlib import Path


@cache
def tree_of(path: Path) -> ast.Module:
    """Return the module's syntax tree, which callers may not change. Python's garbage collector pauses meanwhile: it would look through
    all earlier trees again while a new one grows, which doubles the time."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        return ast.parse(path.read_text(encoding="utf-8"))
    finally:
        if was_enabled:
            gc.enable()
