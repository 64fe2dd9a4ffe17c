"""A capture of an exchange gives the rows that the server wrote of it; what is not in it, or cannot be read, is said and never guessed."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

import capture_pen as pen
import pytest
from capture_pen import ACK, BROKER, CLIENT, PORT, RST, SYN, Seg, packet, pcap, pcapng, rows_of, segments_of, written
from hypothesis import given
from hypothesis import strategies as st
from same_rows import WIRE, by_client, plain
from searching import examples

from groupmock.journal.rows import CloseRow, NoteRow, OpenRow, ReplyRow, RequestRow, Row
from groupmock.record.capture import Report
from groupmock.record.known_nodes import KnownNodes
from groupmock.rig.wire import framed, request
from groupmock_codec import APIS
from groupmock_codec.messages.k03_metadata import MetadataResponse, MetadataResponseBroker
from groupmock_codec.messages.k12_heartbeat import HeartbeatRequest

WHOLE: Any = ([], False)
"""Nothing to say, and complete."""


@cache
def said() -> tuple[tuple[Row, ...], tuple[pen.Step, ...]]:
    own, tape = pen.exchange()
    return tuple(row for row in own if isinstance(row, WIRE)), tuple(tape)


def segments(**made: Any) -> list[Seg]:
    return segments_of(list(said()[1]), **made)


def wire_rows(rows: list[Row]) -> list[dict[str, Any]]:
    """Open, request, reply and close rows, but for their number and the node, which a capture is told by the way."""
    return [plain(row, "seq", "node") for row in rows if isinstance(row, WIRE)]


def notes(rows: list[Row]) -> list[tuple[str, dict[str, Any]]]:
    return [(row.what, row.fields) for row in rows if isinstance(row, NoteRow)][1:-1]  # without the broker's and the end's


def result(report: Report) -> tuple[list[str], bool]:
    return report.sentences, report.incomplete


# -- the same rows


EVERY_LINK: Any = [
    {}, {"v6": True}, {"tags": 1}, {"tags": 2}, {"link": pen.NULL}, {"link": pen.NULL, "v6": True}, {"link": pen.RAW},
    {"link": pen.RAW, "v6": True}, {"link": pen.SLL}, {"link": pen.SLL, "tags": 1}, {"link": pen.SLL2}, {"link": pen.SLL2, "v6": True},
]  # fmt: skip


@pytest.mark.parametrize("made", EVERY_LINK, ids=str)
def test_a_capture_gives_the_rows_that_the_server_wrote_with_their_times(made: dict[str, Any]) -> None:
    rows, report = rows_of(written(segments(), **made), PORT)
    host = "/0:0:0:0:0:0:0:1" if made.get("v6") else "/127.0.0.1"
    expected = [{**row, "client_host": host} if "client_host" in row else row for row in wire_rows(list(said()[0]))]
    assert (wire_rows(rows), result(report)) == (expected, WHOLE)


def test_a_broker_that_nobody_told_of_is_known_by_the_first_request() -> None:
    rows, report = rows_of(written(segments()))
    assert (by_client(rows), result(report)) == (by_client(list(said()[0])), WHOLE)


@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize("kind", ["pcap", "pcap in microseconds", "pcapng", "pcapng of two interfaces"])
def test_every_file_format_gives_the_same(kind: str, order: str) -> None:
    whole = segments()
    frames = [packet(seg) for seg in whole]
    half = [packet(seg, link=pen.SLL2) for seg in whole if seg.connection == 2], [packet(seg) for seg in whole if seg.connection != 2]
    file = {
        "pcap": lambda: pcap(frames, order=order),
        "pcap in microseconds": lambda: pcap(frames, order=order, nano=False),
        "pcapng": lambda: pcapng([(pen.ETHERNET, frames)], order),
        "pcapng of two interfaces": lambda: pcapng([(pen.SLL2, half[0]), (pen.ETHERNET, half[1])], order),
    }[kind]()
    rows, report = rows_of(file, PORT)
    assert (by_client(rows), result(report)) == (by_client(list(said()[0])), WHOLE)


@pytest.mark.parametrize("starts", [(2**32 - 1, 2**32 - 1), (2**32 - 300, 2**32 - 100), (2**31 - 200, 2**31 - 50), (0, 0)], ids=str)
def test_sequence_numbers_that_wrap_around_change_nothing(starts: tuple[int, int]) -> None:
    rows, report = rows_of(written(segments(starts=starts)), PORT)
    assert (wire_rows(rows), result(report)) == (wire_rows(list(said()[0])), WHOLE)


@pytest.mark.property
@examples(60)
@given(st.data())
def test_segments_in_any_order_and_any_number_of_times_give_the_same(data: st.DataObject) -> None:
    mss = data.draw(st.sampled_from([1, 7, 100, 1448]), "mss") if data.draw(st.booleans(), "small") else 1448
    whole = segments(starts=(2**32 - 150, 2**32 - 90), mss=max(mss, 7))
    window = data.draw(st.integers(1, 24), "window")
    late = data.draw(st.lists(st.integers(0, window), min_size=len(whole), max_size=len(whole)), "late")
    again = data.draw(st.lists(st.tuples(st.integers(0, len(whole) - 1), st.integers(0, window)), max_size=20), "again")
    order = sorted([*((at + each, at) for at, each in enumerate(late)), *((at + each, at) for at, each in again)])
    # Times are those of the places in the file, as of a capture that stamps what it takes out of its queues.
    shuffled = [replace(whole[at], t=number * 1000) for number, (_, at) in enumerate(order)]
    rows, report = rows_of(written(shuffled), PORT)
    assert (by_client(rows), result(report)) == (by_client(list(said()[0])), WHOLE)


@pytest.mark.property
@examples(80)
@given(st.data())
def test_whatever_is_lost_what_is_told_was_said_in_that_order(data: st.DataObject) -> None:
    """Packets, their ends, or all of one side: rows may lack, none is invented, and where one lacks between others it is said."""
    whole = segments(mss=data.draw(st.sampled_from([40, 1448]), "mss"))
    lost = data.draw(st.sets(st.integers(0, len(whole) - 1), max_size=12), "lost")
    cut = data.draw(st.sets(st.integers(0, len(whole) - 1), max_size=3), "cut")
    begin = data.draw(st.integers(0, len(whole) // 2), "begin")
    some = [replace(seg, kept=len(seg.data) // 2) if at in cut else seg for at, seg in enumerate(whole) if at not in lost and at >= begin]
    rows, report = rows_of(written(some), *data.draw(st.sampled_from([(), (PORT,)]), "ports"))
    # Whose assignments these are is in a JoinGroup that may be lost: then they are shown as bytes.
    truth = by_client(list(said()[0]), "embedded")
    for port, told in by_client(rows, "embedded").items():
        there, heard = ([row for row in each if row["kind"] in ("request", "reply")] for each in (truth[port], told))
        rest = iter(there)
        assert all(row in rest for row in heard)
        if not report.incomplete and heard:
            first = there.index(heard[0])
            assert heard == there[first : first + len(heard)]


def test_bytes_that_come_again_in_other_pieces_come_once() -> None:
    out = []
    for seg in segments():
        out.append(seg)
        if len(seg.data) > 10:  # the whole and its second half again, and beyond it nothing new
            out += [replace(seg, sequence=seg.sequence + 5, data=seg.data[5:]), seg]
    rows, report = rows_of(written(out), PORT)
    assert (wire_rows(rows), result(report)) == (wire_rows(list(said()[0])), WHOLE)


def test_a_spurious_repetition_that_knows_more_than_its_bytes_is_no_circle() -> None:
    """The request's first transmission is not in the capture, its repetition acknowledges the answer to it already."""
    whole = segments()
    at = next(place for place, seg in enumerate(whole) if seg.side == CLIENT and seg.data)
    answer = next(seg for seg in whole[at:] if seg.side == BROKER and seg.data)
    again = replace(whole[at], ack=answer.sequence + len(answer.data), t=answer.t + 1)
    place = whole.index(answer) + 1
    rows, report = rows_of(written([*whole[:at], *whole[at + 1 : place], again, *whole[place:]]), PORT)
    assert (by_client(rows), result(report)) == (by_client(list(said()[0])), WHOLE)


