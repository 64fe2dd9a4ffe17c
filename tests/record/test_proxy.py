"""The proxy copes with slow, disconnected, malformed, unknown and newer peers."""

from __future__ import annotations

import json
import socket
import ssl
import threading
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from recordings import Recording, of_kind, recording
from scripted_upstream import ScriptedUpstream, echoes, silent, upstream
from waiting import until

from groupmock import Broker
from groupmock.cli import main
from groupmock.config.resolve import Address
from groupmock.journal.rows import NOT_READING
from groupmock.net.counters import Counters
from groupmock.record import end, relay, work
from groupmock.record.dialogue import RAW_TOKEN, UNREAD_ANSWER
from groupmock.record.proxy import NEW_NODE, UNKNOWN_NODES
from groupmock.record.summary import summary_line
from groupmock.rig.classic_member import ClassicMember
from groupmock.rig.wire import Client, framed, request
from groupmock.server.running import CannotStart
from groupmock_codec import APIS
from groupmock_codec.error_codes import UNSUPPORTED_VERSION
from groupmock_codec.messages.k03_metadata import MetadataRequest
from groupmock_codec.messages.k12_heartbeat import HeartbeatRequest
from groupmock_codec.messages.k18_api_versions import ApiVersion, ApiVersionsRequest, ApiVersionsResponse

HEARTBEAT = HeartbeatRequest(group_id="g", generation_id=1, member_id="m")
SECRET = b"\0alice\0open sesame"
WHO = ApiVersionsRequest(client_software_name="test", client_software_version="1")


def connect(proxy: Recording) -> socket.socket:
    host, _, port = proxy.bootstrap.split(",")[0].rpartition(":")
    return socket.create_connection((host, int(port)), 60)


def client(proxy: Recording) -> Client:
    host, _, port = proxy.bootstrap.split(",")[0].rpartition(":")
    return Client(host, int(port), seconds=60)


def closes(proxy: Recording, count: int = 1) -> list[dict[str, Any]]:
    until("the close rows", lambda: len(of_kind(proxy.seen(), "close")) >= count, proxy.rows)
    return of_kind(proxy.rows(), "close")


def ended(link: socket.socket) -> bool:
    """Return whether the peer closed the connection by FIN or RST."""
    try:
        return link.recv(1) == b""
    except ConnectionResetError:
        return True


# -- the start


def test_an_upstream_that_is_not_there_is_one_sentence_and_3(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    assert main(["record", "--upstream", f"127.0.0.1:{port}", "--journal", str(tmp_path / "j")]) == 3
    remedy = "start it, or name another one in --upstream"
    said = f"groupmock record: cannot reach the upstream 127.0.0.1:{port}: Connection refused: {remedy}\n"
    assert capsys.readouterr().err == said
    assert not (tmp_path / "j").exists()


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        ([], "say what to record and where to: --upstream HOST:PORT --journal FILE"),
        (["--upstream", "nowhere", "--journal", "j"], "--upstream: 'nowhere' is no HOST:PORT"),
        (["--upstream", "h:1", "--journal", "j", "--port", "x"], "--port: 'x' is no number from 0 to 65535"),
        (["--upstream", "h:1", "--journal", "j", "--tls-ca", "/nowhere"], "--tls-ca, --tls-cert: : No such file or directory"),
        (["--upstream", "h:1", "--journal", "j", "--log", "loud"], "--log: 'loud': there are text, json, rows, json-rows, off"),
    ],
)
def test_bad_use_is_one_sentence_and_2(flags: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["record", *flags]) == 2
    assert capsys.readouterr().err == f"groupmock record: {said}\n"


def test_listening_everywhere_wants_an_address_for_clients(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["record", "--upstream", "h:1", "--journal", "j", "--host", "0.0.0.0"]) == 2
    assert "add --advertise HOST[:PORT]" in capsys.readouterr().err


