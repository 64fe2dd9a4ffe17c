"""The properties by name: every `Property` that a module of this folder holds, one file per subject."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator
from functools import cache

from found import Property


@cache
def properties() -> dict[str, Property]:
    """Name -> property. Two of one name are a mistake."""
    found: dict[str, Property] = {}
    for each in _all():
        assert found.setdefault(each.name, each) is each, f"two properties are called {each.name!r}"
    return found


def _all() -> Iterator[Property]:
    for info in pkgutil.iter_modules(__path__):
        module = importlib.import_module(f"{__name__}.{info.name}")
        yield from (value for value in vars(module).values() if isinstance(value, Property))
