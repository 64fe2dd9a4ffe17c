"""The fault `hold` delays the request or its answer until the rule is released."""

from __future__ import annotations

from typing import ClassVar

from ..actions import Wait
from ..kind import Fault, Target


class Hold(Fault, tag="hold", frozen=True, kw_only=True):
    """Delay the request (stage request) or its answer (stage reply) until the rule is released or removed. The connection waits
    meanwhile."""

    STAGES: ClassVar[tuple[str, ...]] = ("reply", "request")

    def act(self, target: Target) -> Wait:
        return Wait(None)


KIND = Hold
