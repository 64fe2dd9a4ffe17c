"""One TCP connection's segments, as a capture has them, to what each side's program sent, in an order in which it can have happened.

Why it is our own: of the libraries that a project under Apache-2.0 can depend on, dpkt and python-pcapng leave TCP alone, and pypcapkit
puts together what carries the same acknowledgement, fills holes with zeros and keeps everything; scapy is under the GPL.

The theory. A capture is no receiver. A receiver that misses a segment asks until it comes; what a capture misses is gone. And packets
stand in it in the order in which some card or kernel queue saw them, not in that of the programs. What is sure are the numbers in the
segments:

- Each side numbers its bytes, modulo 2^32, from one behind its SYN's number; a FIN counts as a byte. Numbers are read as the nearest to the
  place where the side stands (`Half.place`), so that they go on beyond 2^32 here.
- A segment's acknowledgement says what its sender had received when it sent. An answer acknowledges the request it answers: a program
  cannot answer what its kernel has not received. So bytes are given on when (1) everything before them of their side was, and (2) what
  they acknowledge of the other side was. Any order and any repetition of the same segments gives the same bytes in the same order, but for
  what the two sides sent without having heard of each other.
- A repeated segment brings what was given on already, wholly or partly: only what is new counts.
- A hole that the other side has acknowledged was filled on the wire and is missing here. It can still be a segment that stands further
  behind in the file, so the connection waits for `REORDER_SEGMENTS` segments of its own or `REORDER_NS`; then the hole is given up
  (`Missed`) and the bytes behind it go on. A hole that nobody has acknowledged is one of the network: it waits for the repetition,
  `REPEAT_NS` long. At most `HELD_BYTES` wait behind a hole.
- A side whose SYN was not seen begins where its first bytes stand, or where the other side has acknowledged to, after the same wait, since
  the SYN may yet come (`Begun` says which).
- FIN and RST are marks at their number. A RST is the end when everything before it is there; one far from where its side stands is of no
  account, as for a receiver (RFC 9293, 3.5.2).

    begin --SYN, or the wait is over--> Begun --Came | Missed ...--> Ended

Nothing is said after Ended. The same two endpoints connect anew with a SYN of another number: `is_another` tells it, the caller makes a
new Stream.

Cost: a segment is inserted in a sorted list of at most `HELD_SEGMENTS`; giving up a hole gives on at least one segment, or all that is
acknowledged.
"""

from __future__ import annotations

from bisect import insort
from operator import itemgetter
from typing import Final, NamedTuple

from .segments import FIN, RST, SYN, Segment

HALF_CIRCLE: Final = 1 << 31
CIRCLE: Final = 1 << 32
WINDOW: Final = 1 << 30
"""No window is larger (RFC 7323, 2.3): a segment or an acknowledgement further away is none of this connection's."""
REORDER_SEGMENTS: Final = 256
REORDER_NS: Final = 1_000_000_000
REPEAT_NS: Final = 120_000_000_000
"""The longest wait between two transmissions of a segment: Linux's TCP_RTO_MAX."""
HELD_SEGMENTS: Final = 1024
HELD_BYTES: Final = 4 << 20

DATA, END, RESET = range(3)
BOTH: Final = 3
"""Sides, as bits."""


class Begun(NamedTuple):
    """The connection is there. `opener`: the side that sent the SYN; None: it began before the capture, or the SYN is not in it."""

    opener: int | None
    time: int


class Came(NamedTuple):
    """The next bytes of a side."""

    side: int
    data: bytes
    time: int


class Missed(NamedTuple):
    """So many bytes of a side are not in the capture."""

    side: int
    size: int
    time: int


class Ended(NamedTuple):
    """A side closed its direction, or reset the connection."""

    side: int
    reset: bool
    time: int


Event = Begun | Came | Missed | Ended


class Held(NamedTuple):
    """Bytes, or the mark of an end, that wait; given on by `begin`, marks behind bytes (`ORDER`)."""

    begin: int
    mark: int
    data: bytes
    ack: int | None
    time: int


ORDER: Final = itemgetter(0, 1)


