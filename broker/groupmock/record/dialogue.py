"""Turns the observed frames of connections, in both directions, into the journal rows that groupmock's own server would have written.

It uses no sockets and no clock, because a proxy feeds it:

    dialogue = Dialogue(journal)              # `journal` begun with `header(...)`
    line = dialogue.opened(number, node, client_host, client_port, t)     # one per connection, an open row
    dialogue.asked(line, frame, t)            # a request's frame without its four length bytes, when its last byte was seen; with its size
                                              # where only its head was kept
    dialogue.answered(line, frame, t)         # an answer's
    dialogue.closed(line, by, reason, t, cut_bytes)                       # "client" or "server"; a close row, once
    dialogue.ended()                          # nothing more comes

Times are ns since the header's `epoch_ns`. Calls come in the order of their times, mixed over all connections, because what a group did is
inferred from that order (`record.coordinator`).

A broker serves one request of a connection at a time and answers in order (kafka.network.SocketServer mutes the channel). So a request
behind another one is *handled* when that one was answered: its row is written then, with that time as `t` and `handled` and its own as
`received`, and it gets its ticket. An answer belongs to the open request and has its correlation id. Produce with acks 0 gets no answer. If
the ids differ, an answer was missed: the id of a later request shows that the earlier ones were answered unseen, and an id of no request is
reported in a note. Raw SASL tokens (SaslHandshake v0) have no header at all; a note counts them, and they are never kept.

Memory holds only what is open: requests without an answer, as frames. The caller bounds them (`Line.waiting`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, TypeVar

import msgspec

from groupmock_codec.api_keys import HEARTBEAT, PRODUCE, SASL_HANDSHAKE
from groupmock_codec.errors import CodecError

from ..journal.rows import VERSION, Header
from ..net.counters import Counters
from ..net.listen import java_host
from ..net.record import Recorder, RepeatedHeartbeats
from ..version import __version__
from .beat import Beat
from .coordinator import Overheard
from .wire_codec import Opaque, WireCodec, WireCodecs, client_id_of, plausible

if TYPE_CHECKING:
    from collections.abc import Callable

    from groupmock_codec.declare import Message

    from ..faults.plan import Rule
    from ..journal.journal import Journal
    from .coordinator import Told
    from .wire_codec import Codec

PROFILE: Final = "recorded"
NOT_REPLAYABLE: Final = "a recording: what the cluster drew and when its timers fired is not on the wire, so it cannot be played again"
UNREAD_ANSWER: Final = "an answer could not be read"
UNSEEN_ANSWER: Final = "the answer to a request was not seen"
STRAY_ANSWER: Final = "an answer to no request that was seen"
RAW_TOKEN: Final = "a SASL token without a header (SaslHandshake v0): its bytes are not kept"


def header(run: str, epoch_ns: int, config: dict[str, Any], cluster: dict[str, Any] | None = None) -> Header:
    """Return the header of a recording's journal. It is never complete, because an observed cluster cannot be replayed."""
    return Header(
        v=VERSION,
        run=run,
        product=f"groupmock {__version__}",
        seed=0,
        epoch_ns=epoch_ns,
        profile=PROFILE,
        config=config,
        complete=False,
        incomplete_because=NOT_REPLAYABLE,
        cluster=cluster,
    )


class Line:
    """An observed connection between a client and a node. `pending` has the requests without an answer, the open one first. `waiting`
    counts the bytes of the requests behind it."""

    __slots__ = ("beat", "client_host", "cut_bytes", "deaf", "node", "number", "pending", "port", "raw_tokens", "waiting")

    listener: Final = "PLAINTEXT"
    """The name of the listener, which nobody tells the proxy."""

    def __init__(self, number: int, node: int | None, client_host: str, port: int) -> None:
        self.number = number
        self.node = node
        self.client_host = client_host
        self.port = port
        self.cut_bytes = 0
        self.waiting = 0
        self.deaf = False
        # The type is a list, because a deque for each connection would take 760 bytes more, and few requests are pending
        # (`relay.MOST_OPEN`).
        self.pending: list[Passing] = []
        self.raw_tokens = False
        self.beat: Beat | None = None  # `beat` is set only while no request is pending.

    @property
    def unanswered(self) -> bool:
        """Return whether a request has no answer."""
        return bool(self.pending) or (self.beat is not None and self.beat.held is not None)


LineT = TypeVar("LineT", bound=Line)


