"""The fault `observe` only counts the call and does nothing to it."""

from __future__ import annotations

from typing import ClassVar

from ..actions import GoOn
from ..kind import Fault, Target


class Observe(Fault, tag="observe", frozen=True, kw_only=True):
    """Do nothing to the call, and let later rules see it too. The rule counts the call (`fired`, `matched`, the nearest miss), writes a
    row, and can be waited for."""

    STAGES: ClassVar[tuple[str, ...]] = ("request", "reply", "connect")

    def goes_on(self, stage: str) -> bool:
        return True

    def act(self, target: Target) -> GoOn:
        return GoOn()


KIND = Observe
