"""The fault `refuse` resets a new connection before a byte of it is read."""

from __future__ import annotations

from typing import ClassVar

from ..actions import HangUp
from ..kind import Fault, Target


class Refuse(Fault, tag="refuse", frozen=True, kw_only=True):
    """Reset a connection (RST) as soon as it exists, before a byte of it is read. A node that does not listen at all is made by
    `stop_node`."""

    STAGES: ClassVar[tuple[str, ...]] = ("connect",)

    def act(self, target: Target) -> HangUp:
        return HangUp(reset=True)


KIND = Refuse
