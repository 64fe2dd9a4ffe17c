"""Files that are no captures, are cut, or lie: a sentence, never a crash, never memory; and packets that hold no segment."""

from __future__ import annotations

from io import BytesIO
from struct import pack
from typing import Any

import capture_pen as pen
import pytest
from capture_pen import BROKER, CLIENT, PORT, SYN, Seg, packet, pcap, pcapng, rows_of, segments_of, written
from hypothesis import given
from hypothesis import strategies as st
from searching import examples

from groupmock.record import capture as reader
from groupmock.record.dialogue import Dialogue
from groupmock.record.packets import NotACapture, Packets
from groupmock.record.segments import Segments
from groupmock.rig.wire import request


def talk(*sent: tuple[str, bytes], connection: int = 1) -> list[Seg]:
    said = (pen.Step(at, connection, side, "send", data) for at, (side, data) in enumerate(sent))
    return segments_of([pen.Step(0, connection, CLIENT, "open"), *said])


ASK = request(12, 0, None, 1)
FRAMES = [packet(seg) for seg in talk((CLIENT, ASK))]


def sentences(file: bytes, *ports: int) -> list[str]:
    return rows_of(file, *ports)[1].sentences


@pytest.mark.parametrize(
    ("file", "why"),
    [
        (b"", "it begins with none of the numbers that pcap and pcapng files begin with"),
        (b"\xd4\xc3\xb2", "it begins with none of the numbers that pcap and pcapng files begin with"),
        (b'{"v":1}\n', "it begins with none of the numbers that pcap and pcapng files begin with"),
        (pcap([])[:20], "it ends in the middle of the header of a pcap file"),
        (pcapng([])[:20], "it begins as a pcapng file and ends, or goes wrong, in its first block"),
        (pcapng([])[:8] + bytes(20), "it begins as a pcapng file and ends, or goes wrong, in its first block"),
    ],
    ids=["empty", "three bytes", "a journal", "half a pcap header", "half a pcapng block", "no byte order"],
)
def test_what_is_no_capture_is_told_from_one_before_any_row_is_written(file: bytes, why: str) -> None:
    def begin(epoch: int) -> Dialogue:
        raise AssertionError("a journal was begun")

    with pytest.raises(NotACapture, match=f"^{why}$"):
        reader.record_capture(BytesIO(file), begin)


@pytest.mark.parametrize("file", [pcap([]), pcapng([(1, [])])], ids=["pcap", "pcapng"])
def test_a_capture_of_nothing_has_no_connection(file: bytes) -> None:
    rows, report = rows_of(file, PORT)
    assert ([type(row).__name__ for row in rows], report.incomplete) == (["NoteRow"], True)
    assert report.sentences == ["No connection of Kafka's was found in 0 packets."]


@pytest.mark.parametrize("file", [pcap(FRAMES), pcapng([(1, FRAMES)])], ids=["pcap", "pcapng"])
def test_a_file_that_is_cut_is_read_up_to_there(file: bytes) -> None:
    report = rows_of(file[:-5], PORT)[1]
    assert report.sentences[0] == f"The file ends in the middle of packet {len(FRAMES)}."
    assert (report.connections, report.incomplete) == (1, True)


IDB = pen.block(1, pack("<HHI", 1, 0, 0), "<")
SECTION = pcapng([])


def epb(interface: int, length: int) -> bytes:
    return pen.block(6, pack("<IIIII", interface, 0, 0, length, length), "<")


@pytest.mark.parametrize(
    ("file", "told"),
    [
        (pcap([]) + pack("<IIII", 0, 0, 2**31, 2**31) + bytes(99), "Packet 1 says it has 2147483648 bytes, which none has"),
        (SECTION + IDB + epb(0, 2**31), "Packet 1 says it has 2147483648 bytes, which none has"),
        (SECTION + IDB + epb(7, 0), "Packet 1 came on interface 7, which the file does not describe"),
        (SECTION + IDB + pack("<II", 6, 2**31) + bytes(99), "Packet 1 says it has 2147483640 bytes, which none has"),
        (SECTION + IDB + pack("<II", 9, 8) + bytes(99), "Behind packet 0 stands a block of 8 bytes, which none has"),
        (SECTION + pack("<II", 1, 2**20) + bytes(99), "The description of an interface has 1048576 bytes"),
        (SECTION + IDB * 5000, "A section of the file has more than 4096 interfaces"),
        (SECTION + pack("<II", 9, 2**31) + bytes(99), "The file ends in the middle of packet 1"),
        (SECTION + SECTION[:8] + bytes(20), "A section of the file has no byte order"),
    ],
    ids=["pcap", "in a block", "interface", "block", "short block", "options", "interfaces", "skipped", "section"],
)
def test_lengths_and_numbers_that_lie_end_the_reading(file: bytes, told: str) -> None:
    assert sentences(file)[0].startswith(told)


