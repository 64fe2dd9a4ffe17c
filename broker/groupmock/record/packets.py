"""A capture file's packets, one after another: pcap and pcapng, each in both byte orders, with the times that the capture gave them.

dpkt knows the formats; the walk over the file is ours. dpkt's own readers give times as floating point numbers (200 ns off by now), know
one interface of a pcapng file (`dumpcap -i lo -i eth0` writes two, each with its own link type and clock), end without a word where the
file is cut, and read as many bytes at once as a broken length says.

https://ietf-opsawg-wg.github.io/draft-ietf-opsawg-pcap/draft-ietf-opsawg-pcap.html,
https://ietf-opsawg-wg.github.io/draft-ietf-opsawg-pcap/draft-ietf-opsawg-pcapng.html
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import IO, Any, Final, NamedTuple

from dpkt import Error as DpktError
from dpkt import pcap, pcapng

NS: Final = 1_000_000_000
BLOCK_BYTES: Final = 1 << 20
"""A packet has 262,144 bytes at most (MAXIMUM_SNAPLEN of libpcap); a longer block that holds one is a lie."""
OPTION_BYTES: Final = 1 << 14
"""Of an interface's description: to read options takes dpkt the square of their bytes."""
INTERFACES: Final = 4096
"""Of one section."""
LINK_TYPE: Final = 0xFFFF
"""The bits of pcap's link type field that are the type; above them stands what is known of the frame's checksum."""
SECTION: Final = pcapng.PCAPNG_BT_SHB.to_bytes(4, "big")
MICROSECONDS: Final = 6
"""10^-6 s: pcapng's resolution where an interface says none."""
NANO: Final = (pcap.TCPDUMP_MAGIC_NANO, pcap.PMUDPCT_MAGIC_NANO)
CUT: Final = "the file ends in the middle of packet {number}"
TOO_LONG: Final = "packet {number} says it has {length} bytes, which none has: the rest of the file cannot be read"


class NotACapture(ValueError):
    """The file is neither pcap nor pcapng; the text says why."""


class Packet(NamedTuple):
    """One packet. `time`: ns since 1970; `link`: number of the link type (https://www.tcpdump.org/linktypes.html); `missing`: bytes that
    the snap length cut off."""

    time: int
    link: int
    data: bytes
    missing: int


class Clock(NamedTuple):
    """Of a pcapng interface: its link type, ticks of its clock in a second, what is to be added, in seconds."""

    link: int
    ticks: int
    offset: int


class Broken(Exception):
    """The file cannot be read from here on; the text says why."""


