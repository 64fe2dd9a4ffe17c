"""The proxy serves other clients, bounds its memory and can be stopped while some peers send much."""

from __future__ import annotations

import asyncio
import os
import socket
import threading
from collections.abc import Callable
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from recordings import Recording, of_kind, recording
from scripted_upstream import ScriptedUpstream, echoes, silent, upstream
from waiting import until

from groupmock.faults.plan import make_plan
from groupmock.net.connection import NO_LINGER
from groupmock.record import proxy as proxy_module
from groupmock.record import relay, work
from groupmock.record.cutting import KEPT_BYTES
from groupmock.record.dialogue import UNREAD_ANSWER
from groupmock.record.proxy import NOT_RECORDED
from groupmock.record.upstream import MOST_NODES
from groupmock.rig.wire import Client, framed, request
from groupmock.server.running import CannotStart
from groupmock_codec.messages.k03_metadata import MetadataRequest
from groupmock_codec.messages.k12_heartbeat import HeartbeatRequest

HEARTBEAT = HeartbeatRequest(group_id="g", generation_id=1, member_id="m")
MANY = 2000
LONG = (12).to_bytes(2, "big") + (4).to_bytes(2, "big") + (7).to_bytes(4, "big") + b"\0\3app\0" + bytes(300_000)
"""A Heartbeat frame that arrives in more than one read, with extra bytes after its fields."""
RULES = {"plan": make_plan({"rule": [{"name": "another api", "do": {"kind": "observe"}, "when": {"api": "JoinGroup", "version": "1-"}}]})}
"""Settings of a recording whose relays pass frames through the gate of fault rules."""


def client(proxy: Recording) -> Client:
    host, _, port = proxy.bootstrap.split(",")[0].rpartition(":")
    return Client(host, int(port), seconds=60)


def heartbeats(count: int) -> bytes:
    return b"".join([request(12, 4, HEARTBEAT, number) for number in range(1, count + 1)])


def close_row(proxy: Recording) -> dict[str, Any]:
    until("the close row", lambda: of_kind(proxy.seen(), "close"), proxy.rows)
    return of_kind(proxy.rows(), "close")[0]


def is_there(each: relay.Relay) -> bool:
    return each.client.transport is not None


def breaks_off(link: socket.socket) -> None:
    """Close the socket with an RST even if a file object of it is still open."""
    link.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, NO_LINGER)
    os.close(link.detach())


def hears(link: socket.socket) -> bytes | str:
    try:
        return link.recv(1)
    except ConnectionResetError:
        return "RST"


class Gate:
    """Delays a node's answer to each request until the test opens the gate."""

    def __init__(self) -> None:
        self.open = threading.Event()

    def __call__(self, link: socket.socket, frame: bytes) -> None:
        self.open.wait(60)
        link.sendall(framed(frame[4:8]))


def sends_in_background(asker: Client, data: bytes) -> threading.Thread:
    def send() -> None:
        with suppress(OSError):
            asker.write(data)

    thread = threading.Thread(target=send, daemon=True)
    thread.start()
    return thread


# -- fair turns


def test_a_client_that_sends_ahead_has_few_requests_passed_on_and_all_answered(tmp_path: Path) -> None:
    gate = Gate()
    with upstream(gate) as node, recording(node.address, tmp_path / "j") as proxy, client(proxy) as asker:
        sending = sends_in_background(asker, heartbeats(MANY))
        passed = proxy.proxy.relays
        until("it waits", lambda: proxy.on_loop(lambda: passed and passed[1]._ahead and not passed[1]._room()), lambda: node.frames)
        assert proxy.on_loop(lambda: passed[1].open_requests) == relay.MOST_OPEN
        assert proxy.on_loop(lambda: passed[1]._ahead_bytes) == proxy.on_loop(lambda: proxy.proxy.held.bytes) > 0
        gate.open.set()
        assert [asker.receive() for _ in range(MANY)] == [number.to_bytes(4, "big") for number in range(1, MANY + 1)]
        sending.join(60)
        assert proxy.on_loop(lambda: proxy.proxy.held.bytes) == 0
        rows = proxy.close()
    assert [row["correlation_id"] for row in of_kind(rows, "request")] == list(range(1, MANY + 1))
    assert len(of_kind(rows, "reply")) == MANY and {row.get("what") for row in of_kind(rows, "note")} == {UNREAD_ANSWER, "end"}


