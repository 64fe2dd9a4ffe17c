"""One file per family of exchanges, each with `generate(seed, release) -> Script`."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib import import_module
from typing import Final

from ..generated.script import Script

Generate = Callable[[int, str], Script]


FILES: Final = {
    "groups": "groups_family",
    "consumers": "consumers_family",
    "log": "log_family",
    "transactions": "transactions_family",
    "bytes": "bytes_family",
    "exchanges": "exchanges_family",
}
"""Maps families to their files."""
RELEASES: Final = {"consumers": ("4.3",)}
"""The releases of a family that not every one of them has."""


@cache
def family(name: str) -> Generate:
    """The generator of a family; KeyError names those there are."""
    if name not in FILES:
        raise KeyError(f"no family {name!r}: there are {', '.join(FILES)}")
    found: Generate = import_module(f".{FILES[name]}", __package__).generate
    return found