class Packets:
    """Iterate over it, once. After that: `broken`, a sentence where the file could not be read to its end; `timeless`: packets of pcapng's
    simple blocks, which have no time and are left out. Raises NotACapture at once."""

    def __init__(self, source: IO[bytes]) -> None:
        self._source = source
        self.count = 0
        self.broken: str | None = None
        self.timeless = 0
        start = source.read(4)
        if start == SECTION:
            self._packets = self._of_pcapng(start)
        else:
            self._packets = self._of_pcap(start)

    def __iter__(self) -> Iterator[Packet]:
        try:
            for packet in self._packets:
                self.count += 1
                yield packet
        except Broken as why:
            self.broken = str(why)

    def _exactly(self, size: int) -> bytes:
        if size > BLOCK_BYTES:
            raise Broken(TOO_LONG.format(number=self.count + 1, length=size))
        data = self._source.read(size)
        while len(data) < size and (more := self._source.read(size - len(data))):
            data += more  # of a pipe
        if len(data) < size:
            raise Broken(CUT.format(number=self.count + 1))
        return data

    # pcap

    def _of_pcap(self, start: bytes) -> Iterator[Packet]:
        magic = int.from_bytes(start, "big")
        form = pcap.MAGIC_TO_PKT_HDR.get(magic) if len(start) == 4 else None
        if form is None:
            raise NotACapture("it begins with none of the numbers that pcap and pcapng files begin with")
        little = form.__hdr_fmt__[0] == "<"
        try:
            head = (pcap.LEFileHdr if little else pcap.FileHdr)(start + self._exactly(pcap.FileHdr.__hdr_len__ - 4))
        except Broken:
            raise NotACapture("it ends in the middle of the header of a pcap file") from None
        return self._records(form, int(head.linktype) & LINK_TYPE, 1 if magic in NANO else 1000)

    def _records(self, form: Any, link: int, unit: int) -> Iterator[Packet]:
        while first := self._source.read(1):
            head = form(first + self._exactly(form.__hdr_len__ - 1))
            data = self._exactly(head.caplen)
            yield Packet(head.tv_sec * NS + head.tv_usec * unit, link, data, max(0, head.len - head.caplen))

    # pcapng

    def _of_pcapng(self, start: bytes) -> Iterator[Packet]:
        try:
            order = self._section(start + self._exactly(4))
        except Broken:
            raise NotACapture("it begins as a pcapng file and ends, or goes wrong, in its first block") from None
        return self._blocks(order)

    def _section(self, start: bytes) -> str:
        """The byte order of the section that begins with these eight bytes."""
        mark = self._exactly(4)
        order = "<" if int.from_bytes(mark, "little") == pcapng.BYTE_ORDER_MAGIC else ">"
        if order == ">" and int.from_bytes(mark, "big") != pcapng.BYTE_ORDER_MAGIC:
            raise Broken("a section of the file has no byte order")
        self._skip(number(start[4:], order) - 12)
        return order

    def _blocks(self, order: str) -> Iterator[Packet]:
        interfaces: list[Clock] = []
        while first := self._source.read(1):
            start = first + self._exactly(7)
            kind, length = number(start[:4], order), number(start[4:], order)
            if start[:4] == SECTION:
                order, interfaces = self._section(start), []
            elif kind == pcapng.PCAPNG_BT_IDB:
                if len(interfaces) == INTERFACES:
                    raise Broken(f"a section of the file has more than {INTERFACES} interfaces")
                interfaces.append(self._interface(start, length, order))
            elif kind in (pcapng.PCAPNG_BT_EPB, pcapng.PCAPNG_BT_PB):
                yield self._packet(kind, start + self._exactly(self._rest(length)), order, interfaces)
            else:
                self.timeless += kind == pcapng.PCAPNG_BT_SPB
                self._skip(self._rest(length))

    def _rest(self, length: int) -> int:
        """Of a block of that length, without the eight bytes that were read."""
        if length < 12 or length % 4:
            raise Broken(f"behind packet {self.count} stands a block of {length} bytes, which none has: the rest cannot be read")
        return length - 8

    def _skip(self, size: int) -> None:
        while size > 0:
            size -= len(self._exactly(min(size, BLOCK_BYTES)))

    def _interface(self, start: bytes, length: int, order: str) -> Clock:
        if length > OPTION_BYTES:
            raise Broken(f"the description of an interface has {length} bytes: the rest of the file cannot be read")
        form = pcapng.InterfaceDescriptionBlockLE if order == "<" else pcapng.InterfaceDescriptionBlock
        try:
            block = form(start + self._exactly(self._rest(length)))
        except (DpktError, ValueError) as wrong:
            raise Broken(f"the description of an interface cannot be read: {wrong}") from None
        options = {option.code: bytes(option.data) for option in block.opts}
        resolution = (options.get(pcapng.PCAPNG_OPT_IF_TSRESOL) or bytes([MICROSECONDS]))[0]
        ticks = (2 if resolution & 0x80 else 10) ** (resolution & 0x7F)
        offset = int.from_bytes(options.get(pcapng.PCAPNG_OPT_IF_TSOFFSET, b"")[:8], "little" if order == "<" else "big", signed=True)
        return Clock(block.linktype, ticks, offset)

    def _packet(self, kind: int, block: bytes, order: str, interfaces: list[Clock]) -> Packet:
        head = PACKET_BLOCKS[kind, order]()
        if len(block) < head.__hdr_len__:
            raise Broken(CUT.format(number=self.count + 1))
        head.unpack_hdr(block)
        if head.iface_id >= len(interfaces):
            raise Broken(f"packet {self.count + 1} came on interface {head.iface_id}, which the file does not describe")
        link, ticks, offset = interfaces[head.iface_id]
        begin = head.__hdr_len__ - 4  # in dpkt's header stands the length that comes last, behind the packet
        if head.caplen > len(block) - head.__hdr_len__:
            raise Broken(TOO_LONG.format(number=self.count + 1, length=head.caplen))
        time = ((head.ts_high << 32 | head.ts_low) * NS) // ticks + offset * NS
        return Packet(time, link, block[begin : begin + head.caplen], max(0, head.pkt_len - head.caplen))


PACKET_BLOCKS: Final = {
    (pcapng.PCAPNG_BT_EPB, "<"): pcapng.EnhancedPacketBlockLE,
    (pcapng.PCAPNG_BT_EPB, ">"): pcapng.EnhancedPacketBlock,
    (pcapng.PCAPNG_BT_PB, "<"): pcapng.PacketBlockLE,
    (pcapng.PCAPNG_BT_PB, ">"): pcapng.PacketBlock,
}


def number(data: bytes, order: str) -> int:
    """Of a block: its bytes as the section has them."""
    return int.from_bytes(data, "little" if order == "<" else "big")