def test_who_sends_ahead_and_no_more_still_gets_every_answer(tmp_path: Path) -> None:
    with upstream(echoes) as node, recording(node.address, tmp_path / "j") as proxy, client(proxy) as asker:
        asker.write(heartbeats(MANY))
        asker.socket.shutdown(socket.SHUT_WR)
        assert asker.socket.makefile("rb").read() == b"".join([framed(number.to_bytes(4, "big")) for number in range(1, MANY + 1)])
        assert close_row(proxy)["reason"] == "the client closed"


def test_what_waits_behind_open_requests_is_dropped_with_its_connection(tmp_path: Path) -> None:
    with upstream(silent) as node, recording(node.address, tmp_path / "j") as proxy:
        with client(proxy) as asker:
            asker.write(heartbeats(relay.MOST_OPEN + 100))
            until("it waits", lambda: len(node.frames) == relay.MOST_OPEN and proxy.proxy.held.bytes, proxy.rows)
            node.connections[-1].shutdown(socket.SHUT_RDWR)
            assert asker.socket.recv(1) == b""
            asker.write(heartbeats(1))
        assert close_row(proxy)["by"] == "server"
        assert proxy.on_loop(lambda: proxy.proxy.held.bytes) == 0


def test_answers_with_addresses_are_handed_on_in_turns(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An answer that costs more than a slice of time uses up its turn, and the other answers of the same read wait for later turns."""
    count, asked = relay.MOST_OPEN, []

    def together(link: socket.socket, frame: bytes) -> None:
        asked.append(frame[4:8] + bytes(14))
        if len(asked) == count:
            link.sendall(b"".join(map(framed, asked)))

    told: list[int] = []
    with upstream(together) as node, recording(node.address, tmp_path / "j") as proxy, client(proxy) as asker:
        turns = proxy.proxy.turns
        times = iter(range(0, 1 << 40, turns.slice_ns + 1))
        monkeypatch.setattr(turns, "_clock", lambda: next(times))
        soon = turns._soon

        def watched(callback: Callable[[], None]) -> Any:
            told.append(sum(map(len, proxy.proxy.relays[1]._coming)) - proxy.proxy.relays[1]._coming_at)
            return soon(callback)

        monkeypatch.setattr(turns, "_soon", watched)
        asker.write(b"".join([request(10, 2, None, number) for number in range(count)]))
        assert [asker.receive()[:4] for _ in range(count)] == [number.to_bytes(4, "big") for number in range(count)]
        turned = told[:]  # A copy is made here, because later entries come from closing the connection.
    size = len(framed(asked[0]))
    assert turned and {before - after for before, after in pairwise(turned)} == {size}


def test_ends_that_come_together_are_dealt_with_in_turns(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """When many clients disconnect in one turn of the loop, a disconnect that costs more than a slice uses up a turn of its own."""
    count, serve = 20, relay.Relay.serve
    served: list[int] = []
    before: list[int] = []
    with upstream(silent) as node, recording(node.address, tmp_path / "j") as proxy:
        turns, passed = proxy.proxy.turns, proxy.proxy.relays
        askers = [client(proxy) for _ in range(count)]
        until("all are there", lambda: proxy.on_loop(lambda: sum(map(is_there, passed.values()))) == count, proxy.rows)
        times = iter(range(0, 1 << 40, turns.slice_ns + 1))
        soon = turns._soon
        monkeypatch.setattr(turns, "_clock", lambda: next(times))

        def soon_told(callback: Callable[[], None]) -> object:
            before.append(len(served))
            return soon(callback)

        def serve_told(each: relay.Relay) -> None:
            served.append(each.number)
            serve(each)

        def close_all() -> None:
            for each in askers:
                each.close()

        monkeypatch.setattr(turns, "_soon", soon_told)
        monkeypatch.setattr(relay.Relay, "serve", serve_told)
        proxy.on_loop(close_all)
        until("all are gone", lambda: not proxy.on_loop(lambda: len(passed)), lambda: served)
        rows = proxy.close()
    assert before[0] == 0 and {later - earlier for earlier, later in pairwise(before)} == {1}
    assert set(served) == set(range(1, count + 1))
    assert [(row["by"], row["reason"]) for row in of_kind(rows, "close")] == [("client", "the client closed")] * count


def test_a_node_that_sends_no_more_is_believed_behind_what_it_sent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The node closes the connection while its answers still wait for a turn."""
    asked: list[bytes] = []

    def together(link: socket.socket, frame: bytes) -> None:
        asked.append(framed(frame[4:8] + bytes(14)))
        if len(asked) == relay.MOST_OPEN:
            link.sendall(b"".join(asked))
            link.shutdown(socket.SHUT_RDWR)

    with upstream(together) as node, recording(node.address, tmp_path / "j") as proxy:
        times = iter(range(0, 1 << 40, proxy.proxy.turns.slice_ns + 1))
        monkeypatch.setattr(proxy.proxy.turns, "_clock", lambda: next(times))
        with client(proxy) as asker:
            asker.write(b"".join([request(10, 2, None, number) for number in range(relay.MOST_OPEN)]))
            assert asker.socket.makefile("rb").read() == b"".join(asked)
        row = close_row(proxy)
    assert (row["by"], row["reason"]) == ("server", f"the upstream {node.address} closed the connection")
    assert len(of_kind(proxy.rows(), "reply")) == relay.MOST_OPEN


@pytest.mark.parametrize("rules", [{}, RULES])
def test_what_a_node_sends_to_a_client_that_is_gone_is_not_looked_at(
    tmp_path: Path, rules: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first half of an answer was dropped because its client had disconnected, and the second half arrives before the disconnect is
    processed."""
    answer = framed(bytes(3) + b"\1" + b"\xff" * 200)
    came: list[bytes] = []
    with upstream(lambda link, frame: link.sendall(answer[:100])) as node, recording(node.address, tmp_path / "j", **rules) as proxy:
        turns = proxy.proxy.turns
        with client(proxy) as asker:
            asker.send(10, 2)
            until("the first half", lambda: proxy.on_loop(lambda: proxy.proxy.held.bytes), proxy.rows)
            passed = proxy.proxy.relays[1]
            takes = passed.server.takes

            def takes_told(data: bytes) -> None:
                came.append(data)
                takes(data)

            passed.server.takes = takes_told
            monkeypatch.setattr(turns, "_soon", lambda callback: asyncio.get_running_loop().call_later(3600, callback))
            breaks_off(asker.socket)
            until("it is lost", lambda: passed.client.lost, proxy.rows)
            node.connections[-1].sendall(answer[100:])
            until("the second half", lambda: b"".join(came) == answer[100:], lambda: came)
            monkeypatch.undo()
            proxy.on_loop(turns._turn)
            row = close_row(proxy)
        rows = proxy.close()
    assert row["by"] == "client" and row["reason"].startswith("the connection broke")
    assert [each["what"] for each in of_kind(rows, "note")] == ["end"]


@pytest.mark.parametrize("rules", [{}, RULES])
@pytest.mark.parametrize("by", ["client", "server"])
def test_a_connection_that_one_side_breaks_off_breaks_on_the_other(tmp_path: Path, by: str, rules: dict[str, Any]) -> None:
    heard: list[bytes | str] = []

    def answer(link: socket.socket, frame: bytes) -> None:
        if by == "server":
            breaks_off(link)
        else:
            heard.append(hears(link))

    with upstream(answer) as node, recording(node.address, tmp_path / "j", **rules) as proxy:
        with client(proxy) as asker:
            asker.send(12, 4, HEARTBEAT)
            until("it is passed on", lambda: node.frames, proxy.rows)
            if by == "server":
                heard.append(hears(asker.socket))
            else:
                breaks_off(asker.socket)
            row = close_row(proxy)
    assert heard == ["RST"]
    how = "the connection broke: " if by == "client" else f"the upstream {node.address} broke the connection: "
    assert row["by"] == by and row["reason"].startswith(how) and row["reason"].endswith(", with a request unanswered")


# -- the end


def test_it_ends_although_a_peer_goes_on(tmp_path: Path) -> None:
    with upstream(echoes) as node, recording(node.address, tmp_path / "j") as proxy, client(proxy) as asker:
        over = threading.Event()

        def flood() -> None:
            with suppress(OSError):
                while not over.is_set():
                    asker.write(heartbeats(100))

        flooding = threading.Thread(target=flood, daemon=True)
        flooding.start()
        until("requests come", lambda: len(node.frames) > relay.MOST_OPEN, lambda: len(node.frames))
        rows = proxy.close()
        over.set()
        flooding.join(60)
    assert rows[-1]["what"] == "end" and of_kind(rows, "close")[0]["reason"].startswith("the recording ends")
    assert not [row for row in of_kind(rows, "note") if row["what"] == NOT_RECORDED]


def test_a_recording_that_ends_far_behind_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(work, "PAUSE_S", 3600)  # With this long pause the recorder writes no rows before the recording ends.
    monkeypatch.setattr(proxy_module, "FINISH_WITHIN_NS", -1)
    with upstream(echoes) as node, recording(node.address, tmp_path / "j") as proxy, client(proxy) as asker:
        asker.send(12, 4, HEARTBEAT)
        asker.receive()
        (note,) = [row for row in of_kind(proxy.close(), "note") if row["what"] == NOT_RECORDED]
    assert note["fields"]["pieces"] >= 3


def test_descriptors_are_given_back(tmp_path: Path) -> None:
    def open_ones() -> int:
        return len(os.listdir("/proc/self/fd"))

    with upstream(silent) as node, recording(node.address, tmp_path / "j") as proxy:
        with client(proxy):
            until("the first", lambda: len(node.connections) == 2, lambda: node.connections)
        close_row(proxy)
        of_node = len(node.connections)
        before = open_ones()
        askers = [client(proxy) for _ in range(50)]
        until("all", lambda: len(node.connections) == of_node + 50, lambda: len(node.connections))
        for each in askers:
            each.close()
        until("closed", lambda: not proxy.on_loop(lambda: len(proxy.proxy.relays)), lambda: proxy.on_loop(lambda: len(proxy.proxy.relays)))
        # The remaining 50 descriptors belong to the scripted upstream node, which closes them when it stops.
        assert open_ones() <= before + 50


# -- memory


def test_a_long_request_passes_and_only_its_head_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(relay, "MOST_READ", KEPT_BYTES)
    with upstream(echoes) as node, recording(node.address, tmp_path / "j") as proxy, client(proxy) as asker:
        asker.write(framed(LONG)[:200_000])
        until("some of it", lambda: proxy.on_loop(lambda: proxy.proxy.held.bytes), proxy.rows)
        proxy.on_loop(proxy.proxy.work.finish)
        assert proxy.on_loop(lambda: proxy.proxy.held.bytes) == KEPT_BYTES
        asker.write(framed(LONG)[200_000:] + request(12, 4, HEARTBEAT, 8))
        assert [asker.receive(), asker.receive()] == [(7).to_bytes(4, "big"), (8).to_bytes(4, "big")]
        rows = proxy.close()
    assert node.frames[0] == LONG and proxy.proxy.held.bytes == 0
    first, second = of_kind(rows, "request")
    assert (first["size"], first["client_id"], first["correlation_id"]) == (len(LONG), "app", 7)
    assert first["note"] == f"Heartbeat with {len(LONG)} bytes is not decoded: neither this request nor its answer is kept"
    assert second["correlation_id"] == 8 and second["message"]["member_id"] == "m"


def test_frames_are_kept_while_there_is_room_for_all(tmp_path: Path) -> None:
    with upstream(silent) as node, recording(node.address, tmp_path / "j") as proxy, client(proxy) as one, client(proxy) as other:
        held = proxy.proxy.held
        held.most = 250_000
        for asker in (one, other):
            asker.write(framed(LONG)[:200_000])
        until("both", lambda: proxy.on_loop(lambda: proxy.proxy.work.finish() or held.bytes) == 200_000 - 4 + KEPT_BYTES, proxy.rows)
        for asker in (one, other):
            asker.write(framed(LONG)[200_000:])
        until("passed on", lambda: len(node.frames) == 2, lambda: len(node.frames))
        notes = [row.get("note") for row in of_kind(proxy.close(), "request")]
    assert node.frames == [LONG, LONG] and held.bytes == 0
    assert sorted(note is None or "is not decoded" not in note for note in notes) == [False, True]


def test_a_long_answer_passes_and_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(relay, "MOST_READ", KEPT_BYTES)
    body = bytes(300_000)
    with upstream(lambda link, frame: link.sendall(framed(frame[4:8] + body))) as node, recording(node.address, tmp_path / "j") as proxy:
        with client(proxy) as asker:
            asker.send(12, 4, HEARTBEAT)
            assert asker.receive()[4:] == body
        rows = proxy.close()
    (note,) = [row for row in of_kind(rows, "note") if row["what"] == UNREAD_ANSWER]
    assert note["fields"]["reason"].startswith(f"it has {len(body) + 4} bytes, and at most ")
    assert of_kind(rows, "reply")[0]["size"] == len(body) + 4


def test_an_answer_with_addresses_for_which_there_is_no_room_is_refused(tmp_path: Path) -> None:
    half = framed(bytes(3) + b"\1" + bytes(200_000))[:100_000]
    with upstream(lambda link, frame: link.sendall(half)) as node, recording(node.address, tmp_path / "j") as proxy:
        proxy.proxy.held.most = 50_000
        with client(proxy) as asker:
            asker.send(10, 2)
            assert asker.socket.recv(1) == b""
            row = close_row(proxy)
        assert proxy.on_loop(lambda: proxy.proxy.held.bytes) == 0
    said = "the connection would keep back an answer while unfinished frames of all connections have more than 50000 bytes"
    assert (row["by"], row["reason"]) == ("server", f"{said}, with a request unanswered")


# -- too many nodes


def too_many(node: list[ScriptedUpstream]) -> list[tuple[int, str, int]]:
    return [(number, *node[0].where) for number in range(MOST_NODES + 1)]


def test_a_cluster_of_too_many_nodes_is_refused_at_the_start(tmp_path: Path) -> None:
    made: list[ScriptedUpstream] = []
    with upstream(silent, brokers=lambda: too_many(made)) as node:
        made.append(node)
        said = f"the upstream {node.address} names 1001 brokers, and a recording has a port of its own for each, for at most 1000"
        with pytest.raises(CannotStart, match=f"^{said}: name another cluster in --upstream$"):
            Recording(node.address, tmp_path / "j")


def test_a_cluster_that_grows_too_large_is_refused_with_its_connection(tmp_path: Path) -> None:
    made: list[ScriptedUpstream] = []
    with upstream(silent, brokers=lambda: too_many(made)[: len(made)]) as node:
        made.append(node)
        with recording(node.address, tmp_path / "j") as proxy:
            made *= MOST_NODES + 1
            with client(proxy) as asker:
                asker.send(3, 9, MetadataRequest())
                assert asker.socket.recv(1) == b""
            row = close_row(proxy)
            assert len(proxy.proxy.upstream.nodes) == 1
    assert row["reason"].startswith(f"the upstream {node.address} names {MOST_NODES + 1} brokers, and a recording has a port of its own")