def test_a_journal_that_cannot_be_written_is_said_at_the_start(tmp_path: Path) -> None:
    with upstream(silent) as node, pytest.raises(CannotStart, match=r"cannot write the journal .*/no cannot be made: File exists"):
        (tmp_path / "no").write_text("a file")
        Recording(node.address, tmp_path / "no" / "j")


def test_an_upstream_that_speaks_tls_is_told_from_its_alert(tmp_path: Path) -> None:
    class Tls(ScriptedUpstream):
        def _serve(self, link: socket.socket) -> None:
            link.recv(100)
            link.sendall(b"\x15\x03\x03\x00\x02\x02\x46")

    node = Tls(silent)
    try:
        with pytest.raises(CannotStart, match="speaks TLS: add --tls"):
            Recording(node.address, tmp_path / "j")
    finally:
        node.close()


def test_tls_to_a_node_without_it_is_told(tmp_path: Path) -> None:
    class Plain(ScriptedUpstream):
        def _serve(self, link: socket.socket) -> None:
            link.recv(100)
            # Kafka closes the connection as well, because it reads the start of a TLS ClientHello as a frame length that is too large.
            link.shutdown(socket.SHUT_RDWR)

    node = Plain(silent)
    try:
        with pytest.raises(CannotStart, match=r"cannot speak TLS with the upstream .*leave --tls out"):
            Recording(node.address, tmp_path / "j", tls=ssl.create_default_context())
    finally:
        node.close()


def test_nodes_that_want_credentials_first_are_learned_later(tmp_path: Path) -> None:
    class Closed(ScriptedUpstream):
        def _metadata(self, version: int, correlation: bytes) -> bytes:
            self.connections[-1].shutdown(socket.SHUT_RDWR)
            return b""

    node = Closed(echoes)
    with recording(node.address, tmp_path / "j") as proxy:
        assert [each["what"] for each in of_kind(proxy.seen(), "note")] == [UNKNOWN_NODES]
    node.close()


# -- nodes


def test_a_node_that_appears_gets_a_listener_before_clients_hear_of_it(tmp_path: Path) -> None:
    brokers: list[tuple[int, str, int]] = []
    with upstream(echoes, brokers=lambda: brokers) as first, upstream(echoes) as second:
        brokers.append((7, *first.where))
        with recording(first.address, tmp_path / "j") as proxy, client(proxy) as asker:
            assert [node.number for node in proxy.proxy.upstream.nodes] == [7]
            brokers.append((9, *second.where))
            told = asker.ask(3, 9, MetadataRequest())
            late = told.brokers[1]
            assert (late.node_id, late.port) != (9, second.where[1]) and [each.node_id for each in told.brokers] == [7, 9]
            with socket.create_connection((late.host, late.port), 60) as link:
                link.sendall(request(12, 4, HEARTBEAT))
                assert link.recv(8) == framed((1).to_bytes(4, "big"))
            assert asker.ask(3, 9, MetadataRequest()).brokers[1].port == late.port
            rows = proxy.close()
    (note,) = [row for row in of_kind(rows, "note") if row["what"] == NEW_NODE]
    assert (note["fields"]["node"], note["fields"]["upstream"]) == (9, second.address)
    assert {row["node"] for row in of_kind(rows, "request") if row["api_name"] == "Heartbeat"} == {9}


def test_fixed_ports_and_an_advertised_name_count_on(tmp_path: Path) -> None:
    with Broker(nodes=3) as broker:
        port, made = _on_ports_in_a_row(broker.bootstrap.split(",")[0], tmp_path / "j")
        assert made.bootstrap == "kafka.test:19092,kafka.test:19093,kafka.test:19094"
        assert [node.listener.getsockname()[1] for node in made.proxy.upstream.nodes] == [port, port + 1, port + 2]
        made.close()