class Passing(msgspec.Struct, eq=False):
    """An observed request of a client. Until its turn comes it is a frame and a time, and `handled` is 0."""

    connection: Line
    codec: Codec
    frame: bytes
    received: int
    client_id: str | None = None
    message: Message | None = None
    end: int = 0
    handled: int = 0
    ticket: int = 0
    by_listener: bool = False
    quiet: bool = False
    hidden: bool = False
    protocol_type: str | None = None
    note: str | None = None
    recorded: bool = False  # True if the request's row is written already, because a fault rule applied to the request.
    cut: int = 0  # Bytes at the end of the frame that were not kept.
    held_by: Rule | None = None  # The fault rule that delays the request.
    go_on: Callable[[int], None] | None = None  # Called when the delay of that rule is over.
    answer: bytes = b""  # The node's answer in the form that the client gets, as a frame without its length.
    answered: Message | None = None

    @property
    def correlation(self) -> bytes:
        """Return the correlation id as the bytes of the frame."""
        return self.frame[4:8]

    def read(self) -> None:
        """Decode the request, once all earlier requests of its connection are handled. `note` says what cannot be decoded."""
        self.end = len(self.frame)
        codec = self.codec
        if isinstance(codec, Opaque):
            self.client_id, self.note = client_id_of(self.frame), codec.note
            return
        try:
            self.client_id, at = codec.header(self.frame)
            self.message, self.end = codec.decode(self.frame, at)
        except CodecError as broken:
            self.note = f"it could not be read: {broken}"

    def narrow(self, message: Message) -> None:
        """Replace the message of the request, because a fault rule removed a part of it."""
        codec = self.codec
        assert isinstance(codec, WireCodec)
        self.message = message
        self.frame = codec.asking(self.frame, message)
        self.end = len(self.frame)

    def asked(self) -> Message:
        """Return the request's message, which exists only if the request could be decoded."""
        assert self.message is not None
        return self.message

    @property
    def answerless(self) -> bool:
        """Return whether the request gets no answer (Produce with acks 0)."""
        return self.codec.key == PRODUCE and getattr(self.message, "acks", None) == 0