def test_which_node_a_broker_is_is_told_by_its_own_answers() -> None:
    metadata = MetadataResponse(brokers=[MetadataResponseBroker(node_id=7, host="127.0.0.1", port=PORT)])
    asked = [(CLIENT, request(3, 0, None, 1)), (BROKER, framed((1).to_bytes(4, "big") + APIS[3].response.encode(0, metadata)))]
    rows, report = rows_of(written(one(*asked, (CLIENT, beat(2)), (BROKER, beaten(2)))), PORT)
    assert [row.node for row in rows if isinstance(row, WIRE)] == [None, None, None, 7, 7, 7]
    assert [(row.what, row.fields) for row in rows if isinstance(row, NoteRow)][:2] == [
        ("a broker of the capture", {"host": "127.0.0.1", "port": PORT, "node": None}),
        ("the cluster told which node a broker of the capture is", {"host": "127.0.0.1", "port": PORT, "node": 7}),
    ]
    assert result(report) == WHOLE


def test_a_name_is_an_address_where_its_port_is_that_of_one_node() -> None:
    def told(*ports: int) -> KnownNodes:
        nodes = KnownNodes()
        nodes.meet((b"\x0a\0\0\1", PORT))
        brokers = [MetadataResponseBroker(node_id=at, host=f"kafka-{at}", port=port) for at, port in enumerate(ports, 1)]
        nodes.learn(3, 0, MetadataResponse(brokers=brokers))
        return nodes

    assert list(told(9091, PORT).seen.values()) == [2]
    assert list(told(PORT, PORT).seen.values()) == [None]


