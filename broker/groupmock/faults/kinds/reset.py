"""The connection is reset instead of serving the call: the client reads "connection reset by peer"."""

from __future__ import annotations

from typing import ClassVar

from ..actions import HangUp
from ..kind import Fault, Target


class Reset(Fault, tag="reset", frozen=True, kw_only=True):
    """The connection is broken off (RST) in the place of applying the request (request) or of sending the answer (reply): the client reads
    "connection reset by peer"."""

    STAGES: ClassVar[tuple[str, ...]] = ("reply", "request")

    def act(self, target: Target) -> HangUp:
        """Reset the connection."""
        return HangUp(reset=True)


KIND = Reset
