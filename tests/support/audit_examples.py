"""Plays the examples of audit rules with a scripted client against the driver on a virtual clock, which writes journal rows.

tests/live/audit plays the same texts over TCP.
"""

from __future__ import annotations

import re
import tempfile
from io import BytesIO
from pathlib import Path

import msgspec
from wire_stage import WireStage

from groupmock.audit.rule import Rule
from groupmock.journal.read import JournalReader, UnknownRow
from groupmock.journal.rows import Row
from groupmock.net.clock import VirtualClock
from groupmock.rig.wire_rig import rig_header
from groupmock_clients.probe.language.exchange import Exchange
from groupmock_clients.probe.language.exchange_suite import FOLDER
from groupmock_clients.probe.language.parser import load
from groupmock_clients.probe.verdicts.runner import play

SETUP = FOLDER / "00-setup.exchange"
OPAQUE = re.compile(r'b"for ([A-Z])"')
"""Matches the opaque bytes that the probe's macros assign to members. A broker accepts any bytes, but a consumer needs an Assignment, so
each is replaced by an Assignment of one partition."""
OF_TIMERS = re.compile(r"(^pause (?=[4-9]\d\d|\d{4})|(?:session_timeout_ms|rebalance_timeout_ms|loading_ms)=)(\d+)", re.MULTILINE)
"""Matches timeouts and the pauses of 400 ms and more, which wait for a timeout. `pause 300` only says that an answer has been read."""
FIRST_TOPIC = re.compile(r"^topics: t1:", re.MULTILINE)
TIMES = {"session_timeout_ms": 10_000, "rebalance_timeout_ms": 10_000}
"""Timeouts of members in examples that name none; they satisfy the rule about rebalance timeouts (CLIENT-32)."""

GIVEN_AWAY = """
topics: t1:2
member *: protocols=[p("my-own", sub("$t1"))]
do completing1(A)
A: SyncGroup assignments=[for($A.member_id, told(held("$t1", 0, 1)))] -> 0
do enter(B)
pause 300
A: JoinGroup -> 0 generation_id=2 eventually
B -> 0
A: SyncGroup assignments=[for($A.member_id, told(held("$t1", 0))), for($B.member_id, told(held("$t1", 1)))] -> 0
{pause}
A: OffsetCommit topics=[t($t1, o(1, 5))] -> 0
"""
"""B joins and gets one of A's two partitions, and A commits an offset of that partition, at once or after a pause."""


def exchange_of(rule: type[Rule], which: str, slower: int = 1) -> Exchange:
    """Return the example of a rule that has this name in `Rule.examples`, with timeouts and the pauses that belong to them so many times
    as long. Raises ExchangeError for an invalid text."""
    settings = "".join(f"settings: {name}={value}\n" for name, value in rule.settings.items())
    body = _subscribed(_timed(rule.examples()[which].strip()))
    body = OF_TIMERS.sub(lambda found: f"{found[1]}{int(found[2]) * slower}", body)
    return exchange_named(f"{rule.code}.{which}", settings + body)


def exchange_named(name: str, body: str) -> Exchange:
    """Wrap the body of an example into an exchange that can be played. Raises ExchangeError for an invalid text."""
    text = f'exchange {name} "what a client does"\nrows: {name.split(".")[0]}\n{body}\n'
    topic = "$t1" if FIRST_TOPIC.search(body) else "t"
    with tempfile.TemporaryDirectory() as folder:
        files = {Path(folder, SETUP.name): SETUP.read_text(encoding="utf-8"), Path(folder, f"{name}.exchange"): text}
        for file, written in files.items():
            given = OPAQUE.sub(lambda found: f'told(held("{topic}", {ord(found[1]) - ord("A")}))', written)
            file.write_text(given, encoding="utf-8")
        return load(files)[-1]


def _timed(body: str) -> str:
    """Add timeouts to the JoinGroups of an example that names none. If the example gives only one of them, the other is equal to it;
    else TIMES apply."""
    line = next((line for line in body.splitlines() if line.startswith("member *:")), "member *:")
    given = dict(re.findall(r"(session_timeout_ms|rebalance_timeout_ms)=(\d+)", line))
    other = next(iter(given.values()), None)
    added = "".join(f" {name}={other or ms}" for name, ms in TIMES.items() if name not in given)
    timed = line.replace("member *:", f"member *:{added}", 1)
    return body.replace(line, timed, 1) if line in body else f"{timed}\n{body}"


def _subscribed(body: str) -> str:
    """Add a subscription to the topic t1 for all members of an example that lists no protocols."""
    if "protocols=" in body or not FIRST_TOPIC.search(body):
        return body
    protocols = 'protocols=[p("range", sub("$t1"))]'
    return body.replace("member *:", f"member *: {protocols}", 1) if "member *:" in body else f"member *: {protocols}\n{body}"


def played(rule: type[Rule], which: str) -> list[Row]:
    """Play a rule's example and return its journal rows. Raises AssertionError if the broker does not answer as the text says."""
    return rows_of(exchange_of(rule, which))


def rows_of(exchange: Exchange) -> list[Row]:
    """Play an exchange and return its journal rows. Raises AssertionError if the broker does not answer as the text says."""
    stage = WireStage(exchange.wanted_settings)
    outcome = play(next(exchange.variants()), stage)
    assert outcome.verdict == "kept", f"{exchange.name}: the exchange is not answered as it says: {outcome}"
    stage.rig.close()
    return stage.kept.rows


def from_a_file(rows: list[Row]) -> list[Row | UnknownRow]:
    lines = [msgspec.json.encode(rig_header(VirtualClock())), *(msgspec.json.encode(row) for row in rows)]
    return list(JournalReader(BytesIO(b"\n".join(lines) + b"\n")))
