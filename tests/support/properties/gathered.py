"""Handling the reads of one iteration of the loop together changes neither the bytes that clients receive nor the lines of a journal file.

Case: `turns`: a list of iterations, each a list of what clients send in it: ["join", place], ["sync", place], ["leave", place], ["beats",
place, how many in one piece], ["cut", place, the byte before which a heartbeat is cut in two pieces], ["finish", place] (no more bytes
come) and ["hang up", place]; or ["wait", ms] instead of a list.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any
from unittest import mock

from found import Case, Property
from turned_loop import Loop

from groupmock.journal.file import FileSink
from groupmock.net import gathering
from groupmock.rig import WireRig
from groupmock.rig.wire import request
from groupmock_codec import APIS
from groupmock_codec.messages.k11_join_group import JoinGroupRequest, JoinGroupRequestProtocol
from groupmock_codec.messages.k12_heartbeat import HeartbeatRequest
from groupmock_codec.messages.k13_leave_group import LeaveGroupRequest
from groupmock_codec.messages.k14_sync_group import SyncGroupRequest, SyncGroupRequestAssignment

MEMBERS = 3
SETTINGS = {"group.initial.rebalance.delay.ms": 10, "group.min.session.timeout.ms": 100}


class Clients:
    """Members of one group, each with a connection to a driver, which gathers the reads of a turn or handles each at once."""

    def __init__(self, path: Path, gathers: bool) -> None:
        self.path, self.loop = path, Loop()
        gather = self.loop.soon if gathers else None
        self.rig = WireRig.make(settings=SETTINGS, sinks=[FileSink(str(path), self.failed)], gather=gather)
        self.wires = [self.rig.connect() for _ in range(MEMBERS)]
        self.asked: list[list[tuple[int, int]]] = [[] for _ in range(MEMBERS)]
        self.members = [("", 0)] * MEMBERS
        self.leads: list[list[str]] = [[] for _ in range(MEMBERS)]
        self.received = [b""] * MEMBERS

    def failed(self, reason: str) -> None:
        raise AssertionError(reason)

    def frame(self, place: int, key: int, version: int, message: Any) -> bytes:
        self.asked[place].append((key, version))
        return request(key, version, message, len(self.asked[place]), f"c{place}")

    def beat(self, place: int) -> bytes:
        member, generation = self.members[place]
        return self.frame(place, 12, 1, HeartbeatRequest(group_id="g", generation_id=generation, member_id=member))

    def send(self, kind: str, place: int, *more: Any) -> None:
        """Pass on what one client sends; nobody reads the answers before the end of the turn."""
        member, generation = self.members[place]
        wire = self.wires[place]
        if kind == "join":
            protocols = [JoinGroupRequestProtocol("range", b"")]
            join = JoinGroupRequest("g", 1000, 1000, member, None, "consumer", protocols)
            wire.send(self.frame(place, 11, 4, join))
        elif kind == "sync":
            given = [SyncGroupRequestAssignment(each, each.encode()) for each in self.leads[place]]
            wire.send(self.frame(place, 14, 1, SyncGroupRequest("g", generation, member, assignments=given)))
        elif kind == "leave":
            wire.send(self.frame(place, 13, 1, LeaveGroupRequest("g", member)))
        elif kind == "beats":
            wire.send(b"".join(self.beat(place) for _ in range(*more)))
        elif kind == "cut":
            data = self.beat(place)
            wire.send(data[: more[0]])
            wire.send(data[more[0] :])
        elif kind == "finish":
            wire.connection.eof_received()
        else:
            wire.connection.connection_lost(None)
            wire.closed = True

    def play(self, turns: list[Any]) -> None:
        for turn in turns:
            self.turn(turn) if not turn or isinstance(turn[0], list | tuple) else self.rig.sleep(turn[1])

    def turn(self, sends: list[Any]) -> None:
        """Let clients send in one iteration of the loop, end it, and read the answers."""
        ended: set[int] = set()
        for kind, place, *more in sends:
            if place not in ended:
                self.send(kind, place, *more)
            if kind in ("finish", "hang up"):  # No client sends anything after that.
                ended.add(place)
        while self.loop.ordered:
            self.loop.turn()
        for place, wire in enumerate(self.wires):
            self.received[place] += wire.data
            for frame in wire.take():
                self.read(place, frame)
            if wire.closed or wire.connection.state:
                self.wires[place], self.asked[place] = self.rig.connect(), []

    def read(self, place: int, frame: bytes) -> None:
        key, version = self.asked[place][int.from_bytes(frame[:4], "big") - 1]
        if key == 11:
            answer: Any = APIS[key].response.decode(version, frame[4:])
            self.members[place] = answer.member_id, answer.generation_id
            self.leads[place] = [each.member_id for each in answer.members]

    def lines(self) -> list[bytes]:
        """Close the journal and return its lines."""
        self.rig.close()
        return self.path.read_bytes().splitlines()


def _holds(case: Case) -> None:
    with tempfile.TemporaryDirectory() as folder, mock.patch.object(gathering, "FROM_CONNECTIONS", 0):
        sides = [Clients(Path(folder, f"{gathers}.jsonl"), gathers) for gathers in (True, False)]
        for side in sides:
            side.play(case["turns"])
        gathered, plain = sides
        assert gathered.received == plain.received
        assert gathered.lines() == plain.lines()
        assert not gathered.rig.driver.counters.internal_errors


GATHERED = Property("gathered", _holds)
"""With the reads of an iteration gathered, clients get the same bytes and a journal file the same lines as with each handled at once."""
