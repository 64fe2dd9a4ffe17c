"""The fault `close` makes the server close the connection instead of serving the call."""

from __future__ import annotations

from typing import ClassVar

from ..actions import HangUp
from ..kind import Fault, Target


class Close(Fault, tag="close", frozen=True, kw_only=True):
    """Close the connection (FIN) instead of serving it (stage connect), applying the request (request) or sending the answer (reply).
    Answers made before are still sent."""

    STAGES: ClassVar[tuple[str, ...]] = ("reply", "request", "connect")

    def act(self, target: Target) -> HangUp:
        return HangUp(reset=False)


KIND = Close