@pytest.mark.parametrize(("resolution", "tick"), [(3, 10**6), (6, 10**3), (9, 1), (0x80 | 10, 10**9 / 1024)])
def test_times_are_exact_in_any_resolution(resolution: int, tick: float) -> None:
    options = pack("<HHBxxx", 9, 1, resolution) + pack("<HHq", 14, 8, 5) + bytes(4)
    ticks = 1_700_000_000_000_000_123
    body = pack("<IIIII", 0, ticks >> 32, ticks & 0xFFFFFFFF, 4, 4) + bytes(4)
    file = SECTION + pen.block(1, pack("<HHI", 1, 0, 0) + options, "<") + pen.block(6, body, "<")
    (found,) = Packets(BytesIO(file))
    seconds = {3: 1000, 6: 10**6, 9: 10**9, 0x8A: 1024}[resolution]
    assert found.time == ticks * 10**9 // seconds + 5 * 10**9


def test_packets_without_a_time_are_counted() -> None:
    simple = pen.block(3, pack("<I", 4) + bytes(4), "<")
    assert sentences(SECTION + IDB + simple * 2)[0] == "2 packets without a time (pcapng's simple blocks) are left out."


def test_packets_of_links_that_nobody_reads_are_counted() -> None:
    report = rows_of(pcap(FRAMES, link=127), PORT)[1]
    assert report.sentences[0] == f"{len(FRAMES)} packets of link type 127 cannot be read."


def test_fragments_of_ip_packets_are_counted() -> None:
    t, data, length = FRAMES[-1]
    pieces = [(t, data[:20] + pack(">H", flags) + data[22:], length) for flags in (0x2000, 0x0003)]
    told = sentences(pcap([*FRAMES[:3], *pieces]), PORT)
    assert told[0] == "2 fragments of IP packets are left out."


def test_headers_that_the_snap_length_cut_are_counted() -> None:
    short = [(t, data[:40], length) for t, data, length in FRAMES]
    assert sentences(pcap(short), PORT)[0] == f"Of {len(FRAMES)} packets the headers are cut: capture whole packets (tcpdump -s 0)."


def test_packets_within_packets_are_not_followed() -> None:
    """IP in IP, as deep as a packet can be: recursion would end the reading."""
    deep, size = b"", 65_000
    while size >= 20:
        deep += pack(">BBHHHBBH4s4s", 0x45, 0, size, 0, 0, 64, 4, 0, bytes(4), bytes(4))
        size -= 20
    frame = pen.head(pen.ETHERNET, pen.IPV4, 0) + deep
    assert rows_of(pcap([(0, frame, len(frame)), *FRAMES]), PORT)[1].connections == 1


def test_padding_behind_a_short_packet_is_no_data() -> None:
    padded = [(t, data.ljust(90, b"\0"), max(length, 90)) for t, data, length in FRAMES]
    rows, report = rows_of(pcap(padded), PORT)
    assert (len(rows), report.sentences) == (len(rows_of(pcap(FRAMES), PORT)[0]), [])


def test_the_length_that_a_card_which_segments_itself_left_out_is_that_of_the_packet() -> None:
    offloaded = [(t, data[:16] + b"\0\0" + data[18:], length) for t, data, length in FRAMES]
    assert len(rows_of(pcap(offloaded), PORT)[0]) == len(rows_of(pcap(FRAMES), PORT)[0])


@pytest.mark.property
@examples(150)
@given(st.data())
def test_bytes_that_chance_has_changed_are_told_or_refused_and_nothing_else(data: st.DataObject) -> None:
    whole = [packet(seg) for seg in talk((CLIENT, ASK), (BROKER, b"\0\0\0\x06\0\0\0\x01\0\0"), (CLIENT, request(18, 0, None, 2)))]
    file = bytearray(data.draw(st.sampled_from([pcap(whole), pcapng([(1, whole)], ">"), pcap(whole, order=">")]), "file"))
    for at in data.draw(st.lists(st.integers(0, len(file) - 1), min_size=1, max_size=8), "at"):
        file[at] = data.draw(st.integers(0, 255), "byte")
    try:
        rows, report = rows_of(bytes(file), *data.draw(st.sampled_from([(), (PORT,)]), "ports"))
    except NotACapture:
        return
    times = [row.t for row in rows]
    assert times == sorted(times) and (report.connections > 0 or report.incomplete)


