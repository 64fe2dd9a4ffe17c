"""The request or its answer waits until the rule is released: the client sees a call that is not answered yet."""

from __future__ import annotations

from typing import ClassVar

from ..actions import Wait
from ..kind import Fault, Target


class Hold(Fault, tag="hold", frozen=True, kw_only=True):
    """The request (stage request) or its answer (stage reply) waits until the rule is released or removed; the connection waits with it."""

    STAGES: ClassVar[tuple[str, ...]] = ("reply", "request")

    def act(self, target: Target) -> Wait:
        """Let the call wait until the rule is released."""
        return Wait(None)


KIND = Hold
