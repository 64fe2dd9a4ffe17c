"""Plays the examples of audit rules: a scripted client against the whole driver on a virtual clock, and the rows that it leaves.

The same texts are played over TCP by tests/live/audit.
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
"""What the probe's macros give to A, B, ...: a broker passes any bytes on, a consumer wants an Assignment, here of one partition each."""
FIRST_TOPIC = re.compile(r"^topics: t1:", re.MULTILINE)
TIMES = {"session_timeout_ms": 10_000, "rebalance_timeout_ms": 10_000}
"""What members of examples say of themselves where an example does not: a rebalance timeout that CLIENT-32 likes."""


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
