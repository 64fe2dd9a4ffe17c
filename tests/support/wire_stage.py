"""Plays exchanges on the whole driver, with bytes and virtual time; each dialogue has its own cluster."""

from __future__ import annotations

import struct
from collections import deque
from collections.abc import Mapping

from groupmock.rig.kept_rows import KeptRows
from groupmock.rig.wire import BARE, Asked
from groupmock.rig.wire_rig import Wire, WireRig
from groupmock_clients.probe.language.scope import Value
from groupmock_clients.probe.stages.contract import Answer, Closed, NotOnThisStage, Opening, Tolerance
from groupmock_clients.probe.stages.letting_in import let_in
from groupmock_codec import APIS
from groupmock_codec.api_keys import SASL_AUTHENTICATE
from groupmock_codec.declare import Message, Versions
from groupmock_codec.units import NS_PER_MS


class WireStage:
    """Keeps the rows of its journal in `kept`, with `details` also the embedded structures."""

    kind = "tcp"
    tolerance = Tolerance()

    def __init__(
        self,
        settings: Mapping[str, str],
        release: str = "4.3",
        details: bool = False,
        seed: int = 1,
        listeners: Mapping[str, str] | None = None,
        passwords: Mapping[str, str] | None = None,
    ) -> None:
        self.release, self.settings = release, settings
        self.topic_ids: dict[str, bytes] = {}
        self.kept = KeptRows(heartbeats=True, details=details)
        self.known = passwords or {}
        self.rig = WireRig.make(
            profile=f"kafka-{release}", settings=settings, seed=seed, sinks=[self.kept], listeners=listeners, users=passwords
        )
        self._ranges = {row.key: Versions(row.lowest, row.highest) for row in self.rig.core.environment.identity.advertised}
        self._wires: dict[str, Wire] = {}
        self._answers: dict[str, deque[Answer]] = {}
        self._bare: set[str] = set()
        self._made: dict[str, str] = {}

    def connect(self) -> Wire:
        return self.rig.connect()

    def group(self) -> str:
        return "g"

    def now_ms(self) -> float:
        return self.rig.now_ms

    def wall_ms(self) -> int:
        return self.rig.core.environment.wall_ms(self.rig.clock.now())

    def versions(self, key: int) -> Versions | None:
        return self._ranges.get(key)

    def topic(self, name: str, partitions: int, configs: Mapping[str, str] | None = None) -> str:
        self.rig.command("create_topic", name=name, partitions=partitions, configs=dict(configs or {}))
        self.topic_ids[name] = self.rig.core.cluster.topics.require(name).topic_id
        return name

    def send(self, member: str, key: int, version: int, client_id: str | None, message: Message) -> None:
        wire = self._wire(member)
        wire.side.client_id = client_id
        wire.send(wire.side.ask(key, version, message, self.now_ms()))

    def open(self, member: str, opening: Opening) -> None:
        """Connect to a listener of the rig, which has no TLS."""
        if opening.certificate is not None:
            raise NotOnThisStage("TLS is spoken over TCP only")
        if member in self._wires:
            self.hang_up(member, "drops")
        self._wires[member] = self.rig.connect(listener=opening.listener)
        self._answers[member] = deque()
        if opening.bare:
            self._bare.add(member)
        if opening.user is not None:
            let_in(self, member, opening, self._made)

    def heard(self, member: str, limit_ms: float) -> tuple[bytes, bool]:
        wire = self._wire(member)
        if not wire.closed:
            self.rig.sleep(limit_ms)
        return wire.data, wire.closed

    def send_bytes(self, member: str, data: bytes, token: bool = False) -> None:
        """Send raw bytes without changing them. If they begin as a request does, their answer is awaited like any other."""
        wire = self._wire(member)
        if token:
            wire.side.pending.append(Asked(SASL_AUTHENTICATE, BARE, None, self.now_ms()))
        elif len(data) >= 12:
            _, key, version, correlation = struct.unpack_from(">ihhi", data)
            if key in APIS:
                wire.side.pending.append(Asked(key, version, correlation, self.now_ms()))
        wire.send(data)

    def _wire(self, member: str) -> Wire:
        if member not in self._wires:
            self._wires[member] = self.connect()
            self._answers[member] = deque()
        return self._wires[member]

    def _read(self) -> None:
        for member, wire in self._wires.items():
            if member in self._bare:
                continue
            for frame in wire.take() if wire.data else ():
                asked = wire.side.pending.popleft()
                written, message = asked.read(frame)
                self._answers[member].append(Answer(APIS[asked.key].name, written, message, asked.tag, self.now_ms()))

    def answer(self, member: str, limit_ms: float) -> Answer | None:
        """Return the oldest unread answer, for which the clock advances at most to the limit."""
        wire, clock = self._wire(member), self.rig.clock
        end = clock.now() + round(limit_ms * NS_PER_MS)
        self._read()
        while not self._answers[member]:
            if wire.closed:
                raise Closed
            due = clock.next_due()
            if due is None or due > end:
                clock.step(end - clock.now())
                return None
            clock.step(max(0, due - clock.now()))
            self._read()
        return self._answers[member].popleft()

    def pause(self, ms: float) -> None:
        self.rig.sleep(ms)
        self._read()

    def hang_up(self, member: str, how: str) -> None:
        if how == "finishes":
            raise NotOnThisStage("connections are half-closed over TCP only")
        self._read()
        self._wire(member).hang_up()
        del self._wires[member]

    def command(self, name: str, arguments: dict[str, Value]) -> None:
        self.rig.command(name, **arguments)
        if name == "set_user":
            self._made[str(arguments["name"])] = str(arguments["password"])

    def close(self) -> None:
        self._read()