class Half:
    """What one side sends. `next`: number of the byte that is due, None until it is known where the side begins; `acked`: the other side
    has everything before it; `least`: the first number that the other side was seen to acknowledge."""

    __slots__ = ("acked", "held", "held_bytes", "least", "next", "origin")

    def __init__(self) -> None:
        self.next: int | None = None
        self.acked: int | None = None
        self.least: int | None = None
        self.origin: int | None = None  # where its SYN says it begins
        self.held: list[Held] = []
        self.held_bytes = 0

    def place(self, number: int) -> int:
        """A number of a segment, as it goes on beyond 2^32."""
        near = self._near()
        if near is None:
            return CIRCLE + number  # room below, for numbers that turn out to be smaller
        return near + (number - near + HALF_CIRCLE) % CIRCLE - HALF_CIRCLE

    def _near(self) -> int | None:
        if self.next is not None:
            return self.next
        return self.held[0].begin if self.held else self.acked

    def within(self, place: int) -> bool:
        """Can a number of this connection be so far away?"""
        near = self._near()
        return near is None or abs(place - near) < WINDOW

    def hold(self, held: Held) -> None:
        """Keep it until its turn comes; what was given on already is cut off."""
        if self.next is not None and held.begin < self.next and held.mark == DATA:
            held = held._replace(begin=self.next, data=held.data[self.next - held.begin :])
            if not held.data:
                return
        insort(self.held, held, key=ORDER)
        self.held_bytes += len(held.data)

    def acknowledged(self, place: int) -> None:
        """The other side has everything before it."""
        self.acked = place if self.acked is None else max(self.acked, place)
        self.least = place if self.least is None else min(self.least, place)

    def begins(self, place: int) -> None:
        """What was held of a time before is none of its."""
        self.next = place
        waiting, self.held, self.held_bytes = self.held, [], 0
        for held in waiting:
            self.hold(held)

    def guess(self, whole: bool) -> None:
        """Nobody saw where it begins: with the first bytes that are there, or behind what the other side had first. `whole`: the other
        side's beginning was seen, so what it acknowledged first is the beginning of this one."""
        begin = self.least if self.least is not None and (whole or not self.held) else self.held[0].begin if self.held else None
        if begin is not None:
            self.begins(begin)

    def hole_end(self) -> int | None:
        """Where the hole that is open ends, as far as is known. None: nothing says that there is one."""
        if self.next is None:
            return None
        acked = self.acked if self.acked is not None and self.acked > self.next else None
        if not self.held:
            return acked
        end = self.held[0].begin
        if end <= self.next:
            return None
        # What is behind the acknowledgement may come again.
        return end if acked is None else min(end, acked)

    @property
    def sure(self) -> bool:
        """Was something of this side acknowledged that was not given on?"""
        return self.next is None or (self.acked is not None and self.acked > self.next)