def _on_ports_in_a_row(upstream: str, journal: Path) -> tuple[int, Recording]:
    """Start a recording on three consecutive ports. Another process may occupy one, and then the proxy does not start or lacks a
    listener."""
    for _ in range(20):
        with socket.create_server(("127.0.0.1", 0)) as free:
            port: int = free.getsockname()[1]
        with suppress(CannotStart):
            made = Recording(upstream, journal, port=port, advertise=Address("kafka.test", 19092))
            if len(made.proxy.upstream.nodes) == 3:
                return port, made
            made.close()
    pytest.fail("no three ports in a row were free, twenty times")


def test_versions_that_nobody_here_reads_are_not_offered_and_unknown_apis_stay(tmp_path: Path) -> None:
    highest = APIS[12].versions.highest
    offered = ApiVersionsResponse(
        api_keys=[
            ApiVersion(api_key=12, min_version=0, max_version=highest + 3),
            ApiVersion(api_key=11, min_version=99, max_version=101),
            ApiVersion(api_key=17, min_version=0, max_version=1),
        ]
    )

    def answer(link: socket.socket, frame: bytes) -> None:
        link.sendall(framed(frame[4:8] + APIS[18].response.encode(3, offered)))

    with upstream(answer) as node, recording(node.address, tmp_path / "j") as proxy, client(proxy) as asker:
        told = asker.ask(18, 3, WHO)
    assert [(each.api_key, each.min_version, each.max_version) for each in told.api_keys] == [(12, 0, highest), (11, 99, 101), (17, 0, 1)]


# -- what nobody reads


def test_an_unknown_api_passes_and_its_bytes_are_in_no_row(tmp_path: Path) -> None:
    asked = (36).to_bytes(2, "big") + (2).to_bytes(2, "big") + (5).to_bytes(4, "big") + b"\0\3app\0" + SECRET
    with upstream(echoes) as node, recording(node.address, tmp_path / "j") as proxy, connect(proxy) as link:
        link.sendall(framed(asked))
        assert link.recv(8) == framed((5).to_bytes(4, "big"))
        rows = proxy.close()
    assert node.frames == [asked]
    (row,) = of_kind(rows, "request")
    assert (row["api_key"], row["api_name"], row["client_id"], row["size"]) == (36, "SaslAuthenticate", "app", len(asked))
    assert row["note"] == "SaslAuthenticate is not decoded: neither this request nor its answer is kept"
    assert not {"raw", "message"} & row.keys()
    assert not [each for each in ("sesame", "b3BlbiBzZXNhbWU") if each in proxy.journal.read_text()]


def test_a_newer_version_of_a_known_api_passes_with_a_note(tmp_path: Path) -> None:
    highest = APIS[12].versions.highest
    asked = (12).to_bytes(2, "big") + (highest + 1).to_bytes(2, "big") + (5).to_bytes(4, "big") + b"\xff\xff\0rest"
    with upstream(echoes) as node, recording(node.address, tmp_path / "j") as proxy, connect(proxy) as link:
        link.sendall(framed(asked))
        assert link.recv(8) == framed((5).to_bytes(4, "big"))
        rows = proxy.close()
    (row,) = of_kind(rows, "request")
    assert row["note"].startswith(f"version {highest + 1} of Heartbeat is not decoded: groupmock reads versions 0-{highest}")


def test_the_answer_to_a_version_that_the_broker_does_not_have_is_read(tmp_path: Path) -> None:
    """Kafka before 4.4 answers an ApiVersions 5 in version 0 (KIP-511), and franz-go asks such a question first."""
    refused = APIS[18].response.encode(0, ApiVersionsResponse(error_code=UNSUPPORTED_VERSION, api_keys=[ApiVersion(18, 0, 4)]))

    def answer(link: socket.socket, frame: bytes) -> None:
        link.sendall(framed(frame[4:8] + refused))

    with upstream(answer) as node, recording(node.address, tmp_path / "j") as proxy, connect(proxy) as link:
        link.sendall(request(18, APIS[18].versions.highest, None, 9))
        assert link.recv(100) == framed((9).to_bytes(4, "big") + refused)
        rows = proxy.close()
    (row,) = of_kind(rows, "reply")
    assert row["message"]["error_code"] == UNSUPPORTED_VERSION
    assert row["message"]["api_keys"] == [{"api_key": 18, "min_version": 0, "max_version": 4}]
    assert [each["what"] for each in of_kind(rows, "note")] == ["end"]


