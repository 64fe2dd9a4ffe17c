"""What a fault wants done, as values; `net.fault_gate` does it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from groupmock_codec.declare import Message


class Answer(NamedTuple):
    """This message is the answer. At stage request nothing is applied; at stage reply it goes out in the place of the real one.

    `mute_ns`: the connection is served again only so long after the answer went out.
    """

    message: Message
    mute_ns: int = 0


class Wait(NamedTuple):
    """Go on later: after so many ns, or when it is released (None)."""

    ns: int | None


class Vanish(NamedTuple):
    """No answer, ever. `applied`: the request is done all the same; `mute`: nothing else is served on the connection either."""

    applied: bool
    mute: bool


class HangUp(NamedTuple):
    """The connection ends. `reset`: by RST, what was not sent yet is lost; else what was answered before goes out, then FIN."""

    reset: bool


class Piece(NamedTuple):
    """Bytes that go out so many ns after the piece before."""

    data: bytes
    after_ns: int = 0


class Write(NamedTuple):
    """`pieces(frame)` goes out in the place of the answer's frame (with its length). `then_close`: FIN behind it; `then_mute`: nothing
    else ever."""

    pieces: Callable[[bytes], list[Piece]]
    then_close: bool = False
    then_mute: bool = False


class Steer(NamedTuple):
    """Commands of the core, in order, as (name, arguments); the call itself goes on."""

    commands: list[tuple[str, dict[str, Any]]]


class CallOff(NamedTuple):
    """The fault has nothing to work on (a member that is not there): nothing happens, the row says why."""

    reason: str


class Narrow(NamedTuple):
    """This request is served in the place of the one that came. `graft`: makes of its answer the answer to that."""

    request: Message
    graft: Callable[[Message], Message]


class GoOn(NamedTuple):
    """Nothing: the call goes on as it would."""


Action = Answer | Wait | Vanish | HangUp | Write | Steer | CallOff | Narrow | GoOn
