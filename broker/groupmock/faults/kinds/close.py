"""The server closes the connection instead of serving the call: the client sees the end of the stream."""

from __future__ import annotations

from typing import ClassVar

from ..actions import HangUp
from ..kind import Fault, Target


class Close(Fault, tag="close", frozen=True, kw_only=True):
    """The server closes the connection (FIN) in the place of serving it (connect), of applying the request (request) or of sending the
    answer (reply); what was answered before still goes out."""

    STAGES: ClassVar[tuple[str, ...]] = ("reply", "request", "connect")

    def act(self, target: Target) -> HangUp:
        """Close the connection."""
        return HangUp(reset=False)


KIND = Close
