"""What a core was made of, as plain data for a journal's header, and a core made of that again."""

from __future__ import annotations

from typing import Any

import msgspec

from .cluster import Cluster
from .dice import Bits
from .identity import Identity
from .settings import Settings


class Ingredients(msgspec.Struct):
    """Everything but the seed."""

    settings: Settings
    identity: Identity
    epoch_ms: int


def describe(cluster: Cluster) -> dict[str, Any]:
    """Settings, quirks, identity and the wall clock at run time 0."""
    described: dict[str, Any] = msgspec.to_builtins(Ingredients(cluster.settings, cluster.identity, cluster.wall_ms(0)))
    return described


def rebuild(described: dict[str, Any], bits: Bits) -> Cluster:
    """The cluster as it was before anything happened. Raises msgspec.ValidationError if this version cannot read it."""
    ingredients = msgspec.convert(described, Ingredients)
    return Cluster(ingredients.settings, ingredients.identity, bits, ingredients.epoch_ms)
