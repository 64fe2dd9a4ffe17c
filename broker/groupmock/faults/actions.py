"""Actions of faults as values, which `net.fault_gate` performs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from groupmock_codec.declare import Message


class Answer(NamedTuple):
    """Answer the call with this message. At stage request nothing is applied; at stage reply it replaces the real answer. For `mute_ns`
    after the answer the connection is not served."""

    message: Message
    mute_ns: int = 0


class Wait(NamedTuple):
    """Delay the call by so many ns, or until it is released (None)."""

    ns: int | None


class Vanish(NamedTuple):
    """Leave the call without an answer. `applied`: the request is applied all the same; `mute`: the connection serves nothing else either.
    """

    applied: bool
    mute: bool


class HangUp(NamedTuple):
    """End the connection of the call. `reset`: by RST, and what was not sent yet is lost; otherwise what was answered before goes out,
    then FIN."""

    reset: bool


class Piece(NamedTuple):
    """Bytes that are sent so many ns after the piece before."""

    data: bytes
    after_ns: int = 0


class Write(NamedTuple):
    """Send `pieces(frame)` in place of the answer's frame (with its length). `then_close`: send FIN after it; `then_mute`: send nothing
    else ever."""

    pieces: Callable[[bytes], list[Piece]]
    then_close: bool = False
    then_mute: bool = False


class Steer(NamedTuple):
    """Run commands of the core in order, as (name, arguments). The call itself goes on."""

    commands: list[tuple[str, dict[str, Any]]]


class CallOff(NamedTuple):
    """Do nothing, because the fault has nothing to work on (an unknown member). The row says why."""

    reason: str


class Narrow(NamedTuple):
    """Serve this request in place of the original. `graft` turns its answer into the answer to the original."""

    request: Message
    graft: Callable[[Message], Message]


class GoOn(NamedTuple):
    """Do nothing: the call goes on as it would without the rule."""


Action = Answer | Wait | Vanish | HangUp | Write | Steer | CallOff | Narrow | GoOn
