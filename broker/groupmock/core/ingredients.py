"""Converts a core to plain data for a journal's header with `describe`, and back with `rebuild`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from .core import Core, core_of
from .dice import Bits
from .identity import Identity
from .settings import Settings

if TYPE_CHECKING:
    from .environment import Environment


class Ingredients(msgspec.Struct):
    """The data from which a core can be created, apart from its random seed."""

    settings: Settings
    identity: Identity
    epoch_ms: int


def describe(environment: Environment) -> dict[str, Any]:
    """Return the settings, the quirks, the identity and the wall clock at run time 0 as plain data. An identity is a row of values. With
    only the listener that every node has anyway, the row ends where it ended before there were listeners, so that older releases read
    it."""
    described: dict[str, Any] = msgspec.to_builtins(Ingredients(environment.settings, environment.identity, environment.epoch_ms))
    if not environment.identity.listeners:
        described["identity"] = described["identity"][:-1]
    return described


def rebuild(described: dict[str, Any], bits: Bits) -> Core:
    """Create a core from plain data, as it was before its first event. Raises msgspec.ValidationError if this version cannot read it."""
    made_of = msgspec.convert(described, Ingredients)
    return core_of(made_of.settings, made_of.identity, bits, made_of.epoch_ms)
