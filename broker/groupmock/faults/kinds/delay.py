"""The request is applied, or its answer goes out, some seconds later: the client sees a slow broker."""

from __future__ import annotations

from typing import Annotated, ClassVar

from msgspec import Meta

from groupmock_codec.units import NS_PER_S

from ..actions import Wait
from ..kind import Fault, Target


class Delay(Fault, tag="delay", frozen=True, kw_only=True):
    """The request is applied (stage request) or its answer goes out (stage reply) so many seconds later; the connection waits meanwhile.
    It happens also if the client is gone by then."""

    STAGES: ClassVar[tuple[str, ...]] = ("reply", "request")
    seconds: Annotated[float, Meta(gt=0, le=86_400, description="how much later")]

    def act(self, target: Target) -> Wait:
        """Let the call wait so long."""
        return Wait(int(self.seconds * NS_PER_S))


KIND = Delay
