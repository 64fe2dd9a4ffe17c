"""Plays the examples of audit rules: a scripted client against the whole driver on a virtual clock, and the rows that it leaves.

The same texts are played over TCP by tests/live/audit.
"""

from __future__ import annotations

import re
import struct
import tempfile
from collections import deque
from collections.abc import Mapping
from io import BytesIO
from pathlib import Path

import msgspec

from groupmock.audit.rule import Rule
from groupmock.journal.read import JournalReader, UnknownRow
from groupmock.journal.rows import Row
from groupmock.net.clock import VirtualClock
from groupmock.rig.kept_rows import KeptRows
from groupmock.rig.wire import is_answered, read_response, request
from groupmock.rig.wire_rig import Wire, WireRig, rig_header
from groupmock_clients.probe.language.exchange import Exchange
from groupmock_clients.probe.language.exchange_suite import FOLDER
from groupmock_clients.probe.language.parser import load
from groupmock_clients.probe.language.scope import Value
from groupmock_clients.probe.stages.contract import Answer, Closed, NotOnThisStage, Tolerance
from groupmock_clients.probe.verdicts.runner import play
from groupmock_codec import APIS
from groupmock_codec.declare import Message, Versions

SETUP = FOLDER / "00-setup.exchange"
OPAQUE = re.compile(r'b"for ([A-Z])"')
"""What the probe's macros give to A, B, ...: a broker passes any bytes on, a consumer wants an Assignment, here of one partition each."""
FIRST_TOPIC = re.compile(r"^topics: t1:", re.MULTILINE)
TIMES = {"session_timeout_ms": 10_000, "rebalance_timeout_ms": 10_000}
"""What members of examples say of themselves where an example does not: a rebalance timeout that CLIENT-32 likes."""


class WireStage:
    """A stage of exchanges: the driver with bytes and virtual time, a cluster of its own for each dialogue."""

    kind = "tcp"
    tolerance = Tolerance()

    def __init__(self, settings: Mapping[str, str], release: str = "4.3") -> None:
        self.release, self.settings = release, settings
        self.topic_ids: dict[str, bytes] = {}
        self.kept = KeptRows(heartbeats=True)
        self.rig = WireRig.make(profile=f"kafka-{release}", settings=settings, sinks=[self.kept])
        self._wires: dict[str, Wire] = {}
        self._asked: dict[str, deque[tuple[int, int, int, float]]] = {}
        self._answers: dict[str, deque[Answer]] = {}
        self._correlation = 0

    def group(self) -> str:
        return "g"

    def now_ms(self) -> float:
        return self.rig.now_ms

    def wall_ms(self) -> int:
        return self.rig.core.environment.wall_ms(self.rig.clock.now())

    def versions(self, key: int) -> Versions | None:
        return next((Versions(row.lowest, row.highest) for row in self.rig.core.environment.identity.advertised if row.key == key), None)

    def topic(self, name: str, partitions: int, configs: Mapping[str, str] | None = None) -> str:
        if configs:
            raise NotOnThisStage("topics with configs are not made by command")
        self.rig.command("create_topic", name=name, partitions=partitions)
        self.topic_ids[name] = self.rig.core.cluster.topics.require(name).topic_id
        return name

    def send(self, member: str, key: int, version: int, client_id: str | None, message: Message) -> None:
        self._correlation += 1
        if is_answered(key, message):
            self._asked.setdefault(member, deque()).append((key, version, self._correlation, self.now_ms()))
        self._wire(member).send(request(key, version, message, self._correlation, client_id))

    def send_bytes(self, member: str, data: bytes) -> None:
        """Bytes that begin as a request does have an answer that is awaited like any other."""
        wire = self._wire(member)
        if len(data) >= 12:
            _, key, version, correlation = struct.unpack_from(">ihhi", data)
            if key in APIS:
                self._asked.setdefault(member, deque()).append((key, version, correlation, self.now_ms()))
        wire.send(data)

    def _wire(self, member: str) -> Wire:
        if member not in self._wires:
            self._wires[member] = self.rig.connect()
            self._answers[member] = deque()
        return self._wires[member]

    def _read(self) -> None:
        for member, wire in self._wires.items():
            for frame in wire.take():
                key, version, correlation, sent = self._asked[member].popleft()
                written, message = read_response(key, version, frame, correlation)
                self._answers[member].append(Answer(APIS[key].name, written, message, sent, self.now_ms()))

    def answer(self, member: str, limit_ms: float) -> Answer | None:
        """The oldest answer that was not looked at; the clock is moved for it, at most so far."""
        wire, end = self._wire(member), self.now_ms() + limit_ms
        self._read()
        while not self._answers[member]:
            if wire.closed:
                raise Closed
            if self.now_ms() >= end:
                return None
            self.rig.sleep(min(5, end - self.now_ms()))
            self._read()
        return self._answers[member].popleft()

    def pause(self, ms: float) -> None:
        self.rig.sleep(ms)
        self._read()

    def hang_up(self, member: str, how: str) -> None:
        self._read()
        self._wire(member).hang_up()
        del self._wires[member]
        self._asked.pop(member, None)

    def command(self, name: str, arguments: dict[str, Value]) -> None:
        self.rig.command(name, **arguments)

    def close(self) -> None:
        self._read()


