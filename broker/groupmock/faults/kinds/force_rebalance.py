"""The fault `force_rebalance` rebalances the group before the request is applied, so its members see REBALANCE_IN_PROGRESS."""

from __future__ import annotations

from typing import ClassVar

from ..actions import CallOff, Steer
from ..kind import Fault, Target


class ForceRebalance(Fault, tag="force_rebalance", frozen=True, kw_only=True):
    """Rebalance the group of the call just before the request is applied, so that its members see REBALANCE_IN_PROGRESS (27) and join
    again."""

    STAGES: ClassVar[tuple[str, ...]] = ("request",)
    CAUSES: ClassVar[bool] = True
    NEEDS: ClassVar[tuple[str, ...]] = ("group",)

    def act(self, target: Target) -> Steer | CallOff:
        groups = target.facts.groups
        if not groups:
            return CallOff("the request names no group")
        return Steer([("force_rebalance", {"group": group, "reason": "a fault rule"}) for group in groups])


KIND = ForceRebalance
