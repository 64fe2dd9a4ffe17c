"""What the connections of a capture share: the dialogue they are told to, the time, which brokers there are, and what could not be read."""

from __future__ import annotations

from ipaddress import ip_address
from typing import TYPE_CHECKING, Any, Final

from .known_nodes import KnownNodes

if TYPE_CHECKING:
    from .dialogue import Dialogue, Line
    from .segments import Endpoint

LATEST: Final = 1 << 62
"""ns: JSON's readers know no larger number than 2^63, and a packet may claim any time."""
NAMED: Final = 1000
"""Connections, or brokers, of which something is counted by name; those beyond count together."""
BROKER_SEEN: Final = "a broker of the capture"
NODE_TOLD: Final = "the cluster told which node a broker of the capture is"
SHOWN: Final = 3
"""Connections that a sentence names."""


class Ledger:
    """One per capture. `epoch`: time of its first packet, ns since 1970; `weight`: bytes that connections hold."""

    def __init__(self, dialogue: Dialogue, epoch: int) -> None:
        self.dialogue = dialogue
        self.weight = 0
        self.others = 0
        """Connections that speak no Kafka."""
        self.opened = 0
        self.not_told = 0
        """Connections in TLS to where nobody said that a broker is."""
        self._epoch = epoch
        self._last = 0
        self.nodes = KnownNodes()
        self._unread: dict[str, Counted] = {}
        self._missing: dict[str, Counted] = {}
        self._encrypted: dict[str, Counted] = {}
        self._forgotten: dict[str, Counted] = {}

    def at(self, time: int) -> int:
        """Run time of a row: that of the packet, never before the row behind which it stands."""
        self._last = max(self._last, min(time - self._epoch, LATEST))
        return self._last

    def remark(self, what: str, time: int, **fields: Any) -> None:
        """A note row."""
        self.dialogue.record.remark(what, self.at(time), **fields)

    def is_broker(self, end: Endpoint) -> bool:
        """Was a broker seen there?"""
        return end in self.nodes.seen

    def open(self, client: Endpoint, broker: Endpoint, time: int) -> Line:
        """A connection is there."""
        if self.nodes.meet(broker):
            self.remark(BROKER_SEEN, time, host=str(ip_address(broker[0])), port=broker[1], node=self.nodes.seen[broker])
        self.opened += 1
        return self.dialogue.opened(self.opened, self.nodes.seen.get(broker), str(ip_address(client[0])), client[1], self.at(time))

    def answered(self, line: Line, frame: bytes, time: int) -> None:
        """An answer; what it says of the cluster's nodes counts from now on."""
        now, call = self.at(time), line.pending[0] if line.pending else None
        if call is None or call.correlation != frame[:4] or call.codec.opaque or not self.nodes.tells(call.codec.key, call.codec.version):
            self.dialogue.answered(line, frame, now)
            return
        message = self.dialogue.read_answer(call, frame, now)
        self.dialogue.answered(line, frame, now, message)
        for end in () if message is None else self.nodes.learn(call.codec.key, call.codec.version, message):
            self.remark(NODE_TOLD, time, host=str(ip_address(end[0])), port=end[1], node=self.nodes.seen[end])

    def unread(self, connection: str, count: int, why: str) -> None:
        """Bytes that are in the capture and could not be told."""
        add(self._unread, connection, count, why)

    def missing(self, connection: str, count: int) -> None:
        """Bytes that are not in it."""
        add(self._missing, connection, count)

    def forgotten(self, connection: str, why: str) -> None:
        """A connection that is followed no further."""
        add(self._forgotten, connection, 1, why)

    def encrypted(self, broker: str, told: bool) -> None:
        """A connection in TLS. `told`: to where somebody said that a broker is, or one was seen."""
        self.not_told += not told
        add(self._encrypted, broker, 1)

    @property
    def incomplete(self) -> bool:
        """Is there something that the journal should have and has not?"""
        deaf = sum(each.count for each in self._encrypted.values()) > self.not_told
        return bool(deaf or self._unread or self._missing or self._forgotten)

    def sentences(self) -> list[str]:
        """What the journal has not, each in a sentence."""
        told = []
        if self._missing:
            told.append(f"The capture misses {bytes_of(self._missing)}.")
        if self._unread:
            told.append(f"{capital(bytes_of(self._unread))} could not be read.")
        for name, each in list(self._forgotten.items())[:SHOWN]:
            told.append(f"{name} is cut: {each.why}.")
        if self._encrypted:
            count = sum(each.count for each in self._encrypted.values())
            names = ", ".join(list(self._encrypted)[:SHOWN]) + (" and others" if len(self._encrypted) > SHOWN else "")
            speak = "speaks" if count == 1 else "speak"
            told.append(f"{plural(count, 'connection')} to {names} {speak} TLS, in which nothing can be read.")
        return told


class Counted:
    """Of one connection: how many, and why the first."""

    __slots__ = ("count", "why")

    def __init__(self, why: str) -> None:
        self.count = 0
        self.why = why


def add(table: dict[str, Counted], name: str, count: int, why: str = "") -> None:
    """Count under a name; under "others" when there are too many names."""
    if name not in table and len(table) >= NAMED:
        name = "others"
    if name not in table:
        table[name] = Counted(why)
    table[name].count += count


def bytes_of(table: dict[str, Counted]) -> str:
    """12 bytes of 2 connections: 10.0.0.7:40001 -> 10.0.0.1:9092 (8: why), ..."""
    total = sum(each.count for each in table.values())
    shown = [f"{name} ({each.count}{': ' + each.why if each.why else ''})" for name, each in list(table.items())[:SHOWN]]
    more = f" and {plural(len(table) - SHOWN, 'other')}" if len(table) > SHOWN else ""
    return f"{plural(total, 'byte')} of {plural(len(table), 'connection')}: {', '.join(shown)}{more}"


def plural(count: int, noun: str) -> str:
    """1 byte, 2 bytes."""
    return f"{count} {noun}{'' if count == 1 else 's'}"


def capital(text: str) -> str:
    """As the begin of a sentence."""
    return text[:1].upper() + text[1:]
