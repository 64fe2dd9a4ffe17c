"""The fault `set_generation` gives the group another generation before the request is applied, so members see ILLEGAL_GENERATION."""

from __future__ import annotations

from typing import Annotated, ClassVar

from msgspec import Meta

from ..actions import CallOff, Steer
from ..kind import Fault, Target


class SetGeneration(Fault, tag="set_generation", frozen=True, kw_only=True):
    """Give the group of the call another generation, just before the request is applied. Requests with the old generation, this one
    included, are answered with ILLEGAL_GENERATION (22), and members join again. A group that is rebalancing is left alone."""

    STAGES: ClassVar[tuple[str, ...]] = ("request",)
    CAUSES: ClassVar[bool] = True
    NEEDS: ClassVar[tuple[str, ...]] = ("group",)
    generation: Annotated[
        Annotated[int, Meta(ge=1, le=2**31 - 2)] | None, Meta(description="which, higher or lower; left out: the next one")
    ] = None

    def act(self, target: Target) -> Steer | CallOff:
        groups = target.facts.groups
        if not groups:
            return CallOff("the request names no group")
        more = {} if self.generation is None else {"generation": self.generation}
        return Steer([("set_generation", {"group": group, **more}) for group in groups])


KIND = SetGeneration
