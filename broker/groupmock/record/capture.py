"""A packet capture becomes a journal, as the recording proxy would have made it where no proxy may stand.

    packets (pcap, pcapng) -> segments (TCP in IP) -> reassembly (bytes of each side) -> conversation (frames) -> dialogue (rows)

One pass, in the file's order. A connection waits for segments that may stand further behind (`reassembly`), none waits for another, so
rows may be told up to a second late: then their time is that of the row before them.

Memory is bounded whatever the file holds: `CONNECTIONS` that are Kafka's, `STRANGERS` that are not, or not yet known to be (a SYN costs a
place there until the next ones push it out), and `HELD` bytes of frames and segments that are not whole; who asks for more is cut, with a
close row that says so.
"""

from __future__ import annotations

from collections import OrderedDict
from heapq import heapify, heappop, heappush
from itertools import chain, count
from typing import TYPE_CHECKING, Final

import msgspec

from ..journal.rows import END
from .conversation import Conversation
from .ledger import LATEST, Ledger, capital, plural
from .packets import Packets
from .reassembly import Stream
from .segments import Segments

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import IO

    from .dialogue import Dialogue
    from .packets import Packet
    from .segments import Endpoint, Segment

CONNECTIONS: Final = 20_000
STRANGERS: Final = 8192
HELD: Final = 256 << 20
ALARMS: Final = 4 * (CONNECTIONS + STRANGERS)
AGAIN: Final = "the same two endpoints connected anew"
TOO_MANY: Final = f"a capture is read with {CONNECTIONS} connections at once: this one was silent for longest"
TOO_MUCH: Final = f"segments and frames that are not whole have more than {HELD >> 20} MiB together"

Key = tuple["Endpoint", "Endpoint"]


class Followed:
    """One connection: what puts it together and what is told of it. `alarm`: for when it stands in the queue of those that wait."""

    __slots__ = ("alarm", "conversation", "held", "key", "stream")

    def __init__(self, key: Key, conversation: Conversation) -> None:
        self.key = key
        self.stream = Stream()
        self.conversation = conversation
        self.alarm: int | None = None
        self.held = 0


