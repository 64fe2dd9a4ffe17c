"""Lists the modules that later requests could need, which an idle server imports (`warm_up`)."""

from __future__ import annotations

from collections.abc import Iterable
from pkgutil import iter_modules
from typing import Final

import groupmock_codec
from groupmock_codec import APIS

from .. import core, net

OF_OTHERS: Final = ("hashlib", "google_crc32c", "groupmock_codec.records", "groupmock_codec.message_sets")
"""Modules that groupmock or its codec imports only inside functions. (`reference` is not among them, because a server does not use it.)"""


def modules_needed(keys: Iterable[int]) -> list[str]:
    """List the modules that requests may need, with those of the served APIs first."""
    messages = [f"{groupmock_codec.__name__}.messages.{APIS[key].stem}" for key in keys]
    embedded = _below(f"{groupmock_codec.__name__}.embedded", [f"{path}/embedded" for path in groupmock_codec.__path__])
    return [*messages, *_below(core.__name__, core.__path__), *_below(net.__name__, net.__path__), *embedded, *OF_OTHERS]


def _below(package: str, path: Iterable[str]) -> list[str]:
    found = [package]
    for module in iter_modules(path):
        name = f"{package}.{module.name}"
        found += _below(name, [f"{each}/{module.name}" for each in path]) if module.ispkg else [name]
    return found
