"""Nothing is done to the call: it is seen and counted."""

from __future__ import annotations

from typing import ClassVar

from ..actions import GoOn
from ..kind import Fault, Target


class Observe(Fault, tag="observe", frozen=True, kw_only=True):
    """Nothing happens to the call, and the rules after this one see it too. The rule counts it (`fired`, `matched`, the nearest miss) and
    writes its row, and it can be waited for."""

    STAGES: ClassVar[tuple[str, ...]] = ("request", "reply", "connect")

    def goes_on(self, stage: str) -> bool:
        """Always."""
        return True

    def act(self, target: Target) -> GoOn:
        """Nothing."""
        return GoOn()


KIND = Observe
