"""Lists the modules of a package without importing them. A starting server lists its APIs and message files with it."""

from __future__ import annotations

import os
from collections.abc import Iterable


def stems(path: Iterable[str]) -> list[str]:
    """Return the names of the modules in the folders of `path` (a package's `__path__`), sorted."""
    folders = list(path)
    try:
        # pkgutil finds the same and costs a starting server three times as much.
        names = {os.path.splitext(name) for folder in folders for name in os.listdir(folder)}
        return sorted({stem for stem, ending in names if ending in (".py", ".pyc") and stem != "__init__"})
    except (NotADirectoryError, FileNotFoundError):  # The package is inside a zip file, as on a Spark executor.
        from pkgutil import iter_modules

        return sorted(module.name for module in iter_modules(folders) if not module.ispkg)