class Capture:
    """Reads one capture into a dialogue. `ports`: of brokers; none: who sends the first request that can be one is the client."""

    def __init__(self, dialogue: Dialogue, epoch: int, ports: frozenset[int] = frozenset()) -> None:
        self.ledger = Ledger(dialogue, epoch)
        self.segments = Segments()
        self._ports = ports
        self._now = epoch
        self._known: OrderedDict[Key, Followed] = OrderedDict()
        self._strangers: OrderedDict[Key, Followed] = OrderedDict()
        self._waiting: list[tuple[int, int, Followed]] = []
        self._numbers = count()
        self._held = 0

    def take(self, packet: Packet) -> None:
        """The next packet of the file."""
        segment = self.segments.of(packet)
        self._now = max(self._now, packet.time)
        while self._waiting and self._waiting[0][0] <= self._now:
            self._ring(heappop(self._waiting)[2])
        if segment is None or (self._ports and self._ports.isdisjoint((segment.source[1], segment.target[1]))):
            return
        forward = segment.source <= segment.target
        key = (segment.source, segment.target) if forward else (segment.target, segment.source)
        followed = self._followed(key, 0 if forward else 1, segment)
        if not followed.stream.ended:
            followed.conversation.take(followed.stream.take(0 if forward else 1, segment))
            self._settle(followed)

    def finish(self) -> None:
        """The capture is over: what waits is told."""
        for followed in [*self._known.values(), *self._strangers.values()]:
            followed.conversation.take(followed.stream.finish(self._now))
            followed.conversation.finish(self._now)
        self.ledger.dialogue.ended()
        self.ledger.dialogue.record.remark(END, self.ledger.at(self._now))

    def _followed(self, key: Key, side: int, segment: Segment) -> Followed:
        table = self._known if key in self._known else self._strangers
        followed = table.get(key)
        if followed is not None and followed.stream.is_another(side, segment):
            self._over(followed, AGAIN)
            del table[key]
            followed = None
        if followed is None:
            followed = self._begin(key)
        else:
            table.move_to_end(key)
        return followed

    def _begin(self, key: Key) -> Followed:
        told = [side for side, end in enumerate(key) if end[1] in self._ports] or [
            side for side, end in enumerate(key) if self.ledger.is_broker(end)
        ]
        conversation = Conversation(self.ledger, key, told[0] if len(told) == 1 else None, bool(self._ports))
        followed = self._strangers[key] = Followed(key, conversation)
        if len(self._strangers) > STRANGERS:
            self._over(self._strangers.popitem(last=False)[1], TOO_MANY)
        return followed

    def _over(self, followed: Followed, why: str) -> None:
        """Its endpoints are those of another connection now, or there is no place for it."""
        followed.conversation.take(followed.stream.finish(self._now))
        followed.conversation.forget(why, self._now)
        self._drop(followed)

    def _drop(self, followed: Followed) -> None:
        followed.stream.close()
        followed.alarm = None
        self._held -= followed.held
        followed.held = 0

    def _settle(self, followed: Followed) -> None:
        """After something was told of it: where it stands, until when it waits, what it holds."""
        self._place(followed)
        stream = followed.stream
        deadline = stream.deadline
        if deadline is not None and (followed.alarm is None or deadline < followed.alarm):
            followed.alarm = deadline
            heappush(self._waiting, (deadline, next(self._numbers), followed))
            if len(self._waiting) > ALARMS:
                self._waiting = [alarm for alarm in self._waiting if alarm[2].alarm == alarm[0]]
                heapify(self._waiting)
        held, followed.held = followed.held, stream.held_bytes
        self._held += followed.held - held
        if self._held + self.ledger.weight > HELD:
            self._cut(followed)

    def _place(self, followed: Followed) -> None:
        """Among those of Kafka while it is open; what is over is remembered among the strangers, so that what comes late opens nothing."""
        key, conversation = followed.key, followed.conversation
        if conversation.deaf:
            followed.stream.close()
            if key in self._known:
                self._strangers[key] = self._known.pop(key)
        elif conversation.is_open and key in self._strangers:
            self._known[key] = self._strangers.pop(key)
            if len(self._known) > CONNECTIONS:
                self._over(self._known.popitem(last=False)[1], TOO_MANY)

    def _cut(self, followed: Followed) -> None:
        """It is the one that made it too much: it waits for nothing, and if that is not enough it is followed no further."""
        followed.conversation.take(followed.stream.finish(self._now))
        self._held -= followed.held
        followed.held = 0
        if self._held + self.ledger.weight > HELD:
            followed.conversation.forget(TOO_MUCH, self._now)
            self._drop(followed)

    def _ring(self, followed: Followed) -> None:
        followed.alarm = None
        deadline = followed.stream.deadline
        if deadline is not None and deadline <= self._now:
            followed.conversation.take(followed.stream.expired(self._now))
        self._settle(followed)


class Report(msgspec.Struct, frozen=True):
    """What a capture gave. `sentences`: what the journal has not, each in one; `incomplete`: should it have that?"""

    packets: int
    connections: int
    sentences: list[str]
    incomplete: bool


def record_capture(source: IO[bytes], begin: Callable[[int], Dialogue], ports: frozenset[int] = frozenset()) -> Report:
    """Read a whole capture. `begin` gets the time of its first packet, ns since 1970, and gives the dialogue that takes the rows; it is not
    called where the file is no capture. Raises NotACapture."""
    packets = Packets(source)
    walk = iter(packets)
    first = next(walk, None)
    epoch = 0 if first is None else min(max(0, first.time), LATEST)
    capture = Capture(begin(epoch), epoch, ports)
    for packet in chain(() if first is None else (first,), walk):
        capture.take(packet)
    capture.finish()
    return report(packets, capture)


def report(packets: Packets, capture: Capture) -> Report:
    """In sentences: first what is wrong with the file, then what is not in it, then what cannot be read."""
    ledger, segments = capture.ledger, capture.segments
    told = [] if packets.broken is None else [f"{capital(packets.broken)}."]
    told += [f"{plural(size, 'packet')} of link type {link} cannot be read." for link, size in segments.unknown.items()]
    if packets.timeless:
        told.append(f"{plural(packets.timeless, 'packet')} without a time (pcapng's simple blocks) are left out.")
    incomplete = bool(told) or ledger.incomplete
    if segments.short:
        told.append(f"Of {plural(segments.short, 'packet')} the headers are cut: capture whole packets (tcpdump -s 0).")
    if segments.fragments:
        told.append(f"{plural(segments.fragments, 'fragment')} of IP packets are left out.")
    told += ledger.sentences()
    if not ledger.opened:
        told.append(f"No connection of Kafka's was found in {plural(packets.count, 'packet')}.")
    return Report(packets.count, ledger.opened, told, incomplete or not ledger.opened)
