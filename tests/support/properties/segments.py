"""Each connection gets its answers in the order of its requests, however the bytes are cut and whenever the core answers.

Case: `plans`: per connection [API keys asked, lengths of the first pieces]; `order`: which piece comes next; `read_ahead`: bytes.
"""

from __future__ import annotations

from types import SimpleNamespace

from found import Case, Property
from stub_core import StubCore, frame

from groupmock.config.limits import Limits
from groupmock.core.events import Command
from groupmock.rig import Wire, WireRig
from groupmock.rig.wire import frames_of


class Tape(Wire):
    """Keeps all bytes that the driver writes."""

    def correlations(self) -> list[int]:
        return [int.from_bytes(frame[:4], "big", signed=True) for frame in frames_of(self.data)[0]]


def _play(case: Case) -> None:
    core = StubCore()
    rig = WireRig(core, limits=Limits(connection_read_ahead_bytes=case["read_ahead"]))
    driver = rig.driver
    sides = [side(rig, kinds, cuts) for kinds, cuts in case["plans"]]
    chance = case["order"]
    while any(one.pieces for one in sides) or core.parked:
        chance = (chance * 1103515245 + 12345) % 2**31
        ready = [one for one in sides if one.pieces and one.tape.reading]
        if core.parked and (not ready or chance % 5 == 0):
            driver.submit(Command("release", {}))
        else:
            one = ready[chance // 8 % len(ready)]
            one.tape.send(one.pieces.pop(0))
        assert all(one.tape.reading == (one.tape.connection.waiting < case["read_ahead"]) for one in sides), "read on, but not too far"
    for one in sides:
        assert one.tape.correlations() == list(range(len(one.kinds)))
    assert driver.counters.held_bytes == 0 and driver.counters.internal_errors == 0
    assert driver.counters.handled == sum(len(one.kinds) for one in sides)


def side(rig: WireRig, kinds: list[int], cuts: list[int]) -> SimpleNamespace:
    data = b"".join(request(key, correlation) for correlation, key in enumerate(kinds))
    pieces = []
    for cut in cuts:
        pieces.append(data[:cut])
        data = data[cut:]
    return SimpleNamespace(tape=rig.plug(Tape()), pieces=[piece for piece in [*pieces, data] if piece], kinds=kinds)


def request(key: int, correlation: int) -> bytes:
    fields = {"group_id": "g", "member_id": "m"} if key == 12 else {}
    return frame(key, {18: 0, 12: 4, 11: 5, 3: 1}[key], correlation, **fields)


SEGMENTS = Property("segments", _play)
