"""One TCP connection of a capture, told as a recording proxy would tell it: `Dialogue` gets its frames, its open and its close.

    (Begun) --> LISTENING --first bytes are a request's--> TALKING --Missed, a length that cannot be--> SEARCHING --a request--> TALKING
                    |       first bytes are TLS's --> DEAF
                    |       neither, and nobody said that a broker is here --> DEAF
                    +-- began before the capture --> SEARCHING

TALKING means that the border of frames is known on the client's side; on the broker's it may still be looked for (`_answers`), since only
an answer to a request that was seen can be told there. Where a piece is missing the connection's dialogue is cut with a close row and goes
on as a new connection with a note about what was left out: half a frame is nobody's, and requests that were open then were answered, or
not, where nobody saw it. Who has hung up is told when both have: an answer may be on its way until then.

Close rows are the broker's where nobody closed: a client that did nothing must not be blamed.
"""

from __future__ import annotations

from enum import Enum, auto
from ipaddress import ip_address
from typing import TYPE_CHECKING, Final

from groupmock_codec.frame import FrameError, Framer

from .borders import HEAD_BYTES, LENGTH_BYTES, Answers, Requests, Search
from .reassembly import Begun, Came, Ended, Missed
from .wire_codec import HEADER_BYTES

if TYPE_CHECKING:
    from .dialogue import Line
    from .ledger import Ledger
    from .reassembly import Event
    from .segments import Endpoint

SHORTEST: Final = 8
"""Bytes of a request: key, version, correlation id (ControlledShutdown v0 has no more in its header)."""
NO_HEADER: Final = f"a frame of less than {SHORTEST} bytes holds no request header"
PENDING: Final = 1000
WAITING_BYTES: Final = 16 << 20
"""So many requests, and so many bytes of them, may be without an answer on one connection."""
GUESS_BYTES: Final = 1 << 18
"""Bytes without a request after which a connection is none of Kafka's, where nobody said that it is."""
TLS: Final = range(0x14, 0x18)
"""First byte of a TLS record: change_cipher_spec, alert, handshake, application_data (RFC 8446, 5.1)."""
RESUMED: Final = "the capture has not all of this connection: it goes on here"
JOINED: Final = "this connection is older than the capture"
ENCRYPTED: Final = "this connection speaks TLS: nothing in it can be read"
TOO_MANY: Final = "more requests without an answer than are kept"
IN_THE_MIDDLE: Final = "the capture begins in the middle of the connection"
AT_THE_END: Final = "the capture ends in the middle of a frame"
OVER: Final = "the capture ends"
STRANGE: Final = "bytes that are no frames of Kafka's"


class State(Enum):
    """See above."""

    LISTENING = auto()
    SEARCHING = auto()
    TALKING = auto()
    DEAF = auto()


