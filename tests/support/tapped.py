"""An onlooker on every connection of a rig: what passes by is recorded, beside the journal that the rig writes of itself."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from typing import Any

import msgspec

from groupmock.core.turn import Turn
from groupmock.journal.journal import Journal, Sink
from groupmock.journal.rows import Header, Row
from groupmock.record.dialogue import Dialogue, Line, header
from groupmock.rig.wire import frames_of
from groupmock.rig.wire_rig import Wire, WireRig
from groupmock_clients.probe.language.scope import Value
from groupmock_clients.probe.stages.contract import Answer, Closed, NotOnThisStage, Tolerance
from groupmock_clients.probe.stages.core_stage import core_config
from groupmock_codec import APIS
from groupmock_codec.declare import Message, Versions
from groupmock_codec.units import NS_PER_MS

JsonRow = dict[str, Any]


class Rows(Sink):
    """Every row, as a file would have it read back."""

    routine = True
    heartbeats = True
    details = True

    def __init__(self) -> None:
        self.rows: list[JsonRow] = []
        self.header: Header | None = None

    def begin(self, header: Header) -> None:
        self.header = header

    def take(self, row: Row) -> None:
        found: JsonRow = msgspec.json.decode(msgspec.json.encode(row))
        self.rows.append(found)

    def take_repeated(self, repeated: Any) -> None:
        for row in repeated.rows():
            self.take(row)


class TappedWire(Wire):
    """A connection to the rig with a line of the recording beside it."""

    def __init__(self, dialogue: Dialogue) -> None:
        super().__init__()
        self.dialogue = dialogue
        self.line: Line
        self._asked = b""
        self._answered = b""
        self.resets = False

    def open(self, driver: Any, number: int, node: int, host: str, port: int) -> None:
        self._now = driver.now
        self.line = self.dialogue.opened(number, node, host.removeprefix("/"), port, self._now())
        super().open(driver, number, node, host, port)

    def send(self, data: bytes) -> None:
        if not self.closed:
            frames, self._asked = frames_of(self._asked + data)
            for frame in frames:
                self.dialogue.asked(self.line, frame, self._now())
        super().send(data)

    def write(self, data: bytes | bytearray | memoryview) -> None:
        if not self.closed:
            frames, self._answered = frames_of(self._answered + bytes(data))
            for frame in frames:
                self.dialogue.answered(self.line, frame, self._now())
        super().write(data)

    def hang_up(self) -> None:
        if not self.closed:
            reason = "the client closed" + (", with a request unanswered" if self.line.pending else "")
            self.dialogue.closed(self.line, "client", reason, self._now(), len(self._asked))
        super().hang_up()

    def close(self) -> None:
        if not self.closed:
            self.dialogue.closed(self.line, "server", "the node closed the connection", self._now(), len(self._asked))
        super().close()


class Tapped:
    """A rig with a tap: `own` are the rows that it wrote itself, `recorded` those of the onlooker."""

    def __init__(self, **made: Any) -> None:
        self.own, self.recorded = Rows(), Rows()
        self.rig = WireRig.make(sinks=[self.own], **made)
        journal = Journal(header("tapped", self.rig.clock.epoch_ns, {}), [self.recorded])
        journal.begin()
        self.dialogue = Dialogue(journal, beats=True)

    def connect(self, node: int = 1) -> TappedWire:
        return self.rig.plug(TappedWire(self.dialogue), node)


class TappedStage:
    """An exchange's stage: our driver on a virtual clock, through bytes, with the tap."""

    kind = "core"
    tolerance = Tolerance()

    def __init__(self, release: str, settings: Mapping[str, str], seed: int = 1) -> None:
        config = core_config(release, settings)
        self.release, self.settings = release, settings
        self.topic_ids: dict[str, bytes] = {}
        self.tap = Tapped(profile=config.profile.name, settings=settings, seed=seed)
        self.rig = self.tap.rig
        self._ranges = {row.key: Versions(row.lowest, row.highest) for row in self.rig.core.environment.identity.advertised}
        self._wires: dict[str, TappedWire] = {}

    def group(self) -> str:
        return f"g-{secrets.token_hex(5)}"

    def now_ms(self) -> float:
        return self.rig.now_ms

    def wall_ms(self) -> int:
        return self.rig.core.environment.wall_ms(self.rig.clock.now())

    def pause(self, ms: float) -> None:
        self.rig.sleep(ms)

    def versions(self, key: int) -> Versions | None:
        return self._ranges.get(key)

    def topic(self, name: str, partitions: int, configs: Mapping[str, str] | None = None) -> str:
        topics = self.rig.core.cluster.topics
        turn = Turn(self.rig.core.environment, self.rig.clock.now(), [])
        self.topic_ids[name] = topics.add(turn, name, topics.place(name, partitions, 1), configs or {}).topic_id
        return name

    def command(self, name: str, arguments: dict[str, Value]) -> None:
        self.rig.command(name, **arguments)

    def send(self, member: str, key: int, version: int, client_id: str | None, message: Message) -> None:
        wire = self._wire(member)
        wire.side.client_id = client_id
        wire.send(wire.side.ask(key, version, message, self.now_ms()))

    def send_bytes(self, member: str, data: bytes) -> None:
        raise NotOnThisStage("bytes are sent over TCP only")

    def answer(self, member: str, limit_ms: float) -> Answer | None:
        wire, until = self._wire(member), self.rig.clock.now() + round(limit_ms * NS_PER_MS)
        while len(wire.data) < 4 and not wire.closed and self.rig.clock.now() < until:
            self.rig.clock.step(min(NS_PER_MS, until - self.rig.clock.now()))
        if len(wire.data) < 4:
            self.rig.clock.step(0)  # what is due now
        frames, rest = frames_of(wire.data)
        if not frames:
            if wire.closed:
                raise Closed
            return None
        wire.data = b"".join(len(frame).to_bytes(4, "big") + frame for frame in frames[1:]) + rest
        asked = wire.side.pending.popleft()
        read, message = asked.read(frames[0])
        return Answer(APIS[asked.key].name, read, message, asked.tag, self.now_ms())

    def hang_up(self, member: str, how: str) -> None:
        if how == "finishes":
            raise NotOnThisStage("connections are half-closed over TCP only")
        self._wires.pop(member).hang_up()

    def close(self) -> None:
        self.tap.dialogue.ended()

    def _wire(self, member: str) -> TappedWire:
        if member not in self._wires:
            self._wires[member] = self.tap.connect()
        return self._wires[member]