# -- what is not there


def one(*frames: tuple[str, bytes], **made: Any) -> list[Seg]:
    """One connection: its SYNs, these bytes in turn, FINs."""
    steps = [pen.Step(0, 1, CLIENT, "open")]
    steps += [pen.Step(1_000_000 * at, 1, side, "send", data) for at, (side, data) in enumerate(frames, 1)]
    return segments_of([*steps, pen.Step(10**9, 1, CLIENT, "end")], **made)


def beat(correlation: int) -> bytes:
    return request(12, 0, None, correlation)


def beaten(correlation: int) -> bytes:
    return (6).to_bytes(4, "big") + correlation.to_bytes(4, "big") + bytes(2)


def beats(count: int) -> list[tuple[str, bytes]]:
    return [each for at in range(1, count + 1) for each in ((CLIENT, beat(at)), (BROKER, beaten(at)))]


def pairs(rows: list[Row]) -> list[tuple[str, int]]:
    """kind, connection and correlation id of what was said."""
    short = {OpenRow: "open", RequestRow: "ask", ReplyRow: "answer", CloseRow: "close"}
    return [(f"{short[type(row)]}{row.connection}", getattr(row, "correlation_id", 0)) for row in rows if isinstance(row, WIRE)]


def without(segs: list[Seg], *data: bytes) -> list[Seg]:
    """The segments that carry none of these."""
    return [seg for seg in segs if seg.data not in data]


BEAT = len(beat(1))


def test_a_request_that_is_missing_cuts_the_dialogue_which_goes_on_as_a_new_connection() -> None:
    rows, report = rows_of(written(without(one(*beats(4)), beat(2))), PORT)
    said_rows = [("open1", 0), ("ask1", 1), ("answer1", 1), ("close1", 0), ("open2", 0), ("ask2", 3), ("answer2", 3), ("ask2", 4)]
    assert pairs(rows) == [*said_rows, ("answer2", 4), ("close2", 0)]
    cut = next(row for row in rows if isinstance(row, CloseRow))
    assert (cut.by, cut.reason) == ("server", f"{BEAT} bytes of the client's side are not in the capture")
    because = f"{BEAT} bytes of the client's side are not in the capture"
    assert notes(rows) == [
        ("the capture has not all of this connection: it goes on here", {"connection": 2, "because": because}),
        ("bytes of this connection could not be read", {"connection": 2, "bytes": 10, "because": because}),
    ]
    name = "127.0.0.1:40001 -> 127.0.0.1:9092"
    assert result(report) == (
        [
            f"The capture misses {BEAT} bytes of 1 connection: {name} ({BEAT}).",
            f"10 bytes of 1 connection: {name} (10: {because}) could not be read.",
        ],
        True,
    )