# -- bounds


def held(monkeypatch: pytest.MonkeyPatch, **bounds: int) -> None:
    for name, value in bounds.items():
        monkeypatch.setattr(reader, name, value)


class Counting(reader.Capture):
    """Keeps the largest sizes that its tables had."""

    most: dict[str, int]

    def take(self, packet: Any) -> None:
        super().take(packet)
        sizes = {"known": len(self._known), "strangers": len(self._strangers), "waiting": len(self._waiting), "held": self._held}
        self.most = {name: max(size, getattr(self, "most", {}).get(name, 0)) for name, size in sizes.items()}


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[Counting]:
    """The readers that a test had made."""
    found: list[Counting] = []

    def make(*given: Any) -> Counting:
        found.append(Counting(*given))
        return found[-1]

    monkeypatch.setattr(reader, "Capture", make)
    return found


def test_syns_without_end_cost_a_bounded_table_and_push_out_nobody(monkeypatch: pytest.MonkeyPatch, made: list[Counting]) -> None:
    held(monkeypatch, STRANGERS=50, CONNECTIONS=5)
    flood = [Seg(1, number, CLIENT, 7, None, SYN) for number in range(2, 2000)]
    whole = talk((CLIENT, ASK), (BROKER, b"\0\0\0\x06\0\0\0\x01\0\0"))
    report = rows_of(written([*whole[:6], *flood, *whole[6:]]), PORT)[1]
    assert (made[0].most["known"], made[0].most["strangers"], report.connections, report.sentences) == (1, 50, 1, [])


def test_bytes_out_of_nowhere_without_end_cost_a_bounded_table(monkeypatch: pytest.MonkeyPatch, made: list[Counting]) -> None:
    held(monkeypatch, STRANGERS=50, CONNECTIONS=5, ALARMS=100)
    rows_of(written([Seg(1, number, CLIENT, 7, 9, pen.ACK, bytes(100)) for number in range(2, 2000)]), PORT)
    assert (made[0].most["strangers"], made[0].most["waiting"] <= 101, made[0].most["held"]) == (50, True, 5000)


def test_more_connections_than_are_kept_cut_the_one_that_was_silent_for_longest(monkeypatch: pytest.MonkeyPatch) -> None:
    held(monkeypatch, CONNECTIONS=2)
    report = rows_of(written([seg for number in (1, 2, 3) for seg in talk((CLIENT, ASK), connection=number)]), PORT)[1]
    assert report.sentences == [f"127.0.0.1:40001 -> 127.0.0.1:9092 is cut: {reader.TOO_MANY}."]
    assert report.incomplete


def test_frames_that_are_not_whole_have_a_bound_together(monkeypatch: pytest.MonkeyPatch) -> None:
    held(monkeypatch, HELD=10_000)
    large = (90_000_000).to_bytes(4, "big") + ASK[4:] + bytes(6000)
    report = rows_of(written([seg for number in (1, 2) for seg in talk((CLIENT, large), connection=number)]), PORT)[1]
    assert f"127.0.0.1:40002 -> 127.0.0.1:9092 is cut: {reader.TOO_MUCH}." in report.sentences


def test_a_client_that_never_gets_an_answer_is_not_kept_without_end() -> None:
    many = [(CLIENT, request(12, 0, None, number)) for number in range(1, 1200)]
    report = rows_of(written(talk(*many)), PORT)[1]
    assert "more requests without an answer than are kept" in report.sentences[0]


def test_segments_say_what_they_counted() -> None:
    segments = Segments()
    udp = bytearray(FRAMES[0][1])
    udp[23] = 17
    for data in (bytes(udp), FRAMES[0][1]):
        segments.of(next(iter(Packets(BytesIO(pcap([(0, data, len(data))]))))))
    assert (segments.other, segments.short, segments.fragments, segments.unknown) == (1, 0, 0, {})


def test_time_that_goes_back_or_far_ahead_does_not_in_rows() -> None:
    whole = talk((CLIENT, ASK), (BROKER, b"\0\0\0\x06\0\0\0\x01\0\0"))
    times = [10**9, 5, 10**9, 0, 9 * 10**18, 7, 0]
    file = pcapng([(1, [(pen.EPOCH + t, *packet(seg)[1:]) for seg, t in zip(whole, times, strict=True)])], kept=True)
    rows, report = rows_of(file, PORT)
    found = [row.t for row in rows]
    assert (found, report.connections, max(found) < 2**63) == (sorted(found), 1, True)
