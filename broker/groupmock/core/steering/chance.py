"""Commands for the random generator, which draws member ids and topic ids."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from msgspec import Meta

from .register import Arguments, steers

if TYPE_CHECKING:
    from ..cluster import Cluster
    from ..turn import Turn


class Reseed(Arguments):
    """Draw member ids and topic ids with this seed from now on."""

    seed: Annotated[int, Meta(ge=0, le=2**63 - 1)]


@steers("reseed", Reseed)
def reseed(cluster: Cluster, arguments: Reseed, turn: Turn) -> None:
    """Set the seed of the random generator, without changing ids that were drawn before."""
    turn.environment.dice.reseed(arguments.seed)