class Dialogue:
    """Turns what all connections of one recording say into rows of `journal`. See above for the order of calls. With `beats`, heartbeats
    that repeat the last one are compared instead of decoded (`record.beat`); a caller that reads `Line.pending` needs them decoded."""

    def __init__(self, journal: Journal, counters: Counters | None = None, beats: bool = False) -> None:
        self.journal = journal
        self._beats = beats
        self.counters = Counters() if counters is None else counters
        self.record = Recorder(journal, self.counters)
        self.codecs = WireCodecs()
        self.overheard = Overheard(self.record.forget_group)

    def opened(self, number: int, node: int | None, host: str, port: int, now: int) -> Line:
        """Record that a client has connected. `host` is its address as sockets give it."""
        return self.begun(Line(number, node, java_host(host), port), now)

    def begun(self, line: LineT, now: int) -> LineT:
        """Record a new connection, like `opened`, for a `Line` object that the caller made."""
        self.counters.connections_opened += 1
        self.record.opened(line, now)
        return line

    def asked(self, line: Line, frame: bytes, now: int, size: int = 0) -> None:
        """Handle a request's frame that has arrived. `size` is the size of the whole frame if `frame` is only its head."""
        beat = line.beat
        if beat is not None:
            if beat.held is None and frame[8:] == beat.tail and frame[:4] == beat.head:
                beat.held = (frame, now)
                return
            self._forget_beat(line, beat)
        if line.raw_tokens:
            if not plausible(frame):
                self.record.remark(RAW_TOKEN, now, connection=line.number, by="client", bytes=len(frame))
                return
            line.raw_tokens = False
        call = Passing(line, self.codecs[frame[:4]], frame, now)
        if size > len(frame):
            call.codec, call.cut = Opaque(call.codec.key, call.codec.version, size), size - len(frame)
        line.pending.append(call)
        if len(line.pending) == 1:
            self._begin(line, now)
        else:
            line.waiting += len(frame)

    def answered(
        self, line: Line, frame: bytes, now: int, message: Message | None = None, size: int | None = None, unread: str | None = None
    ) -> None:
        """Handle an answer's frame that has arrived. `message`: what it says, where somebody has read it already; `size`: of the whole,
        where `frame` is what was kept of it (`record.abridged`); `unread`: why it is not read."""
        beat = line.beat
        if beat is not None:
            held = beat.held
            if held is not None and held[1] < now and frame[4:] == beat.answer and frame[:4] == held[0][4:8]:
                self.repeated(line, beat, frame[:4], held[1], now)
                return
            self._forget_beat(line, beat)
        if line.raw_tokens:
            self.record.remark(RAW_TOKEN, now, connection=line.number, by="server", bytes=len(frame))
            return
        call = self._whose(line, frame, now)
        if call is None:
            self.record.remark(STRAY_ANSWER, now, connection=line.number, bytes=len(frame) if size is None else size)
            return
        if unread is not None:
            self.record.remark(UNREAD_ANSWER, now, connection=line.number, ticket=call.ticket, reason=unread)
        elif message is None:
            message = self.read_answer(call, frame, now)
        self._over(call, message, len(frame) if size is None else size, now)
        if self._beats and call.codec.key == HEARTBEAT and isinstance(call.codec, WireCodec) and not line.pending:
            fine = message is not None and call.message is not None and not getattr(message, "error_code", 1)
            line.beat = Beat(call, call.codec, frame, message, self.overheard.member(call)) if fine and message is not None else None

    def closed(self, line: Line, by: str, reason: str, now: int, cut_bytes: int = 0) -> None:
        """Record that the connection has ended."""
        if line.deaf:
            return
        if line.beat is not None:
            self._forget_beat(line, line.beat)
        line.cut_bytes = cut_bytes
        line.deaf = True
        self.counters.connections_closed += 1
        self.record.closed(line, by, reason, now)
        line.pending.clear()

    def ended(self) -> None:
        """Write the rows of requests whose success was assumed, because the recording ends and no answer can refute them."""
        self.tell(self.overheard.settle())

    def tell(self, told: Told) -> None:
        """Write the group rows that were inferred: after the row of the request that caused them, before the row of the answer that
        shows them."""
        for at, effect in told:
            self.record.effects[type(effect)](effect, at)

    # The methods below are the single steps of `asked` and `answered`, for callers with fault rules, which keep requests back.

    def begin(self, call: Passing, now: int) -> None:
        """Decode a request and give it a ticket, because all earlier requests of its connection are answered."""
        call.read()
        call.handled = now
        self.counters.handled = call.ticket = self.counters.handled + 1
        self.counters.requests[call.codec.key] = self.counters.requests.get(call.codec.key, 0) + 1

    def note_request(self, call: Passing) -> None:
        """Write the row of a request. A request that could not be read is shown without its bytes, because they may be anything, a
        secret too."""
        self.tell(self.overheard.noticed(call))
        self.record.request(call, call.note, whole=call.message is not None, cut=call.cut)

    def note_effect(self, call: Passing) -> None:
        """Write the rows of the changes that a request makes on the node, once they are certain."""
        self.tell(self.overheard.asked(call))

    def read_answer(self, call: Passing, frame: bytes, now: int) -> Message | None:
        """Return the decoded answer of a node, or None for an API that is not read. An answer that cannot be decoded gives None and a
        note."""
        codec = call.codec = self.codecs.of_answer(call.codec, frame)
        call.connection.raw_tokens = _expects_raw_tokens(call, frame)
        if isinstance(codec, Opaque):
            return None
        try:
            return codec.read_answer(frame)
        except CodecError as broken:
            self.record.remark(UNREAD_ANSWER, now, connection=call.connection.number, ticket=call.ticket, reason=str(broken))
            return None

    def note_answer(self, call: Passing, message: Message | None, now: int) -> None:
        """Write the rows of an answer and of the group changes that it shows."""
        self.tell(self.overheard.answered(call, message, now))

    def _begin(self, line: Line, now: int) -> None:
        """Begin to handle the first pending request. A request without an answer is done at once, and the next one begins."""
        while line.pending:
            call = line.pending[0]
            self.begin(call, now)
            self.note_request(call)
            self.note_effect(call)
            if not call.answerless:
                return
            self.record.reply(call, None, 0, now)
            self._forget(line)

    def _over(self, call: Passing, message: Message | None, size: int, now: int) -> None:
        self.counters.replies += 1
        self.note_answer(call, message, now)
        self.record.reply(call, message, size, now, written=now)
        line = call.connection
        self._forget(line)
        self._begin(line, now)

    def repeated(self, line: Line, beat: Beat, identifier: bytes, asked: int, now: int) -> None:
        """Record a heartbeat that repeats the last one, together with its answer."""
        counters = self.counters
        counters.handled += 1
        counters.replies += 1
        beat.held = None
        if beat.member is not None:
            beat.member.asked, beat.member.alive = asked, now
        if self.journal.heartbeats:
            burst = RepeatedHeartbeats(line, beat, identifier, counters.handled, asked, self.journal.details, now - asked)
            self.journal.append_repeated(burst, 2)

    def _forget_beat(self, line: Line, beat: Beat) -> None:
        """Forget the repeated heartbeat, because a different request or answer has arrived. A held heartbeat is decoded in full."""
        line.beat = None
        if beat.held is not None:
            self.asked(line, *beat.held)

    def _unseen(self, call: Passing, reason: str, now: int) -> None:
        """Record that the answer to a request was not seen."""
        self.record.remark(UNSEEN_ANSWER, now, connection=call.connection.number, ticket=call.ticket, reason=reason)
        self._forget(call.connection)
        self._begin(call.connection, now)

    def _forget(self, line: Line) -> None:
        line.pending.pop(0)
        if line.pending:
            line.waiting -= len(line.pending[0].frame)

    def _whose(self, line: Line, frame: bytes, now: int) -> Passing | None:
        """Return the pending request to which this answer belongs, or None. Requests before it count as answered unseen."""
        identifier, pending = frame[:4], line.pending
        if not pending or (pending[0].correlation != identifier and all(call.correlation != identifier for call in pending)):
            return None
        while pending[0].correlation != identifier:
            self._unseen(line.pending[0], "a later request of the connection was answered", now)
        return pending[0]


def _expects_raw_tokens(call: Passing, frame: bytes) -> bool:
    """Return whether SASL tokens without a header follow, because a SaslHandshake v0 was answered without an error
    (docs/kafka/security.md, SEC-21)."""
    return call.codec.key == SASL_HANDSHAKE and call.codec.version == 0 and frame[4:6] == b"\0\0"
