"""The action of a fault is a value, which `net.fault_gate` performs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from groupmock_codec.declare import Message


class Answer(NamedTuple):
    """Answer the call with this message. At stage request nothing is applied; at stage reply the message replaces the real answer. For
    `mute_ns` after the answer the connection is not served."""

    message: Message
    mute_ns: int = 0
    said: Mapping[str, Any] = MappingProxyType({})


class Wait(NamedTuple):
    """Delay the call by `ns` nanoseconds, or until it is released (None)."""

    ns: int | None


class Vanish(NamedTuple):
    """Leave the call without an answer. With `applied` the request is applied nevertheless; with `mute` the connection serves nothing
    else either."""

    applied: bool
    mute: bool


class HangUp(NamedTuple):
    """End the connection of the call. With `reset` it ends by RST, and unsent bytes are lost; otherwise answers made before are sent,
    then FIN. `why` is added to the reason in the connection's last row."""

    reset: bool
    why: str = ""


class Piece(NamedTuple):
    """Bytes of an answer that are sent `after_ns` nanoseconds after the previous piece."""

    data: bytes
    after_ns: int = 0


class Write(NamedTuple):
    """Send `pieces(frame)` in place of the answer's frame (with its length). `then_close`: send FIN after it; `then_mute`: send nothing
    else ever."""

    pieces: Callable[[bytes], list[Piece]]
    then_close: bool = False
    then_mute: bool = False


class Steer(NamedTuple):
    """Run commands of the core in order, as (name, arguments). The call itself continues."""

    commands: list[tuple[str, dict[str, Any]]]


class Show(NamedTuple):
    """Show this certificate to the client of a new connection to a TLS listener."""

    certificate: str


class Unwelcome(NamedTuple):
    """Refuse the client at the end of the authentication that begins with this request."""


class CallOff(NamedTuple):
    """Do nothing, because there is nothing to apply the fault to, for example an unknown member. The row says why."""

    reason: str


class Narrow(NamedTuple):
    """Serve this request, which lacks what the fault affects, in place of the original request. `graft` turns its answer into the answer
    to the original."""

    request: Message
    graft: Callable[[Message], Message]


class GoOn(NamedTuple):
    """Do nothing, so that the call continues as without the rule."""


Action = Answer | Wait | Vanish | HangUp | Write | Steer | CallOff | Narrow | Show | Unwelcome | GoOn
