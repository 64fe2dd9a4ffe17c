"""The fault `refuse`: a new connection is reset before a byte of it is read."""

from __future__ import annotations

from typing import ClassVar

from ..actions import HangUp
from ..kind import Fault, Target


class Refuse(Fault, tag="refuse", frozen=True, kw_only=True):
    """Reset a connection (RST) as soon as it is there, before a byte of it is read. `stop_node` makes a node that does not listen at all.
    """

    STAGES: ClassVar[tuple[str, ...]] = ("connect",)

    def act(self, target: Target) -> HangUp:
        return HangUp(reset=True)


KIND = Refuse
