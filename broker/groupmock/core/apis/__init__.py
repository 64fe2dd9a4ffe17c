"""This package has one file per API key, named like the codec's message file, with a function `handle(cluster, request, turn)`.

The listing is the registry: a file here makes its API a behaviour, advertised if the profile has it. Modules are loaded at the
first request of their key, so that a server listens before it has read them all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING

from groupmock_codec.listing import stems
from groupmock_codec.registry import FILE

if TYPE_CHECKING:
    from ..cluster import Cluster
    from ..events import Request
    from ..turn import Turn

Behaviour = Callable[["Cluster", "Request", "Turn"], None]


@cache
def module_names() -> dict[int, str]:
    """Return the names of the API modules by API key, for instance 11 -> "k11_join_group"."""
    return keyed(stems(__path__))


def keyed(names: Iterable[str]) -> dict[int, str]:
    """Return the names that begin with an API key, by key in ascending order. The codec reads the names of its message files in the same
    way."""
    return dict(sorted((int(found[2]), found[1]) for name in names if (found := FILE.fullmatch(name))))


@cache
def behaviour(key: int) -> Behaviour:
    """Return the function that handles the requests of an API key. Raises KeyError if there is none; the driver never dispatches such a
    request."""
    found: Behaviour = import_module(f".{module_names()[key]}", __package__).handle
    return found
