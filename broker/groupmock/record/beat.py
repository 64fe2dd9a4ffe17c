"""A connection's heartbeats differ only in the correlation id, and so do their answers: the first heartbeat is decoded, the others are only
compared with it.

As in groupmock's server (`net.repeat`), a heartbeat repeats another if its bytes are equal, header included, and those of the answer too.
The rows are then a template with a few numbers, so that recording a heartbeat costs a fraction of decoding it. Any different byte takes the
full path. A repeated heartbeat also means the same to the group: its member is alive.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from groupmock_codec.declare import Message

    from .dialogue import Passing
    from .heard_group import HeardMember
    from .wire_codec import WireCodec


class Beat:
    """The last heartbeat of a connection that was answered without an error, as bytes with which the next heartbeats are compared. `head` +
    correlation id + `tail` is its frame, and `answer` follows the id in its answer. `start` and `answer_start` are the bytes before the id,
    lengths included. `held` is a repeating frame without an answer yet, with its time."""

    __slots__ = ("answer", "answer_start", "codec", "head", "held", "member", "message", "start", "tail", "template")

    def __init__(self, call: Passing, codec: WireCodec, answer: bytes, message: Message, member: HeardMember | None) -> None:
        self.codec = codec
        self.head = call.frame[:4]
        self.tail = call.frame[8:]
        self.answer = answer[4:]
        self.start = len(call.frame).to_bytes(4, "big") + self.head
        self.answer_start = len(answer).to_bytes(4, "big")
        self.message = message
        self.member = member
        self.template: object = None
        self.held: tuple[bytes, int] | None = None

    def frame(self, identifier: bytes) -> bytes:
        """Return the frame of the heartbeat with this correlation id."""
        return self.head + identifier + self.tail

    def is_asked(self, data: bytes) -> bool:
        """Return whether these bytes are exactly one repetition of the heartbeat, while no earlier repetition waits for its answer."""
        return self.held is None and data[:8] == self.start and data[12:] == self.tail

    def is_answered(self, data: bytes) -> bool:
        """Return whether these bytes are exactly the answer to the repetition that waits for one."""
        held = self.held
        return held is not None and data[8:] == self.answer and data[:4] == self.answer_start and data[4:8] == held[0][4:8]

    @property
    def answer_size(self) -> int:
        """Return the bytes of the answer without its length."""
        return len(self.answer) + 4