def test_raw_sasl_tokens_pass_and_are_counted_alone(tmp_path: Path) -> None:
    handshake = (17).to_bytes(2, "big") + bytes(2) + (1).to_bytes(4, "big") + b"\xff\xff\0\5PLAIN"

    def answer(link: socket.socket, frame: bytes) -> None:
        if frame == handshake:
            link.sendall(framed(frame[4:8] + bytes(2) + b"\0\0\0\1\0\5PLAIN"))
        elif frame == SECRET:
            link.sendall(framed(b""))  # An empty answer means that the SASL authentication succeeded (SEC-21).
        else:
            link.sendall(framed(frame[4:8] + b"\0" + bytes(7)))

    with upstream(answer) as node, recording(node.address, tmp_path / "j") as proxy, connect(proxy) as link:
        stream = link.makefile("rb")
        link.sendall(framed(handshake))
        stream.read(4 + int.from_bytes(stream.read(4), "big") - 4)
        link.sendall(framed(SECRET))
        assert stream.read(4) == bytes(4)
        link.sendall(request(12, 4, HEARTBEAT, 9))
        assert stream.read(8)[4:] == (9).to_bytes(4, "big")
        stream.close()
        rows = proxy.close()
    tokens = [row["fields"] for row in of_kind(rows, "note") if row["what"] == RAW_TOKEN]
    assert [(each["by"], each["bytes"]) for each in tokens] == [("client", len(SECRET)), ("server", 0)]
    assert [row["api_name"] for row in of_kind(rows, "request")] == ["SaslHandshake", "Heartbeat"]
    assert "sesame" not in proxy.journal.read_text()


def test_an_answer_that_cannot_be_read_passes_with_a_note(tmp_path: Path) -> None:
    def junk(link: socket.socket, frame: bytes) -> None:
        link.sendall(framed(frame[4:8] + b"\0junk"))

    with upstream(junk) as node, recording(node.address, tmp_path / "j") as proxy:
        with connect(proxy) as link:
            link.sendall(request(10, 4))  # This FindCoordinator is sent, because the proxy has to change the addresses in its answer.
            assert link.recv(100) == framed((1).to_bytes(4, "big") + b"\0junk")
        rows = proxy.close()
    assert UNREAD_ANSWER in [row["what"] for row in of_kind(rows, "note")]
    assert [row.get("message") for row in of_kind(rows, "reply")] == [None]


# -- ends


def test_a_node_that_hangs_up_ends_the_client_with_a_sentence(tmp_path: Path) -> None:
    with upstream(lambda link, frame: link.shutdown(socket.SHUT_RDWR)) as node, recording(node.address, tmp_path / "j") as proxy:
        with connect(proxy) as link:
            link.sendall(request(12, 4, HEARTBEAT))
            assert ended(link)
        (row,) = closes(proxy)
    assert (row["by"], row["reason"]) == ("server", f"the upstream {node.address} closed the connection, with a request unanswered")


def test_a_node_that_is_gone_ends_the_client_with_a_sentence(tmp_path: Path) -> None:
    with upstream(silent) as node, recording(node.address, tmp_path / "j") as proxy:
        node.stop_listening()
        with connect(proxy) as link:
            assert ended(link)
        (row,) = closes(proxy)
    assert row["by"] == "server" and row["reason"].startswith(f"the upstream {node.address} cannot be reached: ")
    assert [each["kind"] for each in proxy.rows()][:2] == ["open", "close"]


