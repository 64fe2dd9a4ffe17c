"""The table of steering commands: name -> arguments and what is done. Errors are sentences that say what there is instead."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, TypeVar

import msgspec
from msgspec import Meta

if TYPE_CHECKING:
    from ..cluster import Cluster
    from ..turn import Turn

Group = Annotated[str, Meta(description="group id", min_length=1)]
MemberName = Annotated[str, Meta(description="member id, instance id, or a client id that one member alone has", min_length=1)]
NodeId = Annotated[int, Meta(description="node id, from 1", ge=1)]
Milliseconds = Annotated[int, Meta(ge=0, le=10**12)]


class CannotSteer(ValueError):
    """A command that cannot be done; nothing was changed. The text says why and what can be."""


class BadArguments(CannotSteer):
    """An argument lacks, is unknown or of the wrong type."""


class NoSuch(CannotSteer):
    """What the command names is not there."""


class NotNow(CannotSteer):
    """It is there, but not in a state in which that can be done."""


class Arguments(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """What a command takes; the docstring of a subclass is the command's sentence."""


A = TypeVar("A", bound=Arguments)


class Steer(NamedTuple):
    """One command: its arguments and what it does with them."""

    arguments: type[Arguments]
    run: Callable[[Cluster, Any, Turn], None]


STEERS: dict[str, Steer] = {}


def steers(name: str, arguments: type[A]) -> Callable[[Callable[[Cluster, A, Turn], None]], Callable[[Cluster, A, Turn], None]]:
    """Register a command."""

    def register(run: Callable[[Cluster, A, Turn], None]) -> Callable[[Cluster, A, Turn], None]:
        STEERS[name] = Steer(arguments, run)
        return run

    return register


def steer(cluster: Cluster, name: str, arguments: dict[str, Any], turn: Turn) -> None:
    """Check the arguments and do it. Raises CannotSteer, with nothing changed."""
    found = STEERS[name]
    try:
        wish = msgspec.convert(arguments, found.arguments)
    except msgspec.ValidationError as wrong:
        raise BadArguments(f"{name}: {wrong}") from None
    found.run(cluster, wish, turn)
