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
Two or three members of one client read from one topic, write the records to another, and commit their offsets in the
same transaction: an exactly-once service as the documentation of each library describes it. Members are processes
([Python]({SOURCES}/python/transformer.py), [Java]({SOURCES}/java/src/main/java/groupmock/interop/Transformer.java)) that
end when they cannot go on; a supervisor starts them again. A seed determines each history (`tests/support/transaction_histories.py`):

- On any broker members are killed (SIGKILL), paused for longer than a session and perhaps than the transaction timeout, closed, and
  doubled: a twin with the same transactional id, or one in the place of a zombie that then wakes up;
- On groupmock faults strike as well (up to four random rules and often a ready plan: errors that a broker may answer, lost answers, broken
  connections, delays, a fence, a timeout, markers that come late, a coordinator that moves), and an operator aborts, fences, moves,
  rebalances and stops nodes.

Then all faults end, the members catch up, the last transaction ends, and the committed output is compared with the input. *Exact*
means that each record was read once and no other, and exactly the records below the committed offsets
(`tests/support/exactly_once.py`)."""
LEGEND: Final = """\
The seeds begin at 1. *Steps* are the actions of users and operators. *Members that ended* had to end, because they were
fenced or had no answer for long; each was restarted. *Stalls* are times of 30 s without progress although no fault was
left; all members were restarted then. *Rules broken* are rules of the audit about the group of offsets (CLIENT-45), the
begin of reading and fenced producers, judged by the journal."""
ZOMBIES: Final = """\
Two members are paused in turn, four times, each for longer than its session, without faults. When one wakes up, the
other has its partitions, and it still has records that it fetched before."""
PLANNED: Final = """\
Two members run under one [plan](../how-to/faults.md#ready-plans) without other faults; the quotes are errors of a member."""
FINDINGS: Final = """\
- aiokafka 0.14.0 sends offsets without the group's metadata (TxnOffsetCommit v0; KIP-447), so the group cannot refuse the
  offsets of a member that lost its partition. The program therefore has a transactional id for each partition, which a new owner takes
  before it looks at the
  committed offset. A program with one id for each member is not exact, here and on Apache Kafka: CLIENT-45 says why.
- aiokafka 0.14.0 commits a transaction with a refused write, unless the caller checks the futures of `send()`: with
  INVALID_RECORD (87) for its only batches `async with producer.transaction()` ends without an error, and no record can
  be read. The program awaits each future.
- aiokafka 0.14.0, `seek_to_committed()` does nothing if the committed offset is 0 or missing: after the abort of the first
  transaction of a partition its records are skipped. The program seeks by itself.
- confluent-kafka 2.16.1 (librdkafka): `send_offsets_to_transaction()` sometimes waits for ever, despite its timeout, after
  a connection broke in a transaction: AddOffsetsToTxn was answered, TxnOffsetCommit is never sent; known as librdkafka issues 5511 and
  5456,
  open. Also, an OffsetFetch that was answered NOT_COORDINATOR (16) is not repeated (CLIENT-69): issue 5586, open. Both are stalls and
  neither lose nor double records.
- aiokafka 0.14.0 checks only the errors of partitions: an OffsetFetch that is refused as a whole (NOT_COORDINATOR, 16, as the group's
  coordinator moves) is "nothing committed" to `committed()`, and the member reads its partition from the start: records twice (seeds 42 and
  44; CLIENT-69). Apache Kafka above does not show this because no coordinator moves there.
- aiokafka 0.14.0: a member that was expelled during a rebalance sometimes sends only Metadata for half a minute, although every request was
  answered.
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
        yield from (f"- {row['client']} on {row['broker']}, {each}" for each in row["wrong"])


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