class Stream:
    """One connection; its sides are 0 and 1. Every call gives what can be told now, in order."""

    __slots__ = ("_begun", "_done", "_halves", "_opener", "_since", "_stuck", "_urgent", "ended")

    def __init__(self) -> None:
        self._halves = (Half(), Half())
        self._opener: int | None = None
        self._begun = False
        self._done = 0  # sides that sent their FIN
        self._stuck: tuple[int | None, int | None] | None = None
        self._since = 0  # segments since it is stuck
        self._urgent: int | None = None  # until when it waits
        self.ended = False

    @property
    def held_bytes(self) -> int:
        """What waits, in bytes."""
        return self._halves[0].held_bytes + self._halves[1].held_bytes

    @property
    def deadline(self) -> int | None:
        """When `expired` is to be called, if nothing comes until then. None: nothing waits."""
        return self._urgent

    def is_another(self, side: int, segment: Segment) -> bool:
        """Is it the SYN of another connection between the same two?"""
        if segment.flags & (SYN | RST) != SYN or segment.ack is not None:
            return False
        half = self._halves[side]
        begin = half.place(segment.sequence) + 1
        # Where the wait for its SYN is over and none came, this cannot be it.
        return self._begun if half.origin is None else begin != half.origin

    def take(self, side: int, segment: Segment) -> list[Event]:
        """The next segment, sent by `side`."""
        if self.ended:
            return []
        half, other = self._halves[side], self._halves[1 - side]
        begin = half.place(segment.sequence)
        ack = None if segment.ack is None else other.place(segment.ack)
        if not half.within(begin) or (ack is not None and not other.within(ack)):
            return []
        events: list[Event] = []
        if segment.flags & RST and half.origin is None and self._opener is not None and not self._begun:
            self.close()  # a SYN that was refused
            return events
        if segment.flags & SYN:
            begin += 1
            self._syn(side, segment, begin, ack)
        if ack is not None:
            other.acknowledged(ack)
        self._hold(half, segment, begin, ack)
        self._begin(segment.time, events)
        self._give(events)
        self._wait(segment.time, events)
        return events

    def expired(self, now: int) -> list[Event]:
        """The wait is over: what is not here is missing, or where a side begins is guessed."""
        events: list[Event] = []
        if not self.ended:
            self._give_up(now, events)
            self._wait(now, events)
        return events

    def finish(self, now: int) -> list[Event]:
        """The capture is over: nothing is waited for."""
        events: list[Event] = []
        while not self.ended and self._is_stuck():
            self._give_up(now, events)
        self._urgent = None
        return events

    def close(self) -> None:
        """Nothing more is to be told of it."""
        self.ended = True
        self._urgent = None
        for half in self._halves:
            half.held, half.held_bytes = [], 0

    # Inside

    def _syn(self, side: int, segment: Segment, begin: int, ack: int | None) -> None:
        half, other = self._halves[side], self._halves[1 - side]
        if half.origin is None and (not self._begun or half.next is None):
            half.origin = begin
            half.begins(begin)
        if ack is None:
            self._opener = side
            return
        self._opener = 1 - side
        if other.next is None:  # the SYN is not here, its answer says what it was
            other.origin = ack
            other.begins(ack)

    def _hold(self, half: Half, segment: Segment, begin: int, ack: int | None) -> None:
        if segment.data:
            half.hold(Held(begin, DATA, segment.data, ack, segment.time))
        mark = RESET if segment.flags & RST else END if segment.flags & FIN else None
        end = begin + segment.length
        if mark is not None and (half.next is None or end >= half.next):
            half.hold(Held(end, mark, b"", ack, segment.time))

    def _begin(self, now: int, events: list[Event]) -> None:
        """Both sides are known to be there: the opener's, and the other's answer to its SYN acknowledged by it, or bytes."""
        if self._begun or any(half.next is None for half in self._halves):
            return
        assert self._opener is not None
        answerer = self._halves[1 - self._opener]
        if answerer.acked is not None:
            self._begun = True
            events.append(Begun(self._opener, now))

    def _give(self, events: list[Event]) -> None:
        """Everything whose turn has come."""
        progress = self._begun
        while progress and not self.ended:
            progress = self._give_side(0, events)
            progress = self._give_side(1, events) or progress

    def _give_side(self, side: int, events: list[Event]) -> bool:
        half, other = self._halves[side], self._halves[1 - side]
        given = 0
        for held in half.held:
            if half.next is None or held.begin > half.next or not _heard(held, other) or self.ended:
                break
            given += 1
            half.held_bytes -= len(held.data)
            self._give_one(side, half, held, events)
        del half.held[:given]
        return given > 0

    def _give_one(self, side: int, half: Half, held: Held, events: list[Event]) -> None:
        assert half.next is not None
        if held.mark == DATA:
            new = held.data[half.next - held.begin :]
            if new:
                half.next += len(new)
                events.append(Came(side, new, held.time))
        elif held.begin == half.next:
            half.next += held.mark == END
            self._end(side, held.mark == RESET, held.time, events)

    def _end(self, side: int, reset: bool, time: int, events: list[Event]) -> None:
        events.append(Ended(side, reset, time))
        self._done |= 1 << side
        self.ended = reset or self._done == BOTH

    def _is_stuck(self) -> bool:
        return any(half.held or (half.next is not None and half.hole_end() is not None) for half in self._halves)

    def _wait(self, now: int, events: list[Event]) -> None:
        """How long what is stuck may wait from now on; too much of it waits no longer."""
        while not self.ended and self._is_stuck():
            place = (self._halves[0].next, self._halves[1].next)
            if place != self._stuck:
                self._stuck, self._since, self._urgent = place, 0, now + REPEAT_NS
            self._since += 1
            sure = any(half.sure for half in self._halves)
            if sure and self._urgent is not None:
                self._urgent = min(self._urgent, now + REORDER_NS)
            if not (sure and self._since > REORDER_SEGMENTS) and not self._full():
                return
            self._give_up(now, events)
        self._stuck = self._urgent = None

    def _full(self) -> bool:
        return any(len(half.held) > HELD_SEGMENTS or half.held_bytes > HELD_BYTES for half in self._halves)

    def _give_up(self, now: int, events: list[Event]) -> None:
        if not self._begun:
            self._begin_in_the_middle(now, events)
        else:
            self._skip_hole(now, events)
        self._give(events)

    def _begin_in_the_middle(self, now: int, events: list[Event]) -> None:
        self._begun = True
        events.append(Begun(self._opener, min((half.held[0].time for half in self._halves if half.held), default=now)))
        for half in self._halves:
            if half.next is None:
                half.guess(self._opener is not None)

    def _skip_hole(self, now: int, events: list[Event]) -> None:
        """A hole that is sure goes before one that may be filled yet."""
        for side in sorted((0, 1), key=lambda side: not self._halves[side].sure):
            half = self._halves[side]
            if half.next is None:
                half.guess(whole=False)
                if half.held:
                    return
            end = half.hole_end()
            if end is not None:
                self._skip(side, half, end, half.held[0].time if half.held else now, events)
                return
        self._break_circle()

    def _skip(self, side: int, half: Half, end: int, time: int, events: list[Event]) -> None:
        assert half.next is not None
        missing, half.next = end - half.next, end
        if missing == 1 and not half.held:  # no byte, but the FIN
            self._end(side, False, time, events)
        else:
            events.append(Missed(side, missing, time))

    def _break_circle(self) -> None:
        """Each side waits for what the other one had received: one of the two segments is a repetition, whose acknowledgement is of a later
        time than its bytes. It is the later one."""
        late = max((half for half in self._halves if half.held), key=lambda half: half.held[0].time)
        late.held[0] = late.held[0]._replace(ack=None)


def _heard(held: Held, other: Half) -> bool:
    """Was everything given on that its sender had received?"""
    return held.ack is None or other.next is None or held.ack <= other.next
