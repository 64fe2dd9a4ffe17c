"""Captures written by hand, from what a rig's connections sent: TCP segments that tests may put in another order, lose, repeat and cut, in
every frame and file format. Made of nothing but `struct`: the reader must not be judged by the library that it reads with."""

from __future__ import annotations

from dataclasses import dataclass
from io import BytesIO
from ipaddress import ip_address
from struct import pack
from typing import Any, Final

from groupmock.clock import VirtualClock
from groupmock.journal.journal import Journal
from groupmock.journal.rows import Row
from groupmock.record.capture import Report, record_capture
from groupmock.record.dialogue import Dialogue, header
from groupmock.rig.kept_rows import KeptRows
from groupmock.rig.wire import request
from groupmock.rig.wire_rig import FIRST_PORT, Wire, WireRig
from groupmock_codec.embedded.consumer import Subscription, encode_subscription
from groupmock_codec.messages.k00_produce import PartitionProduceData, ProduceRequest, TopicProduceData
from groupmock_codec.messages.k11_join_group import JoinGroupRequest, JoinGroupRequestProtocol
from groupmock_codec.messages.k12_heartbeat import HeartbeatRequest
from groupmock_codec.messages.k13_leave_group import LeaveGroupRequest, MemberIdentity
from groupmock_codec.messages.k14_sync_group import SyncGroupRequest, SyncGroupRequestAssignment

CLIENT, BROKER = "client", "broker"
FIN, SYN, RST, PSH, ACK = 1, 2, 4, 8, 16
PORT: Final = 9092
ETHERNET, NULL, RAW, SLL, SLL2 = 1, 0, 101, 113, 276
IPV4, IPV6, VLAN, QINQ = 0x0800, 0x86DD, 0x8100, 0x88A8
EPOCH: Final = VirtualClock().epoch_ns


# -- what was said ---------------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Step:
    """One thing that a side did: "open", "send", "end", "reset"."""

    t: int
    connection: int
    side: str
    what: str
    data: bytes = b""


class TapedWire(Wire):
    """A rig's connection that writes down what passes."""

    def __init__(self, tape: list[Step]) -> None:
        super().__init__()
        self.tape = tape

    def open(self, driver: Any, number: int, node: int, host: str, port: int) -> None:
        self.number, self.now = number, driver.now
        self._step(CLIENT, "open")
        super().open(driver, number, node, host, port)

    def send(self, data: bytes) -> None:
        self._step(CLIENT, "send", data)
        super().send(data)

    def write(self, data: bytes | bytearray | memoryview) -> None:
        if not self.closed:
            self._step(BROKER, "send", bytes(data))
        super().write(data)

    def hang_up(self) -> None:
        self._step(CLIENT, "end")
        super().hang_up()

    def close(self) -> None:
        if not self.closed:
            self._step(BROKER, "end")
        super().close()

    def _step(self, side: str, what: str, data: bytes = b"") -> None:
        self.tape.append(Step(self.now(), self.number, side, what, data))


def exchange() -> tuple[list[Row], list[Step]]:
    """Two members make a group, one more connection writes a record batch of 5000 bytes, all leave. Own rows, and what was said."""
    own, tape = KeptRows(heartbeats=True, details=True), list[Step]()
    rig = WireRig.make(sinks=[own], settings={"group.initial.rebalance.delay.ms": "1000"}, topics={"t": 4})
    first, second, writer = (rig.plug(TapedWire(tape)) for _ in range(3))
    first.ask(18, 0)
    writer.ask(0, 7, produce(5000))
    ids = []
    for wire in (first, second):
        ids.append(wire.ask(11, 5, join("")).member_id)
        rig.sleep(1)
        wire.send(request(11, 5, join(ids[-1]), 77))
    rig.sleep(5000)
    for wire in (first, second):
        wire.take()
    told = [SyncGroupRequestAssignment(member_id=member, assignment=b"\0\0\0\0\0\0") for member in ids]
    second.send(request(14, 3, SyncGroupRequest(group_id="g", generation_id=1, member_id=ids[1]), 78))
    first.ask(14, 3, SyncGroupRequest(group_id="g", generation_id=1, member_id=ids[0], assignments=told))
    second.take()
    for _ in range(3):
        rig.sleep(1000)
        for wire, member in zip((first, second), ids, strict=True):
            wire.ask(12, 3, HeartbeatRequest(group_id="g", generation_id=1, member_id=member))
    for wire, member in zip((first, second), ids, strict=True):
        rig.sleep(10)
        wire.ask(13, 3, LeaveGroupRequest(group_id="g", members=[MemberIdentity(member_id=member)]))
        wire.hang_up()
    rig.sleep(10)
    writer.hang_up()
    return own.rows, tape


