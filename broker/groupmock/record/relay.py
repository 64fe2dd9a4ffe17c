"""A relay connects one client with its node: it passes bytes from one socket to the other, and copies them into the recording.

A relay has two ends, each an asyncio protocol. What one end receives is first examined (`record.cutting`), then written to the other end,
then passed to `record.work`, which decodes it when the loop has time. Only answers with addresses are held back until they are whole, and
are sent with the recording's addresses. A big answer with records is parsed as it passes (`record.abridged`) and held back only while
addresses may still follow.

Fair turns. If a client sends thousands of requests ahead, at most `MOST_OPEN` unanswered and unrecorded ones are passed on. The rest waits
here, as it would at a Kafka broker, which serves one request of a connection at a time. So the recording is never far behind, and the rows
of all connections are written in the order in which frames passed. Decoding an answer to replace addresses takes time: a single answer is
passed on when it comes, but those of a client with several requests wait in the queue of `net.turns`.

Backpressure. An end whose peer does not read stops the other end's reading (`pause_writing`), so that the two write buffers bound what
waits, as the kernel's buffers do without a proxy. Each end has a set of reasons for not reading, and reads when the set is empty.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from functools import partial
from struct import Struct
from time import monotonic_ns
from typing import TYPE_CHECKING, Any, Final, Protocol

from groupmock_codec.api_keys import API_VERSIONS
from groupmock_codec.errors import CodecError
from groupmock_codec.frame import FrameError

from ..journal.rows import NOT_READING
from .abridged import Abridged, abridges
from .addresses import rewrite, tells_addresses, watched
from .closing import Closing
from .cutting import MOST_READ, Answers, Collected, Frames, Refused, Requests
from .end import BEHIND, TURN, UNRECORDED, WAITING, End
from .passage import Passage
from .upstream import TooManyNodes
from .wire_codec import WireCodec

if TYPE_CHECKING:
    from groupmock_codec.declare import Message

    from ..net.turns import Turns
    from .beat import Beat
    from .cutting import Held, Taker
    from .dialogue import Dialogue, Line
    from .upstream import Node, Upstream
    from .work import Take, Work

REQUEST_BYTES: Final = 104_857_600
"""The largest request: Kafka's socket.request.max.bytes, above which the node would close the connection, too."""
ANSWER_BYTES: Final = 268_435_456
"""The largest answer that is recorded: four times what Kafka's fetch.max.bytes lets a client ask for by default."""
MOST_OPEN: Final = 16
"""The most requests of one client that are passed on and not yet both answered and recorded."""
OPEN_BYTES: Final = 262_144
"""No further request is passed on while the open requests have more bytes."""
AHEAD_BYTES: Final = 65_536
"""Nothing more is read from a client while more bytes than this wait behind its open requests."""
BEHIND_BYTES: Final = 1_048_576
"""Nothing more is read from a relay's ends while more of its bytes wait to be recorded."""
BIG_ANSWER: Final = 65_536
"""An answer with records and at least this many bytes is read as it passes; a smaller one mostly arrives in one piece."""

NOTHING: Final[deque[bytes]] = deque(maxlen=0)
"""An empty queue that relays share while they need none, because an empty deque for each of them would take 760 bytes."""
_length = Struct(">i").unpack_from


class House(Protocol):
    now: Callable[[], int]
    dialogue: Dialogue
    upstream: Upstream
    work: Work
    held: Held
    turns: Turns[Relay]

    def settle(self) -> None:
        """Serve the relays that wait for their turn."""

    def gone(self, relay: Relay) -> None:
        """Forget a relay whose ends are both closed."""


