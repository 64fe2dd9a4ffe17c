"""Repeating heartbeat answers without asking the core (a lease) changes neither the bytes that clients receive nor the lines of a journal
file.

Case: `steps`: ["wait", ms], ["leave", place], ["join", place], ["beats", place, [correlation, ...]] and ["mixed", place, [[correlation,
version, oddity], ...], where the bytes are cut in two (0: nowhere)].
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from found import Case, Property

from groupmock.journal.file import FileSink
from groupmock.rig import WireRig
from groupmock.rig.wire import request
from groupmock_codec import APIS
from groupmock_codec.messages.k11_join_group import JoinGroupRequestProtocol

MEMBERS = 2
ASKING = MEMBERS


class Side:
    """A driver with a journal file on a virtual clock, and connections without sockets."""

    def __init__(self, path: Path, leases: bool) -> None:
        self.path = path
        self.sink = FileSink(str(path), self.failed)
        self.rig = WireRig.make(settings={"group.initial.rebalance.delay.ms": 0}, sinks=[self.sink])
        self.clock, self.driver = self.rig.clock, self.rig.driver
        self.driver.use_leases(leases)
        self.connect()
        self.members = [("", 0)] * MEMBERS

    def connect(self) -> None:
        """Open one connection per member and one for the test itself."""
        self.wires = [self.rig.connect() for _ in range(MEMBERS + 1)]

    def failed(self, reason: str) -> None:
        raise AssertionError(reason)

    def ask(self, key: int, version: int, **fields: Any) -> Any:
        """Send a request on a separate connection, so that the driver may go on repeating heartbeat answers on the members' connections."""
        wire = self.wires[ASKING]
        wire.send(frame(key, version, 1, **fields))
        self.rig.sleep(0)
        return APIS[key].response.decode(version, wire.take()[-1][4:])

    def join(self, place: int) -> None:
        protocols = [JoinGroupRequestProtocol(name="p")]
        fields: dict[str, Any] = {"session_timeout_ms": 1000, "rebalance_timeout_ms": 1000, "protocol_type": "x", "protocols": protocols}
        refused = self.ask(11, 4, group_id=f"g{place}", **fields)
        joined = self.ask(11, 4, group_id=f"g{place}", member_id=refused.member_id, **fields)
        self.ask(14, 1, group_id=f"g{place}", generation_id=joined.generation_id, member_id=joined.member_id)
        self.members[place] = joined.member_id, joined.generation_id

    def leave(self, place: int) -> None:
        self.ask(13, 1, group_id=f"g{place}", member_id=self.members[place][0])

    def beat(self, place: int, correlation: int, version: int, oddity: str) -> bytes:
        member, generation = self.members[place]
        client = "other" if oddity == "client" else "c%d"
        # A wrong member id of the same length keeps the frame's size equal.
        member = member[::-1] if oddity == "ghost" else member
        data = frame(12, version, correlation, client, group_id=f"g{place}", generation_id=generation, member_id=member)
        return (len(data) - 4 + 3).to_bytes(4, "big") + data[4:] + b"%dx" if oddity == "trailing" else data

    def lines(self) -> bytes:
        """Close the journal and return its lines."""
        self.rig.close()
        return self.path.read_bytes()


def frame(key: int, version: int, correlation: int, client: str = "c%d", **fields: Any) -> bytes:
    return request(key, version, APIS[key].request.message(**fields), correlation, client)


def play(side: Side, steps: list[Any]) -> None:
    for place in range(MEMBERS):
        side.join(place)
    for kind, *arguments in steps:
        if kind == "wait":
            side.clock.advance(*arguments)
        elif kind == "leave":
            side.leave(*arguments)
        elif kind == "join":
            side.leave(*arguments)
            side.join(*arguments)
        else:
            beat(side, *arguments)


def beat(side: Side, place: int, sent: list[Any], cut: int = 0) -> None:
    data = b"".join(side.beat(place, *(one if isinstance(one, list | tuple) else (one, 4, ""))) for one in sent)
    for piece in (data[:cut], data[cut:]):
        if piece:
            side.wires[place].send(piece)


def _holds(case: Case) -> None:
    with tempfile.TemporaryDirectory() as folder:
        sides = [Side(Path(folder, f"{leases}.jsonl"), leases) for leases in (True, False)]
        for side in sides:
            play(side, case["steps"])
        leased, plain = sides
        for one, other in zip(leased.wires, plain.wires, strict=True):
            assert one.data == other.data
        assert leased.lines().splitlines() == plain.lines().splitlines()
        assert leased.driver.core.deadline() is not None or plain.driver.core.deadline() is None
        assert not leased.driver.counters.internal_errors


LEASES = Property("leases", _holds)
