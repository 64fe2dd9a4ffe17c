"""TCP segments out of packets: IPv4 and IPv6 in Ethernet (802.1Q and 802.1ad tags, MPLS), Linux cooked, loopback and raw IP frames.

dpkt reads the headers. Its classes are told here to look for IP and, in it, for TCP alone: as they come they read whatever a packet says
it holds, IP in IP in IP a thousand deep too. Checksums are not looked at: network cards fill them in behind the capture's back.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, Final, NamedTuple

from dpkt import Error as DpktError
from dpkt import Packet as Form
from dpkt import ethernet, ip, ip6, sll, sll2, tcp

from .packets import Packet

FIN, SYN, RST, ACK = tcp.TH_FIN, tcp.TH_SYN, tcp.TH_RST, tcp.TH_ACK
FRAGMENT: Final = ip.IP_PROTO_FRAGMENT
FAMILY: Final = 4
"""Bytes of the loopback header: an address family, whose number for IPv6 every system has its own of. IP says itself what it is."""

Endpoint = tuple[bytes, int]
"""Address as it stands in the packet, port."""


class Segment(NamedTuple):
    """One TCP segment. `data`: what was captured of its `length` bytes; `ack` None: it acknowledges nothing."""

    time: int
    source: Endpoint
    target: Endpoint
    sequence: int
    ack: int | None
    flags: int
    data: bytes
    length: int


class Segments:
    """Packet by packet. What is no segment is counted: `fragments` of IP packets, `unknown` link types -> packets, `short`: the snap
    length, or a lie, cut the headers; `other`: no TCP."""

    def __init__(self) -> None:
        self.fragments = self.short = self.other = 0
        self.unknown: dict[int, int] = {}

    def of(self, packet: Packet) -> Segment | None:
        """The segment in a packet, None: there is none to be read."""
        read = LINKS.get(packet.link)
        if read is None:
            self.unknown[packet.link] = self.unknown.get(packet.link, 0) + 1
            return None
        try:
            frame = read(packet.data)
        except (DpktError, ValueError, IndexError):
            self.short += 1
            return None
        datagram = _datagram(frame)
        if datagram is None or not isinstance(datagram.data, tcp.TCP):
            self._count(datagram, packet)
            return None
        if _fragmented(datagram):
            self.fragments += 1
            return None
        return _segment(packet, datagram)

    def _count(self, datagram: Any, packet: Packet) -> None:
        if datagram is not None and _fragmented(datagram):
            self.fragments += datagram.p == ip.IP_PROTO_TCP
        elif packet.missing or (datagram is not None and datagram.p == ip.IP_PROTO_TCP):
            self.short += 1
        else:
            self.other += 1


def _datagram(frame: Any) -> Any:
    """The IP packet in a frame: the frame itself, or what stands in it."""
    while not isinstance(frame, ip.IP | ip6.IP6):
        frame = getattr(frame, "data", None)
        if not isinstance(frame, Form):
            return None
    return frame


def _fragmented(datagram: Any) -> bool:
    if isinstance(datagram, ip.IP):
        return bool(datagram.mf or datagram.offset)
    return FRAGMENT in datagram.extension_hdrs


def _segment(packet: Packet, datagram: Any) -> Segment:
    segment = datagram.data
    # What the snap length cut off counts: the sequence numbers go on behind it.
    length = max(len(segment.data), _room(datagram) - 4 * segment.off)
    ack = segment.ack if segment.flags & ACK else None
    source, target = (datagram.src, segment.sport), (datagram.dst, segment.dport)
    return Segment(packet.time, source, target, segment.seq, ack, segment.flags, segment.data, length)


def _room(datagram: Any) -> int:
    """Bytes of the whole TCP segment by the IP header; 0 where a network card that segments itself left the length out."""
    if isinstance(datagram, ip.IP):
        return int(datagram.len) - 4 * int(datagram.hl)
    return int(datagram.plen) - sum(int(header.length) for header in datagram.all_extension_headers)


class Ip4(ip.IP):  # type: ignore[misc]
    """An IPv4 packet, read if TCP is in it."""

    _protosw: ClassVar = {ip.IP_PROTO_TCP: tcp.TCP}


class Ip6(ip6.IP6):  # type: ignore[misc]
    """An IPv6 packet, read if TCP is in it."""

    _protosw: ClassVar = {ip.IP_PROTO_TCP: tcp.TCP}


class Frame(ethernet.Ethernet):  # type: ignore[misc]
    """An Ethernet frame, read if IP is in it."""

    _typesw: ClassVar = {ethernet.ETH_TYPE_IP: Ip4, ethernet.ETH_TYPE_IP6: Ip6}
    _typesw_rev: ClassVar[dict[type, int]] = {}


class Tagged(ethernet.VLANtag8021Q):  # type: ignore[misc]
    """A VLAN tag where dpkt expects none, in Linux cooked frames, and what stands behind it."""

    def unpack(self, buf: bytes) -> None:
        """dpkt's."""
        super().unpack(buf)
        if self.type in Frame._typesw:
            self.data = Frame._typesw[self.type](buf[self.__hdr_len__ :])


COOKED: Final = {**Frame._typesw, ethernet.ETH_TYPE_8021Q: Tagged, ethernet.ETH_TYPE_8021AD: Tagged}


class Cooked(sll.SLL):  # type: ignore[misc]
    """A frame of Linux's "any" interface, read if IP is in it."""

    _typesw: ClassVar = COOKED


class Cooked2(sll2.SLL2):  # type: ignore[misc]
    """The same of newer captures."""

    _typesw: ClassVar = COOKED


def raw(data: bytes) -> Any:
    """IP without a frame. Raises dpkt.Error, IndexError."""
    return (Ip6 if data[0] >> 4 == 6 else Ip4)(data)


def loopback(data: bytes) -> Any:
    """BSD's loopback, old and new."""
    return raw(data[FAMILY:])


LINKS: Final[dict[int, Callable[[bytes], Any]]] = {
    0: loopback,  # NULL
    1: Frame,  # ETHERNET
    12: raw,  # RAW as some systems number it, and 14
    14: raw,
    101: raw,  # RAW
    108: loopback,  # LOOP
    113: Cooked,  # LINUX_SLL
    228: raw,  # IPV4
    229: raw,  # IPV6
    276: Cooked2,  # LINUX_SLL2
}
"""Number of the link type (https://www.tcpdump.org/linktypes.html) -> what reads its frames."""
