"""The families of generated exchanges, each a module with `generate(seed, release) -> Script`."""

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
    "migrations": "migrations_family",
    "regexes": "regexes_family",
    "lies": "lies_family",
    "log": "log_family",
    "transactions": "transactions_family",
    "shares": "shares_family",
    "streams": "streams_family",
    "moves": "moves_family",
    "bytes": "bytes_family",
    "exchanges": "exchanges_family",
}
"""Maps families of exchanges to their modules."""
RELEASES: Final = dict.fromkeys(("consumers", "migrations", "regexes", "lies", "shares", "moves", "streams"), ("4.4", "4.3"))
"""Maps a family of exchanges to its releases, if it does not exist for all of them."""


@cache
def family(name: str) -> Generate:
    """Return the generator of a family of exchanges. Raises KeyError with the known names."""
    if name not in FILES:
        raise KeyError(f"no family {name!r}: there are {', '.join(FILES)}")
    found: Generate = import_module(f".{FILES[name]}", __package__).generate
    return found