def test_an_answer_that_is_missing_leaves_its_request_open_and_the_dialogue_is_cut() -> None:
    rows, report = rows_of(written(without(one(*beats(3)), beaten(2))), PORT)
    assert pairs(rows)[3:6] == [("ask1", 2), ("close1", 0), ("open2", 0)]
    assert pairs(rows)[6:] == [("ask2", 3), ("answer2", 3), ("close2", 0)]
    assert report.sentences == ["The capture misses 10 bytes of 1 connection: 127.0.0.1:40001 -> 127.0.0.1:9092 (10)."]


def test_what_the_network_lost_waits_for_its_repetition_half_a_minute_later() -> None:
    both = [(CLIENT, beat(2)), (CLIENT, beat(3)), (BROKER, beaten(2)), (BROKER, beaten(3))]
    whole = one(*beats(1), *both)
    lost = next(place for place, seg in enumerate(whole) if seg.data == beat(2))
    heard, behind, rest = whole[:lost], whole[lost + 2], whole[lost + 4 :]  # without what acknowledges them
    again = [replace(seg, t=seg.t + 30 * 10**9) for seg in (whole[lost], *rest)]
    rows, report = rows_of(written([*heard, behind, *again]), PORT)
    assert (pairs(rows), result(report)) == (pairs(rows_of(written(whole), PORT)[0]), WHOLE)
    assert [row.t for row in rows if isinstance(row, ReplyRow)][1] > 30 * 10**9


def test_a_capture_that_begins_in_the_middle_finds_the_first_request_and_the_answers_to_what_it_saw() -> None:
    whole = one(*beats(4))
    begin = next(place for place, seg in enumerate(whole) if seg.data == beaten(2))
    rows, report = rows_of(written(whole[begin:]), PORT)
    assert pairs(rows) == [("open1", 0), ("ask1", 3), ("answer1", 3), ("ask1", 4), ("answer1", 4), ("close1", 0)]
    because = "the capture begins in the middle of the connection"
    assert notes(rows) == [
        ("this connection is older than the capture", {"connection": 1, "because": because}),
        ("bytes of this connection could not be read", {"connection": 1, "bytes": 10, "because": because}),
    ]
    assert report.incomplete


def test_one_that_begins_at_a_request_has_lost_nothing_that_can_be_counted() -> None:
    whole = one(*beats(2))
    begin = next(place for place, seg in enumerate(whole) if seg.data == beat(2))
    rows, report = rows_of(written(whole[begin:]))
    assert (pairs(rows), result(report)) == ([("open1", 0), ("ask1", 2), ("answer1", 2), ("close1", 0)], WHOLE)


def test_one_that_begins_in_the_middle_of_a_frame_skips_to_the_next_request() -> None:
    big = request(0, 7, pen.produce(5000), 1)
    whole = one((CLIENT, big), (BROKER, beaten(1)), *beats(3)[2:])
    begin = [place for place, seg in enumerate(whole) if seg.side == CLIENT and len(seg.data) > 500][2]
    rows, report = rows_of(written(whole[begin:]), PORT)
    assert pairs(rows)[:3] == [("open1", 0), ("ask1", 2), ("answer1", 2)]
    left = len(big) - 2 * 1448 + 10
    of = "1 connection: 127.0.0.1:40001 -> 127.0.0.1:9092"
    assert report.sentences == [f"{left} bytes of {of} ({left}: the capture begins in the middle of the connection) could not be read."]


def test_packets_that_the_snap_length_cut_are_missing_bytes() -> None:
    big = request(0, 7, pen.produce(5000), 1)
    whole = one((CLIENT, big), (BROKER, beaten(1)), *beats(3)[2:])
    rows, report = rows_of(written([replace(seg, kept=min(len(seg.data), 100)) for seg in whole]), PORT)
    assert pairs(rows) == [("open1", 0), ("close1", 0), ("open2", 0), *((f"{what}2", at) for at in (2, 3) for what in ("ask", "answer")),
                           ("close2", 0)]  # fmt: skip
    assert report.sentences[0].startswith(f"The capture misses {len(big) - 400} bytes of 1 connection")


