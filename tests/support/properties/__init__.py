"""Collects the properties of all modules in this folder by name. It also tries a find again."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator
from functools import cache

import msgspec
from found import Property, replay

from tools.fidelity.compare.golden import differences, read


def try_again(text: str) -> None:
    """Run the case of a stored failure again. Raises if it still fails."""
    if "script" in msgspec.json.decode(text):
        found = [str(each) for each in differences(read(text))]
        assert not found, "\n".join(found)
    else:
        replay(text, properties())


@cache
def properties() -> dict[str, Property]:
    """Return the properties by name, which must be unique."""
    found: dict[str, Property] = {}
    for each in _all():
        assert found.setdefault(each.name, each) is each, f"two properties are called {each.name!r}"
    return found


def _all() -> Iterator[Property]:
    for info in pkgutil.iter_modules(__path__):
        module = importlib.import_module(f"{__name__}.{info.name}")
        yield from (value for value in vars(module).values() if isinstance(value, Property))