def exchange_of(rule: type[Rule], which: str) -> Exchange:
    """The example `kept` or `broken` of a rule. Raises ExchangeError for a text that is none."""
    settings = "".join(f"settings: {name}={value}\n" for name, value in rule.settings.items())
    body = getattr(rule, which).strip()
    return exchange_named(f"{rule.code}.{which}", settings + _subscribed(_timed(body)))


def exchange_named(name: str, body: str) -> Exchange:
    """What an audit looks at, as an exchange that can be played. Raises ExchangeError for a text that is none."""
    text = f'exchange {name} "what a client does"\nrows: {name.split(".")[0]}\n{body}\n'
    topic = "$t1" if FIRST_TOPIC.search(body) else "t"
    with tempfile.TemporaryDirectory() as folder:
        files = {Path(folder, SETUP.name): SETUP.read_text(encoding="utf-8"), Path(folder, f"{name}.exchange"): text}
        for file, written in files.items():
            given = OPAQUE.sub(lambda found: f'told(held("{topic}", {ord(found[1]) - ord("A")}))', written)
            file.write_text(given, encoding="utf-8")
        return load(files)[-1]


def _timed(body: str) -> str:
    """Members have timeouts: those that the example gives to all of them, the session's no longer than the other, or else TIMES."""
    line = next((line for line in body.splitlines() if line.startswith("member *:")), "member *:")
    given = dict(re.findall(r"(session_timeout_ms|rebalance_timeout_ms)=(\d+)", line))
    other = next(iter(given.values()), None)
    added = "".join(f" {name}={other or ms}" for name, ms in TIMES.items() if name not in given)
    timed = line.replace("member *:", f"member *:{added}", 1)
    return body.replace(line, timed, 1) if line in body else f"{timed}\n{body}"


def _subscribed(body: str) -> str:
    """Members of an example with a topic t1 subscribe to that, unless it says what they list."""
    if "protocols=" in body or not FIRST_TOPIC.search(body):
        return body
    protocols = 'protocols=[p("range", sub("$t1"))]'
    return body.replace("member *:", f"member *: {protocols}", 1) if "member *:" in body else f"member *: {protocols}\n{body}"


def played(rule: type[Rule], which: str) -> list[Row]:
    """The rows of the example. AssertionError where the broker answers something else than the text says."""
    return rows_of(exchange_of(rule, which))


def rows_of(exchange: Exchange) -> list[Row]:
    """The rows that an exchange leaves. AssertionError as above."""
    stage = WireStage(exchange.wanted_settings)
    outcome = play(next(exchange.variants()), stage)
    assert outcome.verdict == "kept", f"{exchange.name}: the exchange is not answered as it says: {outcome}"
    stage.rig.close()
    return stage.kept.rows


def from_a_file(rows: list[Row]) -> list[Row | UnknownRow]:
    """The same rows as a journal file gives them back."""
    lines = [msgspec.json.encode(rig_header(VirtualClock())), *(msgspec.json.encode(row) for row in rows)]
    return list(JournalReader(BytesIO(b"\n".join(lines) + b"\n")))