def test_a_capture_that_ends_in_the_middle_of_a_frame_says_so() -> None:
    whole = one(*beats(1), (CLIENT, beat(2)), mss=20)
    end = [place for place, seg in enumerate(whole) if seg.side == CLIENT and seg.data][-1]
    rows, report = rows_of(written(whole[:end]), PORT)
    assert pairs(rows) == [("open1", 0), ("ask1", 1), ("answer1", 1)]
    assert notes(rows) == [("the capture ends in the middle of a frame", {"connection": 1, "bytes": 20})]
    assert report.incomplete


def test_requests_that_are_open_when_the_capture_ends_are_told_and_noted() -> None:
    """The last heartbeat repeats the one before: it waits for its answer to be told in short."""
    heart = request(12, 0, HeartbeatRequest(group_id="g", generation_id=1, member_id="m"), 1)
    again = heart[:8] + (2).to_bytes(4, "big") + heart[12:]
    whole = one((CLIENT, heart), (BROKER, beaten(1)), (CLIENT, again))
    rows, report = rows_of(written(whole[:-2]), PORT)
    assert pairs(rows) == [("open1", 0), ("ask1", 1), ("answer1", 1), ("ask1", 2)]
    assert notes(rows) == [("the answer to a request was not seen", {"connection": 1, "ticket": 2, "reason": "the capture ends"})]
    assert result(report) == WHOLE


# -- connections


def test_the_same_two_ports_again_are_another_connection() -> None:
    first = one(*beats(1))
    again = [replace(seg, t=seg.t + 60 * 10**9) for seg in one(*beats(2), starts=(70_000, 90_000))]
    rows, report = rows_of(written([*first, *again]), PORT)
    assert pairs(rows) == [
        ("open1", 0), ("ask1", 1), ("answer1", 1), ("close1", 0),
        ("open2", 0), ("ask2", 1), ("answer2", 1), ("ask2", 2), ("answer2", 2), ("close2", 0),
    ]  # fmt: skip
    assert result(report) == WHOLE


def test_the_same_two_ports_again_where_nobody_saw_the_end() -> None:
    first = [seg for seg in one(*beats(1)) if not seg.flags & pen.FIN]
    again = [replace(seg, t=seg.t + 60 * 10**9) for seg in one(*beats(1), starts=(70_000, 90_000))]
    rows, _ = rows_of(written([*first, *again]), PORT)
    reasons = [(row.by, row.reason) for row in rows if isinstance(row, CloseRow)]
    assert reasons == [("server", "the same two endpoints connected anew"), ("client", "the client closed")]


@pytest.mark.parametrize(("side", "by", "who"), [(CLIENT, "client", "client"), (BROKER, "server", "broker")])
def test_a_reset_ends_it(side: str, by: str, who: str) -> None:
    steps = [pen.Step(0, 1, CLIENT, "open"), pen.Step(1, 1, CLIENT, "send", beat(1)), pen.Step(2, 1, side, "reset")]
    rows, report = rows_of(written(segments_of(steps)), PORT)
    (close,) = (row for row in rows if isinstance(row, CloseRow))
    assert (close.by, close.reason) == (by, f"the {who} reset the connection, with a request unanswered")
    assert result(report) == WHOLE


def test_an_answer_that_crosses_the_clients_farewell_is_an_answer() -> None:
    """As the server has it: it heard of the end behind its answer."""
    steps = [pen.Step(0, 1, CLIENT, "open"), pen.Step(1, 1, CLIENT, "send", beat(1))]
    *whole, bye, farewell = segments_of([*steps, pen.Step(2, 1, CLIENT, "end")])
    late = Seg(3, 1, BROKER, farewell.sequence, bye.sequence + 1, ACK, beaten(1))
    reset = Seg(4, 1, CLIENT, bye.sequence + 1, None, RST)
    rows, report = rows_of(written([*whole, bye, late, reset]), PORT)
    assert pairs(rows) == [("open1", 0), ("ask1", 1), ("answer1", 1), ("close1", 0)]
    (close,) = (row for row in rows if isinstance(row, CloseRow))
    assert ((close.by, close.reason), result(report)) == (("client", "the client closed"), WHOLE)


