"""A new connection is reset before a byte of it is read: the client sees "connection reset by peer"."""

from __future__ import annotations

from typing import ClassVar

from ..actions import HangUp
from ..kind import Fault, Target


class Refuse(Fault, tag="refuse", frozen=True, kw_only=True):
    """A connection is broken off (RST) as soon as it is there, before a byte of it is read. A node that does not
    listen at all is `stop_node`."""

    STAGES: ClassVar[tuple[str, ...]] = ("connect",)

    def act(self, target: Target) -> HangUp:
        """Reset the connection."""
        return HangUp(reset=True)


KIND = Refuse