def test_who_sends_no_more_still_gets_its_answer(tmp_path: Path) -> None:
    with upstream(echoes) as node, recording(node.address, tmp_path / "j") as proxy, connect(proxy) as link:
        link.sendall(request(12, 4, HEARTBEAT))
        link.shutdown(socket.SHUT_WR)
        assert link.makefile("rb").read() == framed((1).to_bytes(4, "big"))
        (row,) = closes(proxy)
    assert (row["by"], row["reason"]) == ("client", "the client closed")


def test_a_client_that_goes_in_the_middle_of_a_frame_is_told_so(tmp_path: Path) -> None:
    with upstream(silent) as node, recording(node.address, tmp_path / "j") as proxy:
        with connect(proxy) as link:
            link.sendall(request(12, 4, HEARTBEAT)[:10])
        (row,) = closes(proxy)
    assert (row["by"], row["cut_bytes"]) == ("client", 10)
    assert row["reason"] == "the client closed in the middle of a frame, of which 10 bytes had come"


# -- bounds


def test_a_request_of_a_length_that_none_has_ends_its_connection(tmp_path: Path) -> None:
    with upstream(echoes) as node, recording(node.address, tmp_path / "j") as proxy, connect(proxy) as link:
        link.sendall(request(12, 4, HEARTBEAT) + (relay.REQUEST_BYTES + 1).to_bytes(4, "big") + b"x")
        until("it ends", lambda: ended(link) or True, proxy.seen)
        (row,) = closes(proxy)
        assert len(node.frames) <= 1
    said = "the client sent what is no request: frame length 104857601 is outside 0..104857600 (socket.request.max.bytes)"
    assert (row["by"], row["reason"].removesuffix(", with a request unanswered")) == ("client", said)


def test_an_answer_of_a_length_that_is_not_recorded_ends_its_connection(tmp_path: Path) -> None:
    def answer(link: socket.socket, frame: bytes) -> None:
        link.sendall((relay.ANSWER_BYTES + 1).to_bytes(4, "big") + frame[4:8])

    with upstream(answer) as node, recording(node.address, tmp_path / "j") as proxy, connect(proxy) as link:
        link.sendall(request(12, 4, HEARTBEAT))
        assert ended(link)
        (row,) = closes(proxy)
    assert row["by"] == "server" and "(more than is recorded)" in row["reason"]


def test_who_does_not_read_stops_its_node_and_nobody_else(tmp_path: Path) -> None:
    """The proxy buffers no more than the two write buffers, so a node that sends to a client that never reads is blocked."""
    piece, sent, go_on = b"x" * 65_536, [0], threading.Event()
    total = 64 * 1024 * 1024

    def pour(link: socket.socket, frame: bytes) -> None:
        if frame[:2] == b"\0\x0c":
            link.sendall(framed(frame[4:8]))
            return
        link.sendall((4 + total).to_bytes(4, "big") + frame[4:8])
        while sent[0] < total:
            sent[0] += link.send(piece[: total - sent[0]])

    with upstream(pour) as node, recording(node.address, tmp_path / "j") as proxy, connect(proxy) as slow, client(proxy) as quick:
        slow.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65_536)
        slow.sendall(request(8, 8))
        until("it is stuck", lambda: any(row["what"] == NOT_READING for row in of_kind(proxy.seen(), "note")), lambda: sent)
        stuck = sent[0]
        for number in range(20):
            quick.send(12, 4, HEARTBEAT)
            assert len(quick.receive()) == 4, number
        assert sent[0] < total and stuck < total // 2
        transport = proxy.proxy.relays[1].client.transport
        assert transport is not None and proxy.on_loop(transport.get_write_buffer_size) < 2 * end.WRITE_BUFFER
        go_on.set()
        rest = 8 + total
        while rest:
            rest -= len(slow.recv(1 << 20))


