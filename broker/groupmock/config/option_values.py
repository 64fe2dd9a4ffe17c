"""Parse and check the values of options. Errors name the place of the value (flag, file, variable) and the remedy."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Final, NamedTuple

import msgspec

from ..core.java import numbers
from ..text.printable import brief

YES: Final = ("true", "yes", "on", "1")
NO: Final = ("false", "no", "off", "0", "")
MAX_RUN_NAME: Final = 200
MAX_RACK_NAME: Final = 200
LISTENER_PREFIX: Final = "listener.name."
"""Settings of one listener begin with this text and the listener's name in lower case (KIP-103)."""


class ConfigError(ValueError):
    """Raised if a value of the configuration is wrong. The message names the place (flag, file, variable) and the remedy. The exit code
    is 2."""


class Address(NamedTuple):
    """An address that clients are told to connect to. A port of None means the port on which the node listens."""

    host: str
    port: int | None


class ListenerSpec(msgspec.Struct, frozen=True):
    """A listener that each node has: the first node listens on `port`, the next one on the next port, or each on a free one if `port` is 0.
    """

    name: str
    protocol: str
    host: str
    port: int


def whole_number(value: object, origin: str, low: int, high: int) -> int:
    number = numbers.whole_number(str(value), 63)
    if number is None or not low <= number <= high:
        raise ConfigError(f"{origin}: {brief(value)} is not a whole number from {low} to {high}")
    return number


def yes(value: object, origin: str) -> bool:
    if value not in (True, False, *YES, *NO):
        raise ConfigError(f"{origin}: {value!r} is not one of true, false")
    return value is True or value in YES


def path_of(value: object, origin: str) -> str | None:
    if value is not None and not isinstance(value, str | os.PathLike):
        raise ConfigError(f"{origin}: {value!r} is no path of a file")
    return None if value is None else os.fspath(value)


def one_of(value: object, known: tuple[str, ...], origin: str) -> str:
    if value not in known:
        raise ConfigError(f"{origin}: {value!r} is not one of {', '.join(known)}")
    return str(value)


def racks_of(value: object, origin: str, nodes: int) -> tuple[str, ...]:
    racks = tuple(value.split(",") if isinstance(value, str) else map(str, value if isinstance(value, Iterable) else [value]))
    if racks and (len(racks) != nodes or not all(rack.isprintable() and 0 < len(rack) <= MAX_RACK_NAME for rack in racks)):
        raise ConfigError(f"{origin}: {value!r} does not name a rack for each of {nodes} node(s): for instance a,b,a with --nodes 3")
    return racks


def run_name(value: object, origin: str) -> str | None:
    if value is None:
        return None
    name = str(value)
    if not (name.isprintable() and 0 < len(name) <= MAX_RUN_NAME):
        raise ConfigError(f"{origin}: {value!r} is no name of 1 to {MAX_RUN_NAME} printable characters")
    return name
