"""A rig calls back at the moment of each of its events."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..core.effects import Effect
    from .ask import Ask


class Watch:
    """Callbacks for the events of a rig, which a subclass overrides. `rig.now` is the time. A callback may only read the rig."""

    def next(self, ask: Ask) -> None:
        """The core is about to get a request that waited behind another request of its connection."""

    def handed(self, ask: Ask) -> None:
        """The core has handled the request; its effects are performed next."""

    def answered(self, ask: Ask) -> None:
        """The answer of a request has come. The next request of the connection has not reached the core yet."""

    def ended(self, ask: Ask) -> None:
        """The request will not be answered; `ask.status` says why."""

    def effect(self, effect: Effect) -> None:
        """The core gave an effect, for example that a state changed or a timer fired."""
