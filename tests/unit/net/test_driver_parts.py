"""The driver works without a loop, socket and server: tickets, backlog, alarm and clock are injected, and the transport is a list."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from stub_core import StubCore, frame

from groupmock.core.effects import MemberChanged, Moved, Note, TimerFired
from groupmock.core.events import Command
from groupmock.journal.rows import Header
from groupmock.net.call import Tickets
from groupmock.net.clock import NoAlarm
from groupmock.net.connection import Connection
from groupmock.rig import Wire, WireRig
from groupmock.rig.kept_rows import KeptRows
from groupmock_codec.api_keys import API_VERSIONS, JOIN_GROUP
from groupmock_codec.units import NS_PER_MS


class Tape(Wire):
    """A transport that records what is written."""

    def __init__(self) -> None:
        super().__init__()
        self.written: list[bytes] = []
        self.closed = False

    def close(self) -> None:
        self.closed = True

    def write(self, data: bytes | bytearray | memoryview) -> None:
        self.written.append(bytes(data))

    def correlations(self) -> list[int]:
        return [int.from_bytes(each[4:8], "big") for each in self.written]


class Rig(WireRig):
    def __init__(self, header: Header, **parts: Any) -> None:
        self.stub, self.tickets = StubCore(), Tickets()
        super().__init__(self.stub, header=header, tickets=self.tickets, **parts)

    def tape(self) -> tuple[Connection, Tape]:
        tape = self.plug(Tape())
        return tape.connection, tape


@pytest.fixture
def rig(header: Header) -> Rig:
    return Rig(header)


def test_what_waits_can_be_seen_in_the_tickets(rig: Rig) -> None:
    (first, tape), (second, _) = rig.tape(), rig.tape()
    first.data_received(frame(API_VERSIONS, 0, 5))
    first.data_received(frame(JOIN_GROUP, 5, 6, "me", group_id="g"))
    second.data_received(frame(JOIN_GROUP, 5, 7))
    assert {ticket: (call.connection, call.codec.name, call.client_id) for ticket, call in rig.tickets.items()} == {
        2: (first, "JoinGroup", "me"),
        3: (second, "JoinGroup", "peer"),
    }
    parked = rig.tickets[2]
    assert first.call is parked and parked.message is None and parked.asked().group_id == "g"  # type: ignore[attr-defined]  # a JoinGroup
    rig.driver.submit(Command("release", {}))
    assert tape.correlations() == [5, 6]
    assert [connection.call for connection in (first, second)] == [None, None] and not rig.tickets


def test_a_whole_frame_behind_a_parked_request_waits_for_its_answer(rig: Rig) -> None:
    """One read brings exactly one frame, which takes the shortest path through the connection."""
    connection, tape = rig.tape()
    connection.data_received(frame(JOIN_GROUP, 5, 1))
    connection.data_received(frame(API_VERSIONS, 0, 2))
    assert ([request.key for request in rig.stub.requests], tape.correlations()) == ([JOIN_GROUP], [])
    rig.driver.submit(Command("release", {}))
    assert tape.correlations() == [1, 2]


def test_a_backlog_without_slices_needs_no_loop(rig: Rig) -> None:
    tapes = []
    for number in range(100):
        connection, tape = rig.tape()
        connection.data_received(frame(JOIN_GROUP, 5, number))
        tapes.append(tape)
    rig.driver.submit(Command("release", {}))
    assert [tape.correlations() for tape in tapes] == [[number] for number in range(100)]


def test_the_alarm_is_set_by_the_clock_that_was_handed_in(rig: Rig) -> None:
    rig.stub.due = 40 * NS_PER_MS
    rig.driver.settle()
    rig.clock.advance(39)
    assert rig.stub.fired == []
    rig.clock.advance(1)
    assert rig.stub.fired == [40 * NS_PER_MS]


def test_without_an_alarm_time_is_looked_at_when_the_driver_is_told(header: Header) -> None:
    rig = Rig(header, alarm=NoAlarm())
    rig.stub.due = 40 * NS_PER_MS
    rig.driver.settle()
    rig.clock.advance(100)
    assert rig.stub.fired == []
    rig.driver.expire(70)
    assert rig.stub.fired == [70]


@pytest.mark.parametrize(
    "effect",
    [
        Moved("g", "Empty", "Stable", 1, "member_joined", "because", "m1", "consumer", "range", 2),
        MemberChanged("g", "m1", "added", "member_joined", "it joined", "i1", "c1", "/127.0.0.1"),
        TimerFired("join", ("g",)),
        Note("topic_created", {"topic": "t"}),
    ],
)
def test_an_effect_that_is_a_row_has_all_its_fields_there(effect: msgspec.Struct) -> None:
    rig = WireRig.make(sinks=[kept := KeptRows()])
    rig.driver.record.effects[type(effect)](effect, 7)
    row = kept.rows[-1]
    assert row.t == 7
    assert msgspec.structs.asdict(effect).items() <= msgspec.structs.asdict(row).items()


def test_every_effect_that_is_a_row_was_looked_at() -> None:
    assert set(WireRig.make().driver.record.effects) == {Moved, MemberChanged, TimerFired, Note}
