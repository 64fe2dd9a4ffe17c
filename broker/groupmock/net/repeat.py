"""Answers heartbeats quickly, because within a generation those of a member are byte-identical except for the correlation id.

The lease. If the core answers a Heartbeat with 0 in Stable or CompletingRebalance and changes only the session timer (rule H7 of
docs/kafka/group-protocol.md), its `Reply` has a `Lease` with the group, the member and the group's epoch. The same holds for a
ConsumerGroupHeartbeat of a member that has reached its target (docs/kafka/consumer-groups.md), and for a ShareGroupHeartbeat or a
StreamsGroupHeartbeat of a member that has its target (docs/kafka/share-groups.md). A `Repeat` keeps that heartbeat and its
answer as bytes. While `group.epoch` is unchanged and the connection's next bytes are the same heartbeats except for the correlation ids
(one read may have several), the connection writes the same answer with the new id and notes the time in the session's `Beats`, which only
moves the session deadline. Nothing is decoded, no event is made, and the core decides nothing.

Why it is safe. The answer to a Heartbeat is a function of the request and of the group's state (rules H1 to H8). The request is the same,
because all its bytes are compared: API and version, client id, group, generation, member, instance id, trailing bytes. The state is the
same, because the epoch counts all changes on which the answer or its timer depends. The lease's `until` covers what time alone changes
(when regular expressions must be evaluated again). The repetition also has the other results of the full path: the deadline moves, and the
request is counted and takes its ticket. Any difference takes the full path, where the core decides anew. So clients and journals get the
same bytes with and without leases, which a property test (tests/unit/net) and replay, which has no leases, verify.

What ends an epoch. In the core: every transition of the group, every change of its members or their subscriptions, a session timer that
fired or was stopped, loading the group or moving it to another coordinator, and a hold or another command about it. Outside of the core the
`Repeat` itself is dropped when another request comes on the connection, when bytes wait in it, when it stops being idle (the peer finished
or does not read, its node stalls, it closes), when a fault rule that could match a heartbeat is armed, and when leases are switched off.

Rows. Heartbeats that changed nothing are rows only for a sink that wants all of them (`heartbeats`). It gets the request and reply rows of
the full path, with numbers and tickets, and may write them without creating them (`Repeated` in `journal.journal`). Without such a sink
nothing is created. A sink that watches a client's pauses (`pulse`) names a time, `until`: the first heartbeat after it is reported,
together with the time of the previous one (`Connection.beaten`). All earlier heartbeats were in time. A sink that watches each heartbeat
(the audit, for consumer groups) gets them from the full path. So a heartbeat costs one comparison for all sinks together.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from groupmock_codec.declare import Message

    from ..core.effects import Lease
    from ..core.timers import Beats
    from .codecs import ApiCodec

ID_AT: Final = 8  # The correlation id follows the size (4 bytes), API key and version (2 bytes each).
ID_END: Final = 12
NO_ID: Final = bytes(4)


@lru_cache(64)
def shared(piece: bytes) -> bytes:
    """Return an equal object that other repeats have too: heartbeats of a thousand members then take less of the processor's cache."""
    return piece


class Run:
    """The last heartbeat of a connection, with which the next ones are compared, and the time until which no sink wants rows of
    repetitions. Any other request of the connection ends the run."""

    __slots__ = ("codec", "tail", "until")

    def __init__(self, codec: ApiCodec, frame: bytes, until: int) -> None:
        self.codec, self.tail, self.until = codec, frame[8:], until


class Repeat:
    """A heartbeat and its answer, each as the bytes before and after the correlation id. `head` + correlation id + `tail` is the whole
    frame of the heartbeat with its length, and likewise for the answer."""

    __slots__ = (
        "answer_head", "answer_tail", "beats", "codec", "epoch", "group", "head", "lease", "length", "message", "tail", "template", "until",
    )  # fmt: skip

    def __init__(self, codec: ApiCodec, frame: bytes, answer: bytes, message: Message, lease: Lease, until: int, beats: Beats) -> None:
        self.codec = codec
        self.beats = beats  # The time of each repetition is written here, which renews the session.
        self.until = min(until, lease.until)  # A heartbeat after this run time is reported to sinks or handled by the core.
        self.message = message
        self.template: object = None  # A sink that writes rows of repeated heartbeats from a template keeps the template here.
        self.head = shared(len(frame).to_bytes(4, "big") + frame[:4])
        self.tail = frame[8:]
        self.length = len(frame) + 4
        self.answer_head = shared(answer[:4])
        self.answer_tail = shared(answer[8:])
        self.lease = lease
        self.group = lease.group
        self.epoch = lease.epoch

    def several(self, data: bytes) -> bytes:
        """Return the answers to all heartbeats in `data` if it consists only of repetitions of the heartbeat, otherwise b"". Slices with a
        step copy the correlation ids of all frames at once: 64 heartbeats take 3 us, and 22 us if they are cut one by one."""
        length, size = self.length, len(self.answer_head) + 4 + len(self.answer_tail)
        count, rest = divmod(len(data), length)
        if rest:
            return b""
        expected = bytearray(self.head + NO_ID + self.tail) * count
        answers = bytearray(self.answer_head + NO_ID + self.answer_tail) * count
        for byte in range(4):
            expected[ID_AT + byte :: length] = answers[4 + byte :: size] = data[ID_AT + byte :: length]
        return bytes(answers) if expected == data else b""

    def identifiers(self, data: bytes) -> bytes:
        """Return the correlation ids of heartbeats that are repetitions of the heartbeat, one after the other."""
        return b"".join(data[start : start + 4] for start in range(ID_AT, len(data), self.length))

    def frame(self, identifier: bytes) -> bytes:
        """Return the heartbeat with this correlation id, without its length."""
        return self.head[4:] + identifier + self.tail

    @property
    def answer_size(self) -> int:
        """The number of bytes of the answer without its length."""
        return len(self.answer_tail) + 4
