"""However the bytes are cut and whenever answers come, each connection gets its answers in the order of its requests.

Case: `plans`: per connection [API keys asked, lengths of the first pieces]; `order`: which piece comes next; `read_ahead`: bytes.
"""

from __future__ import annotations

import asyncio
from types import SimpleNamespace

from found import Case, Property
from stub_core import StubCore, frame

from groupmock.clock import VirtualClock
from groupmock.core.events import Command
from groupmock.journal.journal import Journal
from groupmock.journal.rows import Header
from groupmock.net.connection import Connection
from groupmock.net.driver import Driver
from groupmock.net.limits import Limits


class Tape:
    """A transport that keeps what is written and says when it is asked to stop reading."""

    def __init__(self) -> None:
        self.written = b""
        self.reading = True

    def write(self, data: bytes) -> None:
        self.written += data

    def pause_reading(self) -> None:
        self.reading = False

    def resume_reading(self) -> None:
        self.reading = True

    def set_write_buffer_limits(self, high: int) -> None: ...

    def correlations(self) -> list[int]:
        found, at = [], 0
        while at < len(self.written):
            size = int.from_bytes(self.written[at : at + 4], "big")
            found.append(int.from_bytes(self.written[at + 4 : at + 8], "big", signed=True))
            at += 4 + size
        return found


async def _play(case: Case) -> None:
    core = StubCore()
    header = Header(v=1, run="x", product="x", seed=1, epoch_ns=0, profile="x", config={}, complete=False)
    driver = Driver(core, VirtualClock(), Journal(header), Limits(connection_read_ahead_bytes=case["read_ahead"]))
    sides = [side(driver, number, kinds, cuts) for number, (kinds, cuts) in enumerate(case["plans"])]
    chance = case["order"]
    while any(one.pieces for one in sides) or core.parked:
        chance = (chance * 1103515245 + 12345) % 2**31
        ready = [one for one in sides if one.pieces and one.tape.reading]
        if core.parked and (not ready or chance % 5 == 0):
            driver.submit(Command("release", {}))
        else:
            one = ready[chance // 8 % len(ready)]
            one.connection.data_received(one.pieces.pop(0))
        assert all(one.tape.reading == (one.connection.waiting < case["read_ahead"]) for one in sides), "read on, but not too far"
    for one in sides:
        assert one.tape.correlations() == list(range(len(one.kinds)))
    assert driver.counters.held_bytes == 0 and driver.counters.internal_errors == 0
    assert driver.counters.handled == sum(len(one.kinds) for one in sides)


def side(driver: Driver, number: int, kinds: list[int], cuts: list[int]) -> SimpleNamespace:
    data = b"".join(request(key, correlation) for correlation, key in enumerate(kinds))
    pieces = []
    for cut in cuts:
        pieces.append(data[:cut])
        data = data[cut:]
    tape = Tape()
    connection = Connection(driver, number, 1, "/127.0.0.1", 1)
    connection.connection_made(tape)  # type: ignore[arg-type]  # as much of a transport as the driver needs
    return SimpleNamespace(connection=connection, tape=tape, pieces=[piece for piece in [*pieces, data] if piece], kinds=kinds)


def request(key: int, correlation: int) -> bytes:
    fields = {"group_id": "g", "member_id": "m"} if key == 12 else {}
    return frame(key, {18: 0, 12: 4, 11: 5, 3: 1}[key], correlation, **fields)


SEGMENTS = Property("segments", lambda case: asyncio.run(_play(case)))