def join(member: str) -> JoinGroupRequest:
    """Of the group g."""
    metadata = encode_subscription(Subscription(topics=["t"]))
    protocols = [JoinGroupRequestProtocol(name="range", metadata=metadata)]
    return JoinGroupRequest(
        group_id="g",
        member_id=member,
        protocol_type="consumer",
        protocols=protocols,
        session_timeout_ms=45_000,
        rebalance_timeout_ms=60_000,
    )


def produce(size: int) -> ProduceRequest:
    """Of bytes that are no records: refused, which is an answer too."""
    partition = PartitionProduceData(index=0, records=bytes(size))
    return ProduceRequest(acks=-1, timeout_ms=1000, topic_data=[TopicProduceData(name="t", partition_data=[partition])])


# -- segments --------------------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Seg:
    """One TCP segment. `sequence` and `ack` count on beyond 2^32; `kept`: bytes of it that the snap length leaves."""

    t: int
    connection: int
    side: str
    sequence: int
    ack: int | None
    flags: int
    data: bytes = b""
    kept: int | None = None


def segments_of(tape: list[Step], starts: tuple[int, int] = (1000, 5000), mss: int = 1448) -> list[Seg]:
    """As a kernel would send it: handshakes, data in pieces, each acknowledged, FINs."""
    out: list[Seg] = []
    places: dict[int, dict[str, int]] = {}

    def put(step: Step, side: str, flags: int, data: bytes = b"") -> None:
        place = places[step.connection]
        ack = None if flags == SYN else place[BROKER if side == CLIENT else CLIENT]
        out.append(Seg(step.t, step.connection, side, place[side], ack, flags, data))
        place[side] += len(data) + bool(flags & (SYN | FIN))

    for step in tape:
        other = BROKER if step.side == CLIENT else CLIENT
        if step.what == "open":
            places[step.connection] = dict(zip((CLIENT, BROKER), starts, strict=True))
            put(step, CLIENT, SYN)
            put(step, BROKER, SYN | ACK)
            put(step, CLIENT, ACK)
        elif step.what == "send":
            for at in range(0, len(step.data), mss):
                put(step, step.side, ACK | PSH, step.data[at : at + mss])
            put(step, other, ACK)
        elif step.what == "end":
            put(step, step.side, FIN | ACK)
            put(step, other, FIN | ACK)
        else:
            put(step, step.side, RST | ACK)
    return out


# -- packets and files -----------------------------------------------------------------------------------------------------------------