def test_a_recording_that_is_behind_stops_reading(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(work, "PAUSE_S", 3600)  # With this long pause the recorder does not catch up before the test lets it.
    with upstream(echoes) as node, recording(node.address, tmp_path / "j") as proxy, client(proxy) as asker:
        proxy.on_loop(lambda: setattr(proxy.proxy.work, "_most", 1000))
        for _ in range(3):
            asker.send(12, 4, HEARTBEAT)
            asker.receive()
            if proxy.on_loop(lambda: proxy.proxy.work.full):
                break
        asker.send(12, 4, HEARTBEAT)
        assert proxy.on_loop(lambda: proxy.proxy.relays[1].client.paused) == end.BEHIND
        before = len(node.frames)
        proxy.on_loop(proxy.proxy.work.finish)
        assert not proxy.on_loop(lambda: proxy.proxy.relays[1].client.paused)
        asker.receive()
        assert len(node.frames) == before + 1


def test_the_ready_line_is_the_one_of_serve(tmp_path: Path) -> None:
    with Broker(nodes=2) as broker, recording(broker.bootstrap, tmp_path / "j") as proxy:
        line, nodes = json.loads(proxy.proxy.ready_line()), broker.bootstrap.split(",")
    assert line["ready"] is True and line["bootstrap"] == proxy.bootstrap and line["journal"] == str(tmp_path / "j")
    assert [(node["id"], node["upstream"]) for node in line["nodes"]] == list(enumerate(nodes, 1))


def test_a_full_journal_says_what_is_left_out(tmp_path: Path) -> None:
    with upstream(echoes) as node, recording(node.address, tmp_path / "j", journal_max_bytes=3000) as proxy, client(proxy) as asker:
        for _ in range(30):
            asker.send(12, 4, HEARTBEAT)
            asker.receive()
        rows = proxy.close()
    assert (tmp_path / "j").stat().st_size <= 3000 and rows[-1]["fields"]["rows"] > 0


def test_heartbeats_that_repeat_have_their_rows_in_the_order_in_which_they_passed(tmp_path: Path) -> None:
    def fine(link: socket.socket, frame: bytes) -> None:
        link.sendall(framed(frame[4:8] + bytes(8)))

    with upstream(fine) as node, recording(node.address, tmp_path / "j") as proxy, client(proxy) as first, client(proxy) as second:
        for number in range(1, 41):
            for asker in (first, second):
                asker.send(12, 4, HEARTBEAT)
                assert asker.receive() == number.to_bytes(4, "big") + bytes(8)
        first.write(request(12, 4, HEARTBEAT, 90) + request(12, 4, HEARTBEAT, 91))
        assert [first.receive()[:4], first.receive()[:4]] == [(90).to_bytes(4, "big"), (91).to_bytes(4, "big")]
        rows = proxy.close()
    asked = of_kind(rows, "request")
    told = [row["correlation_id"] for row in asked if row["connection"] == asked[0]["connection"]]
    assert told == [*range(1, 41), 90, 91] and len(asked) == len(of_kind(rows, "reply")) == 82
    assert [row["received"] for row in asked] == sorted(row["received"] for row in asked)
    assert [row["ticket"] for row in asked] == list(range(1, 83)) and {row["message"]["member_id"] for row in asked} == {"m"}


def test_a_recording_is_summed_up_in_a_line(tmp_path: Path) -> None:
    with Broker(topics={"orders": 1}) as broker, recording(broker.bootstrap, tmp_path / "j") as proxy:
        for group in ("a", "b", "a"):
            with client(proxy) as asker:
                member = ClassicMember(group, topics=["orders"])
                member.joined(asker.ask(11, 5, member.join_request()))
                member.joined(asker.ask(11, 5, member.join_request()))
        proxy.close()
        assert proxy.proxy.summary == f"recorded 3 connections, 6 requests and 2 groups: {tmp_path / 'j'}"


def test_the_summary_of_a_recording_counts_rows_that_did_not_fit() -> None:
    counters = Counters(connections_opened=1, handled=1204)
    line = "recorded 1 connection, 1,204 requests and 1 group: j.jsonl, without 3 rows that did not fit"
    assert summary_line(counters, 1, "j.jsonl", 3) == line
