"""Steering chance: ids are drawn by another seed."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from ..turn import Turn
from .register import Arguments, steers


class Reseed(Arguments):
    """Draw member ids and topic ids by this seed from now on."""

    seed: Annotated[int, Meta(ge=0, le=2**63 - 1)]


@steers("reseed", Reseed)
def reseed(turn: Turn, wish: Reseed) -> None:
    """What was drawn stays."""
    turn.cluster.dice.reseed(wish.seed)
