"""The request is applied, its answer is left out: the client cannot know what became of it."""

from __future__ import annotations

from typing import ClassVar

from ..actions import Vanish
from ..kind import Fault, Target


class Swallow(Fault, tag="swallow", frozen=True, kw_only=True):
    """The request is applied, its answer is left out, and the connection goes on with the next request: the client cannot know what became
    of it."""

    STAGES: ClassVar[tuple[str, ...]] = ("reply",)

    def act(self, target: Target) -> Vanish:
        """Apply the request, send no answer, serve the next request."""
        return Vanish(applied=True, mute=False)


KIND = Swallow
