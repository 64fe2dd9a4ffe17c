"""The fault `delay` applies the request, or sends its answer, some seconds later."""

from __future__ import annotations

from typing import Annotated, ClassVar

from msgspec import Meta

from groupmock_codec.units import NS_PER_S

from ..actions import Wait
from ..kind import Fault, Target


class Delay(Fault, tag="delay", frozen=True, kw_only=True):
    """Apply the request (stage request) or send its answer (stage reply) `seconds` later, while the connection waits. The request is
    applied even if the client has gone by then."""

    STAGES: ClassVar[tuple[str, ...]] = ("reply", "request")
    seconds: Annotated[float, Meta(gt=0, le=86_400, description="how much later")]

    def act(self, target: Target) -> Wait:
        return Wait(int(self.seconds * NS_PER_S))


KIND = Delay
