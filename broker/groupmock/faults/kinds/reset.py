"""The fault `reset` resets the connection instead of serving the call."""

from __future__ import annotations

from typing import ClassVar

from ..actions import HangUp
from ..kind import Fault, Target


class Reset(Fault, tag="reset", frozen=True, kw_only=True):
    """Reset the connection (RST) instead of applying the request (stage request) or sending the answer (reply), so that the client reads
    "connection reset by peer"."""

    STAGES: ClassVar[tuple[str, ...]] = ("reply", "request")

    def act(self, target: Target) -> HangUp:
        return HangUp(reset=True)


KIND = Reset