class Relay:
    """A relay between a client and a node. `number` is that of the connection in this run; `client` and `server` are its two ends;
    `line` is the recording's."""

    def __init__(self, house: House, node: Node, number: int, host: str, port: int) -> None:
        self.house = house
        self.node = node
        self.number = number
        self.ended = False
        self.line: Line
        self._known = False  # True once the recording knows this connection and `line` is set.
        self.closing = Closing(self)
        self.client = End(self.from_client, self.closing.finished, self._client_lost)
        self.server = End(self.from_server, self.closing.finished, self.closing.lost)
        self.client.other, self.server.other = self.server, self.client
        self.client.blocked = self._not_reading
        self._requests = Requests(REQUEST_BYTES, watched(), self._noticed)
        self._answers = Answers(ANSWER_BYTES, self._passes, self._taker)
        self._asked = Frames(house.held, MOST_READ)  # Frames for the recording, which reads the bytes later.
        self._answered = Frames(house.held, MOST_READ)
        self._ahead = NOTHING  # The client's requests that wait behind the open ones.
        self._ahead_at = 0  # The number of bytes of the first piece of `_ahead` that were already sent.
        self._ahead_bytes = 0
        # The node's bytes that wait for this connection's turn; they are few, because nothing more is read meanwhile.
        self._coming: list[bytes] = []
        self._coming_at = 0
        self._unrecorded = 0  # Bytes of this connection that wait to be recorded (`House.work`).
        self._unread = 0  # Requests of this connection that wait to be recorded (`House.work`).
        self._due = False
        self.slow = False
        """True if the last answer took longer than a time slice (`net.turns`)."""
        self._later(partial(self._record_open, host, port, house.now()))

    def from_client(self, data: bytes) -> None:
        """Pass bytes to the node and into the recording. A repeated heartbeat is passed at once if nothing else waits."""
        beat = self._beat()
        if beat is not None and not (self._asked.cut_bytes or self._ahead) and beat.is_asked(data):
            beat.held = (data[4:], self.house.now())
            self.server.write(data)
            return
        if self.ended or self.server.finished:  # A node that sends no more will not answer further requests.
            return
        at = 0 if self._ahead else self._ask(data, 0)
        if at < len(data):
            if not self._ahead:
                self._ahead, self._ahead_at = deque(), at
            self._ahead.append(data)
            self._wait(len(data) - at)
            if self._ahead_bytes >= AHEAD_BYTES or self.house.held.full:
                self.client.pause(WAITING)

    def from_server(self, data: bytes) -> None:
        """Pass bytes to the client and into the recording."""
        beat = self._beat()
        if beat is not None and self._answers.between and not self._coming and beat.is_answered(data):
            asked, now = beat.held[1], self.house.now()  # type: ignore[index]  # it is answered
            if asked < now:
                self.client.write(data)
                self.house.dialogue.repeated(self.line, beat, data[4:8], asked, now)
                return
        if self.ended or self.client.lost:
            return
        self._coming.append(data)
        if len(self._coming) == 1 and not self.slow and len(self._answers.awaited) < 2:
            began = monotonic_ns()
            self._hand_on()
            self.slow = monotonic_ns() - began > self.house.turns.slice_ns
        if self._coming:
            self.server.pause(TURN)
            self.serve_soon()
            self.house.settle()

    def serve(self) -> None:
        """Pass answers on until this relay has used up its share of the time slice."""
        self._due = False
        over = self.house.turns.over
        while self._coming:
            self._hand_on()
            if over():
                break
        if self._coming:
            self.serve_soon()
        else:
            self.server.resume(TURN)
            self.closing.go_on()

    def relieved(self) -> None:
        """Read again, because the recording has caught up."""
        self.client.resume(BEHIND)
        self.server.resume(BEHIND)

    def shut(self, by: str, reason: str) -> None:
        """Close both ends after the bytes written before were sent."""
        self.over(by, reason)
        self.drop()
        self.client.close()
        self.server.close()

    def over(self, by: str, reason: str) -> None:
        """Write a row that says who ended the connection."""
        if not self.ended:
            self.ended = True
            self._later(partial(self._record_close, by, reason, self.house.now()))

    def drop(self) -> None:
        """Discard the bytes that wait, and pass nothing more on."""
        self._ahead = NOTHING
        self._coming.clear()
        self._wait(-self._ahead_bytes)
        self._ahead_at = self._coming_at = 0
        self._answers.drop()

    def serve_soon(self) -> None:
        """Have the relay served after those that already wait."""
        if not self._due:
            self._due = True
            self.house.turns.waiting.append(self)

    def in_next_turn(self) -> None:
        """Have the relay served after those that already wait, in the next iteration of the loop at the earliest."""
        self.serve_soon()
        self.house.turns.order()

    def gone(self) -> None:
        self.house.gone(self)

    @property
    def is_ahead(self) -> bool:
        """Return whether a request still has to be sent to the node."""
        return bool(self._ahead)

    @property
    def open_requests(self) -> int:
        """Return how many requests were passed on and are not answered in the recording."""
        return self._unread + (len(self.line.pending) if self._known else 0)

    def _ask(self, data: bytes, at: int) -> int:
        """Pass on as many requests as may be open. Return the offset behind them, where waiting requests begin."""
        most = self._room()
        end, begun = self._requests.look(data, at, most)
        if end > at:
            passing = data if not at and end == len(data) else data[at:end]
            self.server.write(passing)
            self._unread += begun
            self._add(self._take_asked, passing, self.house.now())
        if end < len(data) and begun < most:
            self.shut("client", f"the client sent what is no request: {self._requests.refusal(data[end:])}")
            return len(data)
        return end

    def _room(self) -> int:
        """Return how many more requests may be passed on before one is answered."""
        open_bytes = self._unrecorded + (self.line.waiting if self._known and self.line.pending else 0)
        return 0 if open_bytes > OPEN_BYTES else max(MOST_OPEN - self.open_requests, 0)

    def _ask_on(self) -> None:
        """Pass on requests that waited for the recording."""
        while self._ahead and self._room():
            data, at = self._ahead[0], self._ahead_at
            end = self._ask(data, at)
            if self.ended:
                return
            self._wait(at - end)
            self._ahead_at = end if end < len(data) else 0
            if not self._ahead_at:
                self._ahead.popleft()
        if self._ahead_bytes < AHEAD_BYTES // 2:
            self.client.resume(WAITING)
        self.closing.pass_finish_on()

    def _wait(self, change: int) -> None:
        """Add to the count of bytes that wait for their turn (a negative change subtracts)."""
        self._ahead_bytes += change
        self.house.held.bytes += change

    def _hand_on(self) -> None:
        """Pass on the node's bytes, up to the end of an answer that had to be kept back."""
        try:
            data, at = self._answers.feed(self._coming.pop(0), self._coming_at)
        except (FrameError, Refused, TooManyNodes) as broken:
            reason = str(broken).replace("socket.request.max.bytes", "more than is recorded")
            self.shut("server", f"the node sent what is no answer: {reason}" if isinstance(broken, FrameError) else reason)
            return
        self._coming_at = at if at < len(data) else 0
        if self._coming_at:
            self._coming.insert(0, data)

    def _beat(self) -> Beat | None:
        """Return the heartbeat that this client repeats, or None while observed bytes are not recorded yet, because rows must keep the
        order of the frames."""
        return None if self.house.work.pieces else self.line.beat

    def _noticed(self, start: bytes, correlation: bytes) -> None:
        """Note a request of an API whose answers may be changed on their way."""
        codec = self.house.dialogue.codecs[start]
        if isinstance(codec, WireCodec) and (_changes(codec) or abridges(codec.key)):
            self._answers.wait_for(correlation, codec)

    def _taker(self, codec: WireCodec, size: int) -> Taker | None:
        """Return the taker of an answer of that size, or None to let the answer pass."""
        if size >= BIG_ANSWER and abridges(codec.key):
            return Passage(self, codec, size)
        return Collected(partial(self.tell, codec), size, self.house.held) if _changes(codec) else None

    def _passes(self, data: bytes) -> None:
        self.client.write(data)
        self._add(self._take_answered, data, self.house.now())

    def tell(self, codec: WireCodec, frame: bytes) -> None:
        """Pass on an answer that may contain addresses. Raises TooManyNodes."""
        message, told = None, frame
        try:
            message = codec.read_answer(frame)
            self.house.upstream.expect(message, self.node.where)
            if rewrite(codec.key, codec.version, message, self.house.upstream.translate):
                told = codec.answer(frame[:4], message)[4:]
        except CodecError:
            # An ApiVersions answer in version 0 (`answer_version`) names that API alone and needs no change. Any other answer that cannot
            # be decoded cannot be changed, which a note says when the answer is recorded.
            message = None
        self.client.write(len(told).to_bytes(4, "big") + told)
        self._add(partial(self._record_answer, message), told, self.house.now())

    def record_abridged(self, abridged: Abridged) -> None:
        """Write the row of an answer that was abridged while it passed."""
        self._add(partial(self._record_abridged, abridged), abridged.frame, self.house.now())

    def _client_lost(self, end: End, failure: Exception | None) -> None:
        self.drop()
        self.closing.lost(end, failure)

    def _not_reading(self, size: int) -> None:
        self._later(partial(self._remark, NOT_READING, self.house.now(), bytes=size))

    def _add(self, take: Take, data: bytes, now: int) -> None:
        work = self.house.work
        work.add(take, data, now, self._recorded)
        self._unrecorded += len(data)
        if self._unrecorded > BEHIND_BYTES:
            self.client.pause(UNRECORDED)
            self.server.pause(UNRECORDED)
        if work.full:
            self.client.pause(BEHIND)
            self.server.pause(BEHIND)

    def _recorded(self, size: int) -> None:
        """Subtract `size` recorded bytes from those that wait for the recording."""
        self._unrecorded -= size
        if self.client.paused & UNRECORDED and self._unrecorded <= BEHIND_BYTES // 2:
            self.client.resume(UNRECORDED)
            self.server.resume(UNRECORDED)
        if self._ahead or self.closing.finishing:
            self._ask_on()

    def _later(self, call: Callable[[], None]) -> None:
        """Call a function after the bytes that wait now were recorded."""

        def take(data: bytes, now: int, at: int) -> int:
            call()
            return at

        self._add(take, b"", 0)

    def _take_asked(self, data: bytes, now: int, at: int) -> int:
        """Record the requests in the observed bytes one at a time, so that many small requests delay other work for at most one time
        slice. The usual piece is one frame."""
        if not at and not self._asked.cut_bytes and len(data) >= 4 and _length(data)[0] == len(data) - 4:
            self._read_asked(data[4:], len(data) - 4, now)
            return len(data)
        frame, at = self._asked.next(data, at)
        if frame is not None:
            self._read_asked(frame, self._asked.size, now)
        return at

    def _read_asked(self, frame: bytes, size: int, now: int) -> None:
        line = self.line
        line.node = self.node.number  # The node's id may have been learned since the connection began.
        self._unread -= 1
        self.house.dialogue.asked(line, frame, now, size)

    def _take_answered(self, data: bytes, now: int, at: int) -> int:
        frame: bytes | None
        if not at and not self._answered.cut_bytes and len(data) >= 4 and _length(data)[0] == len(data) - 4:
            frame, at = data[4:], len(data)
        else:
            frame, at = self._answered.next(data, at)
            if frame is not None and (size := self._answered.size) > len(frame):
                self.house.dialogue.answered(self.line, frame, now, None, size, _too_long(size))
                return at
        if frame is not None:
            self.house.dialogue.answered(self.line, frame, now)
        return at

    def _record_answer(self, message: Message | None, frame: bytes, now: int, at: int) -> int:
        self.house.dialogue.answered(self.line, frame, now, message)
        return len(frame)

    def _record_abridged(self, abridged: Abridged, frame: bytes, now: int, at: int) -> int:
        try:
            message = abridged.read()
        except CodecError:
            message = None  # An answer that cannot be decoded gets a note when it is recorded.
        self.house.dialogue.answered(self.line, frame, now, message, abridged.size - 4)
        return len(frame)

    def _record_open(self, host: str, port: int, now: int) -> None:
        self.line = self.house.dialogue.opened(self.number, self.node.number, host, port, now)
        self._known = True

    def _record_close(self, by: str, reason: str, now: int) -> None:
        cut = self._cut_bytes()
        if cut:
            reason += f" in the middle of a frame, of which {cut} bytes had come"
        if self.line.unanswered:
            reason += ", with a request unanswered"
        self._asked.drop()
        self._answered.drop()
        self.house.dialogue.closed(self.line, by, reason, now, cut)

    def _cut_bytes(self) -> int:
        """Return the number of bytes that have arrived of an incomplete request."""
        return self._asked.cut_bytes

    def _remark(self, what: str, now: int, **fields: Any) -> None:
        self.house.dialogue.record.remark(what, now, connection=self.number, **fields)


def _too_long(size: int) -> str:
    return f"it has {size} bytes, and at most {MOST_READ} are read while there is room for them"


def _changes(codec: WireCodec) -> bool:
    """Return whether answers of this API version are changed on their way."""
    return codec.key == API_VERSIONS or tells_addresses(codec.key, codec.version)