class Conversation:
    """One connection. `ends`: its endpoints, by side; `broker`: the side that is the broker's, where a port says it; `sure`: somebody said
    so. `kept`: it was found to be Kafka's."""

    def __init__(self, ledger: Ledger, ends: tuple[Endpoint, Endpoint], broker: int | None, sure: bool) -> None:
        self._ledger = ledger
        self._ends = ends
        self._client = None if broker is None else 1 - broker
        self._sure = sure
        self._state = State.LISTENING
        self._line: Line | None = None
        self._hung_up: Ended | None = None  # the client has closed, the broker has not
        self._first = bytearray()
        self._framers = (Framer(), Framer())
        self._searches: tuple[Search, Search] | None = None
        self._answers: Search | None = None
        self._why = IN_THE_MIDDLE
        self._left_out = 0
        self._seen_bytes = 0
        self.weight = 0
        self.kept = sure

    @property
    def is_open(self) -> bool:
        """Is it told to the dialogue?"""
        return self._line is not None

    @property
    def deaf(self) -> bool:
        """Is nothing of it of any interest any more?"""
        return self._state is State.DEAF and self._line is None

    def take(self, events: list[Event]) -> None:
        """What its segments told."""
        if not events:
            return
        for event in events:
            if isinstance(event, Came):
                self._came(event.side, event.data, event.time)
            elif isinstance(event, Missed):
                self._missed(event.side, event.size, event.time)
            elif isinstance(event, Begun):
                self._begun(event.opener, event.time)
            else:
                self._ended(event)
        self._weigh()

    def finish(self, time: int) -> None:
        """The capture is over. What is whole was told; the rest is counted."""
        if self._hung_up is not None and self._line is not None:
            self._over(self._hung_up, time)
        rest = self._framers[0].buffered + self._framers[1].buffered + len(self._first)
        if self._state is State.TALKING and rest:
            self._unread(rest, AT_THE_END)
            if self._line is not None:
                self._ledger.remark(AT_THE_END, time, connection=self._line.number, bytes=rest)
        self._stop_searching()
        if self._line is not None:
            self._ledger.dialogue.missed(self._line, OVER, self._ledger.at(time))
        self._weigh()

    def forget(self, reason: str, time: int) -> None:
        """It is followed no further."""
        if self._line is not None:
            self._ledger.forgotten(self.name, reason)
        self._stop_searching()
        self._cut(reason, time)
        self._state = State.DEAF
        self._weigh()

    @property
    def name(self) -> str:
        """client -> broker, or both ends where nobody knows who is who."""
        client = 0 if self._client is None else self._client
        return f"{text_of(self._ends[client])} {'<>' if self._client is None else '->'} {text_of(self._ends[1 - client])}"

    # What happens to the connection

    def _begun(self, opener: int | None, time: int) -> None:
        if opener is None:
            self.kept = self._client is not None and self._is_broker()
            self._search()
            return
        self._client = opener
        if self._is_broker():
            self._open(time)

    def _came(self, side: int, data: bytes, time: int) -> None:
        if self._state is State.TALKING:
            self._frames(side, data, time)
        elif self._state is State.LISTENING:
            self._listen(side, data, time)
        elif self._state is State.SEARCHING:
            self._look(side, data, time)

    def _missed(self, side: int, count: int, time: int) -> None:
        if self._hung_up is not None:
            self._over(self._hung_up, time)
        if self._state is State.DEAF:
            return
        whose = "of one" if self._client is None else "of the client's" if side == self._client else "of the broker's"
        why = f"{count} bytes {whose} side are not in the capture"
        if self.kept:
            self._ledger.missing(self.name, count)
        self._cut(why, time)
        self._search()
        self._why = why

    def _ended(self, event: Ended) -> None:
        """A broker that hears that the client has closed may have an answer on its way: the end is when it has closed too."""
        if self._hung_up is None and event.side == self._client and not event.reset and self._line is not None:
            self._hung_up = event
            return
        self._over(self._hung_up or event, event.time)

    def _over(self, event: Ended, time: int) -> None:
        self._stop_searching()
        if self._line is not None:
            by, who = ("client", "client") if event.side == self._client else ("server", "broker")
            cut = self._framers[event.side].buffered
            middle = f" in the middle of a frame, of which {cut} bytes had come" if cut else ""
            open_one = ", with a request unanswered" if unanswered(self._line) else ""
            how = f"the {who} {'reset the connection' if event.reset else 'closed'}{middle}{open_one}"
            self._close(by, how, time, cut)
        self._state = State.DEAF

    # First bytes

    def _is_broker(self) -> bool:
        return self._sure or self._ledger.is_broker(self._broker_end)

    def _listen(self, side: int, data: bytes, time: int) -> None:
        """The connection's first bytes: they say what it speaks."""
        if side != self._client:
            if self._is_broker():
                self._talk(time)
                self._came(side, data, time)
            else:
                self._other_speaks()
            return
        self._first += data
        if is_tls(self._first):
            self._encrypted(time)
        elif len(self._first) >= HEAD_BYTES or self._is_broker():
            if self._is_broker() or could_be_request(self._first):
                self._talk(time)
            else:
                self._other_speaks()

    def _talk(self, time: int) -> None:
        first, self._first = bytes(self._first), bytearray()
        self._state = State.TALKING
        if self._line is None:
            self._open(time)
        if first:
            assert self._client is not None
            self._frames(self._client, first, time)

    def _other_speaks(self) -> None:
        self._first = bytearray()
        self._state = State.DEAF
        self._ledger.others += 1

    def _encrypted(self, time: int) -> None:
        self._state = State.DEAF
        self._first = bytearray()
        told = self._client is not None and self._is_broker()
        self._ledger.encrypted(self.name if self._client is None else text_of(self._ends[1 - self._client]), told)
        if told:
            if self._line is None:
                self._open(time)
            assert self._line is not None
            self._ledger.remark(ENCRYPTED, time, connection=self._line.number)

    # Frames

    def _frames(self, side: int, data: bytes, time: int) -> None:
        if side != self._client and self._answers is not None:
            rest = self._answers.feed(data)
            if rest is None:
                return
            self._note_left_out(self._answers.give_up(), time)
            self._answers, data = None, rest
        framer = self._framers[side]
        left = framer.buffered + len(data)
        try:
            frames = framer.feed(data)
        except FrameError:
            frames = []
        told = self._asked(frames, time) if side == self._client else self._answered(frames, time)
        if framer.broken is not None or told < len(frames):
            why = NO_HEADER if told < len(frames) else str(framer.broken)
            self._unread(left - sum(LENGTH_BYTES + len(frame) for frame in frames[:told]), STRANGE)
            self._cut(why, time, side)
            self._search()
            self._why = STRANGE

    def _answered(self, frames: list[bytes], time: int) -> int:
        assert self._line is not None
        for frame in frames:
            self._ledger.answered(self._line, frame, time)
        return len(frames)

    def _asked(self, frames: list[bytes], time: int) -> int:
        """How many of them can be requests: all up to the first that cannot, at which a broker would hang up."""
        line, dialogue = self._line, self._ledger.dialogue
        assert line is not None
        now = self._ledger.at(time)
        for told, frame in enumerate(frames):
            if len(frame) < SHORTEST and not line.raw_tokens:
                return told
            line.node = self._ledger.nodes.seen.get(self._broker_end)  # it may have been told since
            dialogue.asked(line, frame, now)
            if len(line.pending) > PENDING or line.waiting > WAITING_BYTES:
                self._unread(line.waiting, TOO_MANY)
                dialogue.missed(line, TOO_MANY, now)
        return len(frames)

    @property
    def _broker_end(self) -> Endpoint:
        assert self._client is not None
        return self._ends[1 - self._client]

    def _open(self, time: int) -> None:
        assert self._client is not None
        self._line = self._ledger.open(self._ends[self._client], self._broker_end, time)
        self.kept = True

    def _close(self, by: str, reason: str, time: int, cut_bytes: int = 0) -> None:
        assert self._line is not None
        self._ledger.dialogue.closed(self._line, by, reason, self._ledger.at(time), cut_bytes)
        self._line = None

    # What is not there

    def _cut(self, why: str, time: int, counted: int | None = None) -> None:
        """The dialogue ends here. `counted`: a side whose bytes are accounted for."""
        cut = sum(framer.buffered for side, framer in enumerate(self._framers) if side != counted) + len(self._first)
        if cut and self.kept:
            self._unread(cut, why)
        if self._line is not None:
            self._close("server", why, time, self._framers[self._client or 0].buffered)
        self._framers = (Framer(), Framer())
        self._first = bytearray()

    def _search(self) -> None:
        """Look for the next request, on both sides where nobody knows the client's."""
        self._stop_searching()
        self._state = State.SEARCHING
        requests = Requests(self._ledger.dialogue.codecs)
        self._searches = (Search(requests.find, requests.fits), Search(requests.find, requests.fits))
        self._seen_bytes = 0

    def _stop_searching(self) -> None:
        for search in (*(self._searches or ()), self._answers):
            skipped = 0 if search is None else search.give_up()
            if skipped and self.kept:
                self._unread(skipped, self._why)
        self._searches = self._answers = None

    def _look(self, side: int, data: bytes, time: int) -> None:
        assert self._searches is not None
        if is_tls(data) and self._searches[side].skipped == 0:
            self._stop_searching()
            self._encrypted(time)
            return
        if self._client is not None and side != self._client:
            self._left_out += len(data)
            self._unread(len(data), self._why)
            return
        rest = self._searches[side].feed(data)
        self._seen_bytes += len(data)
        if rest is not None:
            self._found(side, rest, time)
        elif self._seen_bytes > GUESS_BYTES and not self.kept:
            self._searches = None
            self._other_speaks()

    def _found(self, side: int, rest: bytes, time: int) -> None:
        """A request stands here: this side is the client's, and the dialogue goes on with it."""
        assert self._searches is not None
        self._client = side
        self.kept = True
        # What the broker sent until now answers requests that nobody saw
        skipped = self._searches[0].give_up() + self._searches[1].give_up()
        self._searches = None
        self._state = State.TALKING
        self._open(time)
        line = self._line
        assert line is not None
        note = JOINED if self._why == IN_THE_MIDDLE else RESUMED
        self._ledger.remark(note, time, connection=line.number, because=self._why)
        self._note_left_out(skipped, time)
        answers = Answers(lambda: line.pending)
        self._answers = Search(answers.find, answers.fits)
        self._frames(side, rest, time)

    def _note_left_out(self, skipped: int, time: int) -> None:
        if not skipped and not self._left_out:
            return
        self._unread(skipped, self._why)
        assert self._line is not None
        left_out = {"bytes": skipped + self._left_out, "because": self._why}
        self._ledger.remark("bytes of this connection could not be read", time, connection=self._line.number, **left_out)
        self._left_out = 0

    def _unread(self, count: int, why: str) -> None:
        if count:
            self._ledger.unread(self.name, count, why)

    def _weigh(self) -> None:
        """What it keeps in memory, in bytes."""
        searches = [search for search in (*(self._searches or ()), self._answers) if search is not None]
        waiting = 0 if self._line is None else self._line.waiting
        buffered = sum(framer.buffered for framer in self._framers) + sum(search.held for search in searches)
        weight = buffered + waiting + len(self._first)
        self._ledger.weight += weight - self.weight
        self.weight = weight


def unanswered(line: Line) -> bool:
    """Is a request of it open?"""
    return bool(line.pending or (line.beat is not None and line.beat.held is not None))


def is_tls(data: bytes | bytearray) -> bool:
    """A TLS record's first bytes: kind, version 3.0 to 3.4, length. As a frame of Kafka's it would have 369 million bytes."""
    return len(data) >= 3 and data[0] in TLS and data[1] == 3 and data[2] <= 4


def could_be_request(data: bytes | bytearray) -> bool:
    """May this be the begin of a request: a length, key, version and client id that are possible? Keys that nobody knows too."""
    length = int.from_bytes(data[:LENGTH_BYTES], "big", signed=True)
    key, version = int.from_bytes(data[4:6], "big", signed=True), int.from_bytes(data[6:8], "big", signed=True)
    client = int.from_bytes(data[12:14], "big", signed=True)
    return HEADER_BYTES <= length <= 100 << 20 and 0 <= key < 128 and 0 <= version < 64 and -1 <= client <= length - HEADER_BYTES


def text_of(end: Endpoint) -> str:
    """10.0.0.7:40001, [::1]:9092."""
    address = ip_address(end[0])
    return f"{address}:{end[1]}" if address.version == 4 else f"[{address}]:{end[1]}"
