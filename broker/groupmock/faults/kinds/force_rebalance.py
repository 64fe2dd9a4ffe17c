"""Once more."""

from __future__ import annotations

from typing import ClassVar

from ..actions import CallOff, Steer
from ..kind import Fault, Target


class ForceRebalance(Fault, tag="force_rebalance", frozen=True, kw_only=True):
    """The group that the call names rebalances, just before the request is applied."""

    STAGES: ClassVar[tuple[str, ...]] = ("request",)
    CAUSES: ClassVar[bool] = True
    NEEDS: ClassVar[tuple[str, ...]] = ("group",)

    def act(self, target: Target) -> Steer | CallOff:
        """Let the groups that the call names rebalance."""
        groups = target.facts.groups
        if not groups:
            return CallOff("the request names no group")
        return Steer([("force_rebalance", {"group": group, "reason": "a fault rule"}) for group in groups])


KIND = ForceRebalance