def test_a_client_that_has_closed_where_nobody_saw_the_broker_do_it() -> None:
    *whole, bye, _ = one(*beats(1), (CLIENT, beat(2)))
    rows, report = rows_of(written([*whole, bye]), PORT)
    (close,) = (row for row in rows if isinstance(row, CloseRow))
    assert ((close.by, close.reason), result(report)) == (("client", "the client closed, with a request unanswered"), WHOLE)


def test_a_reset_far_from_where_its_side_stands_is_of_no_account() -> None:
    whole = one(*beats(2))
    forged = Seg(1, 1, CLIENT, 1000 + 2**31 - 1, None, RST)
    rows, report = rows_of(written([*whole[:5], forged, *whole[5:]]), PORT)
    assert (pairs(rows)[-1], len(pairs(rows)), result(report)) == (("close1", 0), 6, WHOLE)


def test_a_connection_that_is_refused_or_never_answered_is_none() -> None:
    refused = [Seg(0, 1, CLIENT, 1, None, SYN), Seg(1, 1, BROKER, 0, 2, RST | ACK)]
    silent = [Seg(0, 2, CLIENT, 1, None, SYN)]
    rows, report = rows_of(written([*refused, *silent]), PORT)
    assert (pairs(rows), result(report)) == ([], (["No connection of Kafka's was found in 3 packets."], True))


def test_a_client_that_says_nothing_is_a_connection_where_the_port_is_told() -> None:
    assert pairs(rows_of(written(one()), PORT)[0]) == [("open1", 0), ("close1", 0)]
    assert pairs(rows_of(written(one()))[0]) == []


HELLO = bytes.fromhex("16030100c8010000c40303") + bytes(200)


def test_tls_is_recognised() -> None:
    rows, report = rows_of(written(one((CLIENT, HELLO), (BROKER, HELLO))), PORT)
    assert pairs(rows) == [("open1", 0), ("close1", 0)]
    assert notes(rows) == [("this connection speaks TLS: nothing in it can be read", {"connection": 1})]
    tls = "1 connection to 127.0.0.1:9092 speaks TLS, in which nothing can be read."
    assert result(report) == ([tls], True)
    assert result(rows_of(written(one((CLIENT, HELLO))))[1])[0][0] == tls


def test_what_speaks_another_protocol_is_left_alone_unless_its_port_is_told() -> None:
    web = one((CLIENT, b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"), (BROKER, b"HTTP/1.1 200 OK\r\n\r\n"))
    assert pairs(rows_of(written(web))[0]) == []
    rows, report = rows_of(written(web), PORT)
    assert pairs(rows)[:2] == [("open1", 0), ("close1", 0)]
    assert report.incomplete


def test_frames_that_hold_no_header_end_the_dialogue_as_a_broker_would() -> None:
    rows, report = rows_of(written(one(*beats(1), (CLIENT, beat(2) + bytes(1000)), *beats(3)[4:])), PORT)
    cut = next(row for row in rows if isinstance(row, CloseRow))
    assert (cut.by, cut.reason) == ("server", "a frame of less than 8 bytes holds no request header")
    assert pairs(rows) == [
        ("open1", 0), ("ask1", 1), ("answer1", 1), ("ask1", 2), ("close1", 0), ("open2", 0), ("ask2", 3), ("answer2", 3), ("close2", 0),
    ]  # fmt: skip
    name = "127.0.0.1:40001 -> 127.0.0.1:9092"
    assert report.sentences == [f"1000 bytes of 1 connection: {name} (1000: bytes that are no frames of Kafka's) could not be read."]


def test_an_error_code_that_no_release_has_is_told_by_its_number() -> None:
    later = beaten(1)[:8] + (256).to_bytes(2, "big")
    rows, _ = rows_of(written(one((CLIENT, beat(1)), (BROKER, later))), PORT)
    assert [row.error for row in rows if isinstance(row, ReplyRow)] == ["ERROR_256"]


def test_only_the_ports_that_are_told_are_followed() -> None:
    other = [packet(seg, port=9999) for seg in one(*beats(1))]
    rows, report = rows_of(pcap(other), PORT)
    assert (pairs(rows), report.connections, report.packets) == ([], 0, len(other))
