"""The group has another generation before the request is applied: a member that speaks of the one it knows sees ILLEGAL_GENERATION."""

from __future__ import annotations

from typing import Annotated, ClassVar

from msgspec import Meta

from ..actions import CallOff, Steer
from ..kind import Fault, Target


class SetGeneration(Fault, tag="set_generation", frozen=True, kw_only=True):
    """The group that the call names has another generation, just before the request is applied: whoever speaks of the one it knows is
    answered 22 (ILLEGAL_GENERATION), so is the request itself, and joins again. A group that rebalances just then is left alone."""

    STAGES: ClassVar[tuple[str, ...]] = ("request",)
    CAUSES: ClassVar[bool] = True
    NEEDS: ClassVar[tuple[str, ...]] = ("group",)
    generation: Annotated[
        Annotated[int, Meta(ge=1, le=2**31 - 2)] | None, Meta(description="which, higher or lower; left out: the next one")
    ] = None

    def act(self, target: Target) -> Steer | CallOff:
        """Set the generation of the groups that the call names."""
        groups = target.facts.groups
        if not groups:
            return CallOff("the request names no group")
        more = {} if self.generation is None else {"generation": self.generation}
        return Steer([("set_generation", {"group": group, **more}) for group in groups])


KIND = SetGeneration