def packet(seg: Seg, link: int = ETHERNET, v6: bool = False, tags: int = 0, port: int = PORT) -> tuple[int, bytes, int]:
    """(time, bytes, length on the wire) of one segment."""
    ends = {CLIENT: ("::1" if v6 else "127.0.0.1", FIRST_PORT + seg.connection), BROKER: ("::1" if v6 else "127.0.0.1", port)}
    (source, sport), (target, dport) = ends[seg.side], ends[BROKER if seg.side == CLIENT else CLIENT]
    tcp = pack(">HHIIHHHH", sport, dport, seg.sequence % 2**32, (seg.ack or 0) % 2**32, 8 << 12 | seg.flags, 512, 0, 0) + b"\1" * 12
    addresses = ip_address(source).packed + ip_address(target).packed
    body = tcp + seg.data
    if v6:
        ip = pack(">IHBB", 6 << 28, len(body), 6, 64) + addresses
    else:
        ip = pack(">BBHHHBBH", 0x45, 0, 20 + len(body), 1, 0x4000, 64, 6, 0) + addresses
    front = head(link, IPV6 if v6 else IPV4, tags)
    whole = front + ip + body
    kept = len(whole) if seg.kept is None else len(whole) - len(seg.data) + seg.kept
    return EPOCH + seg.t, whole[:kept], len(whole)


def head(link: int, kind: int, tags: int) -> bytes:
    """What stands before the IP header."""
    vlan = b"".join(pack(">HH", 5 + at, kind if at == tags - 1 else VLAN) for at in range(tags))
    outer = kind if not tags else VLAN if tags == 1 else QINQ
    return {
        ETHERNET: b"\2" * 12 + pack(">H", outer) + vlan,
        NULL: pack("<I", 30 if kind == IPV6 else 2),
        RAW: b"",
        SLL: pack(">HHH8sH", 0, 772, 6, b"", outer) + vlan,
        SLL2: pack(">HHIHBB8s", outer, 0, 1, 772, 0, 6, b"") + vlan,
    }[link]


Frames = list[tuple[int, bytes, int]]


def pcap(frames: Frames, link: int = ETHERNET, order: str = "<", nano: bool = True) -> bytes:
    """A pcap file."""
    out = pack(order + "IHHIIII", 0xA1B23C4D if nano else 0xA1B2C3D4, 2, 4, 0, 0, 262144, link)
    for t, data, length in frames:
        out += pack(order + "IIII", t // 10**9, t % 10**9 // (1 if nano else 1000), len(data), length) + data
    return out


def block(kind: int, body: bytes, order: str) -> bytes:
    """One block of a pcapng file."""
    body += bytes(-len(body) % 4)
    return pack(order + "II", kind, len(body) + 12) + body + pack(order + "I", len(body) + 12)


def pcapng(interfaces: list[tuple[int, Frames]], order: str = "<", kept: bool = False) -> bytes:
    """A pcapng file: packets of each interface (link type), its clock in ns, a comment on each and a block of names between. `kept`: in
    their order; else by time."""
    out = block(0x0A0D0D0A, pack(order + "IHHq", 0x1A2B3C4D, 1, 0, -1), order)
    for link, _ in interfaces:
        out += block(1, pack(order + "HHI", link, 0, 0) + pack(order + "HHBxxx", 9, 1, 9) + bytes(4), order)
    out += block(4, bytes(4), order)
    every = [(frame, number) for number, (_, frames) in enumerate(interfaces) for frame in frames]
    for (t, data, length), number in every if kept else sorted(every, key=lambda each: each[0][0]):
        fixed = pack(order + "IIIII", number, t >> 32, t & 0xFFFFFFFF, len(data), length)
        comment = pack(order + "HH", 1, 5) + b"hello\0\0\0" + bytes(4)
        out += block(6, fixed + data + bytes(-len(data) % 4) + comment, order)
    return out


# -- reading it back -------------------------------------------------------------------------------------------------------------------


def rows_of(file: bytes, *ports: int) -> tuple[list[Row], Report]:
    """What a capture gives."""
    kept = KeptRows(heartbeats=True, details=True)

    def begin(epoch: int) -> Dialogue:
        journal = Journal(header("capture", epoch, {}), [kept])
        journal.begin()
        return Dialogue(journal)

    report = record_capture(BytesIO(file), begin, frozenset(ports))
    return kept.rows, report


def written(segs: list[Seg], **made: Any) -> bytes:
    """A pcap file of these segments."""
    return pcap([packet(seg, **made) for seg in segs], made.get("link", ETHERNET))
