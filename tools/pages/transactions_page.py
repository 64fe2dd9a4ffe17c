"""Write the page about stock clients in transactions under faults, recorded by `python -m tools.run_transactions --save`."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, Final

from groupmock.faults.facts import for_producers
from groupmock.faults.plan import read_plan, ready_plans
from tools.records import RECORDS

from .markdown import notice, table

DATA: Final = "transactions.json"
ONE_ID: Final = "aiokafka-one-id"
CLIENTS: Final = ("aiokafka", "confluent-kafka", "java")
SOURCES: Final = "https://github.com/groupmock/groupmock/blob/main/tests/interop/members"
ABOUT: Final = f"""\
Two or three members of one client read from one topic, write the records to another topic, and commit their offsets in the same
transaction. Together the members are an exactly-once service as the documentation of each library describes it. Members are processes
([Python]({SOURCES}/python/transformer.py), [Java]({SOURCES}/java/src/main/java/groupmock/interop/Transformer.java)) that end when they
cannot go on; a supervisor starts them again. A seed determines each history of events (`tests/support/transaction_histories.py`):

- On any broker members are killed (SIGKILL), paused for longer than a session and perhaps than the transaction timeout, closed, and
  duplicated: a second process with the same transactional id, or one that replaces a paused member which later continues as a zombie;
- On groupmock faults are applied as well (up to four random rules and often a ready plan: errors that a broker may answer, lost answers,
  broken connections, delays, a fence, a timeout, late markers, a coordinator that moves), and commands abort and fence transactions, move
  coordinators, force rebalances and stop nodes.

At the end of a history all faults end, the members catch up, the last transaction ends, and the committed output is compared with the
input. *Exact* means that each record, and no other, was read once, and that exactly the records below the committed offsets were read
(`tests/support/exactly_once.py`)."""
LEGEND: Final = """\
The seeds of the histories begin at 1. In the table *steps* are the actions of users and operators. *Members that ended* had to end, because
they were fenced or had no answer for long; each of them was restarted. *Stalls* are times of 30 s without progress although no fault was
left; all members were restarted after a stall. *Rules broken* are rules of the audit about the group of offsets (CLIENT-45), the start of
reading and fenced producers, judged by the journal."""
ZOMBIES: Final = """\
Two members are paused in turn, four times, each for longer than its session timeout, without faults. When a paused member continues, the
other member owns its partitions, and the paused member still has records that it fetched before."""
PLANNED: Final = """\
Two members run under one [plan](../how-to/faults.md#ready-plans) without other faults; the quotes in the table are errors of a member."""
FINDINGS: Final = """\
- aiokafka 0.14.0 sends offsets without the group's metadata (TxnOffsetCommit v0; KIP-447), so that the group cannot refuse the offsets of a
  member that lost its partition. The test program for aiokafka therefore has a transactional id for each partition, which a new owner takes
  over before it reads the committed offset. An aiokafka program with one transactional id for each member is not exact, neither on
  groupmock nor on Apache Kafka (see CLIENT-45).
- aiokafka 0.14.0 commits a transaction with a refused write, unless the caller checks the futures of `send()`: if its only batches are
  refused with INVALID_RECORD (87), `async with producer.transaction()` ends without an error, and no record can be read. Therefore the test
  program awaits each future of `send()`.
- In aiokafka 0.14.0 `seek_to_committed()` does nothing if the committed offset is 0 or missing, so that the records of a partition are
  skipped after the abort of its first transaction. Therefore the test program seeks to the committed offset by itself.
- In confluent-kafka 2.16.1 (librdkafka) `send_offsets_to_transaction()` sometimes waits for ever, despite its timeout, after a connection
  broke in a transaction: AddOffsetsToTxn was answered, but TxnOffsetCommit is never sent (librdkafka issues 5511 and 5456, open).
  confluent-kafka also does not repeat an OffsetFetch that was answered with NOT_COORDINATOR (16; CLIENT-69, librdkafka issue 5586, open).
  Both problems of confluent-kafka are stalls, which neither lose nor duplicate records.
- aiokafka 0.14.0 checks only the errors of partitions. The method `committed()` of aiokafka treats an OffsetFetch that is refused as a
  whole (NOT_COORDINATOR (16), when the group's coordinator moves) as "nothing committed", so that the member reads its partition from the
  start and reads records twice (seeds 42 and 44; CLIENT-69). The runs on Apache Kafka do not show this problem of aiokafka, because no
  coordinator moves there.
- In aiokafka 0.14.0 a member that was expelled during a rebalance sometimes sends only Metadata for half a minute, although every request
  was answered.
- aiokafka 0.14.0 raises AssertionError (an invalid transition of its state) from `abort_transaction()` of a producer that was fenced."""


def text() -> str:
    return page(load())


def load() -> dict[str, dict[str, Any]]:
    """Return the recorded histories (with and without faults) by client and broker, and plans by plan and client."""
    file = RECORDS / DATA
    found: dict[str, dict[str, Any]] = json.loads(file.read_text()) if file.is_file() else {}
    return {part: found.get(part, {}) for part in ("histories", "zombies", "plans")}


def page(data: dict[str, dict[str, Any]]) -> str:
    lines = [notice("transactions", DATA), "# Exactly once, through faults", "", ABOUT, "", "## Histories", ""]
    head = ["client", "broker", "histories", "exact", "faults that struck", "steps", "members that ended", "stalls", "rules broken"]
    lines += [*table(head, map(_history, _rows(data, "histories"))), "", LEGEND, "", *_wrong(data, "histories")]
    lines += ["", "## Zombies", "", ZOMBIES, ""]
    lines += [*table(head, map(_history, _rows(data, "zombies"))), "", "## Ready plans for producers", "", PLANNED, ""]
    lines += [*table(["plan", *CLIENTS], _plans(data["plans"])), "", "## Findings", "", FINDINGS]
    return "\n".join(lines) + "\n"


def _rows(data: dict[str, dict[str, Any]], part: str) -> list[dict[str, Any]]:
    return [data[part][name] for name in sorted(data[part])]


def _wrong(data: dict[str, dict[str, Any]], part: str) -> Iterator[str]:
    for row in _rows(data, part):
        yield from (f"- The history of {row['client']} on {row['broker']} with {each}." for each in row["wrong"])


def _history(row: dict[str, Any]) -> list[str]:
    here = row["broker"] == "groupmock"
    figures = [row["histories"], row["exact"], row["faults"] if here else "–", row["steps"], row["ends"], row["stalls"]]
    rules = ", ".join(f"[{code}](../reference/audit-rules.md#{code.lower()})" for code in row["broke"])
    name = f"{row['said'].partition(' on ')[0]}{', one id for each member' if row['client'] == ONE_ID else ''}"
    return [name, row["broker"], *map(str, figures), rules or ("none" if here else "–")]


def _plans(rows: dict[str, Any]) -> Iterator[list[str]]:
    for plan in ready_plans():
        if for_producers(read_plan(plan)):
            yield [f"`{plan}`", *(_cell(rows.get(f"{plan} {client}")) for client in CLIENTS)]


def _cell(row: dict[str, Any] | None) -> str:
    if row is None:
        return "not run"
    parts = ["exact" if row["exact"] else "**not exact**"]
    parts += [f"{row['ends']} member{'s' if row['ends'] > 1 else ''} ended"] if row["ends"] else []
    return "; ".join([*parts, *(f'"{each}"' for each in row["told"])]).replace("|", "\\|")
