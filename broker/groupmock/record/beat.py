"""A connection's heartbeats differ only in the correlation id, and so do their answers: the first heartbeat is decoded, the others are only
compared with it.

What repeats is told by its bytes, as at a server of ours (`net.repeat`): the same request, header included, and the same answer. Its rows
are a template with a few numbers in it, so that the recording of a heartbeat costs a fraction of reading it. Everything that differs in any
byte takes the full way. What a heartbeat says of its group is the same as well: its member is alive.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from groupmock_codec.declare import Message

    from .dialogue import Passing
    from .heard_group import HeardMember
    from .wire_codec import WireCodec


class Beat:
    """The last heartbeat of a connection that was answered without an error, as bytes with which the next heartbeats are compared.
    `head` + correlation id + `tail` is its frame, `answer` what follows the id in its answer; `start` and `answer_start`: what is before
    the id, lengths included. `held`: a frame that repeats it and has no answer yet, with its time."""

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
        """Return the heartbeat with this correlation id."""
        return self.head + identifier + self.tail

    def is_asked(self, data: bytes) -> bool:
        """Return whether these bytes repeat the heartbeat and nothing else, while no repeated heartbeat waits for its answer."""
        return self.held is None and data[:8] == self.start and data[12:] == self.tail

    def is_answered(self, data: bytes) -> bool:
        """Return whether these bytes are the answer to the held heartbeat and nothing else."""
        held = self.held
        return held is not None and data[8:] == self.answer and data[:4] == self.answer_start and data[4:8] == held[0][4:8]

    @property
    def answer_size(self) -> int:
        """Return the bytes of the answer without its length."""
        return len(self.answer) + 4
