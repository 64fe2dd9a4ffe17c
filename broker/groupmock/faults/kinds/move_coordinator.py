"""The fault `move_coordinator` moves the group's coordinator before the request is applied, so waiting members see NOT_COORDINATOR."""

from __future__ import annotations

from typing import Annotated, ClassVar

from msgspec import Meta

from groupmock_codec.units import MS_PER_S

from ..actions import CallOff, Steer
from ..kind import Fault, Target


class MoveCoordinator(Fault, tag="move_coordinator", frozen=True, kw_only=True):
    """Move the coordinator of the group in the call, just before the request is applied. Waiting requests and this one are answered with
    NOT_COORDINATOR (16). The new coordinator loads for `loading_seconds`, with COORDINATOR_LOAD_IN_PROGRESS (14). With one node, the
    coordinator is unloaded and loaded again there."""

    STAGES: ClassVar[tuple[str, ...]] = ("request",)
    CAUSES: ClassVar[bool] = True
    NEEDS: ClassVar[tuple[str, ...]] = ("group",)
    node: Annotated[Annotated[int, Meta(ge=0)] | None, Meta(description="where to; left out: the next node that runs")] = None
    loading_seconds: Annotated[float, Meta(ge=0, le=86_400, description="how long the new one loads")] = 0

    def act(self, target: Target) -> Steer | CallOff:
        groups = target.facts.groups
        if not groups:
            return CallOff("the request names no group")
        arguments = {"group": groups[0], "node": self.node, "loading_ms": int(self.loading_seconds * MS_PER_S)}
        return Steer([("move_coordinator", arguments)])


KIND = MoveCoordinator
