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
Two or three members of one client read from one topic, write what they read to another, and commit their offsets in the same transaction:
an exactly-once service as the documentation of each library writes it. Members are processes
([Python]({SOURCES}/python/transformer.py), [Java]({SOURCES}/java/src/main/java/groupmock/interop/Transformer.java)) that
end when they cannot go on; a supervisor starts them again. Each history is drawn from a seed (`tests/support/transaction_histories.py`):

- on any broker members are killed (SIGKILL), paused for longer than a session and perhaps than their transaction may take, closed, and
  doubled: a twin with the same transactional id, or one in the place of a zombie that then wakes up;
- on groupmock faults strike as well (up to four random rules and often a ready plan: errors that a broker may answer, lost answers, broken
  connections, delays, a fence, a timeout, markers that come late, a coordinator that moves), and an operator aborts, fences, moves,
  rebalances and stops nodes.

Then nothing is broken any more, everybody catches up, the last transaction is over, and what a reader of committed records gets is held
against what was put in. *Exact*: each record once and no other, and just what lies below the committed offsets
(`tests/support/exactly_once.py`)."""
LEGEND: Final = """\
Seeds from 1 on. *Steps*: what people and operators did. *Members that ended* are those that had to, fenced or not answered for long; each
was started again. *Stalls*: nothing was broken any more, and for 30 s nobody got anywhere; all were restarted then. *Rules broken*: of
those of the audit about whose offsets these are (CLIENT-45), where reading begins and about fenced producers, judged by the journal."""
ZOMBIES: Final = """\
Two members that are paused in turn, four times, each for longer than its session, and no fault: when one wakes up the other has its
partitions, and it still has records that it had fetched before."""
PLANNED: Final = """\
Two members, one [plan](../how-to/faults.md#ready-plans), nothing else that breaks; in quotes what a member said."""
FINDINGS: Final = """\
- aiokafka 0.14.0 sends offsets without the group's metadata (TxnOffsetCommit v0; KIP-447), so the group cannot refuse those of a member
  that lost its partition. The program therefore has a transactional id for each partition, which a new owner takes before it looks at the
  committed offset. A program that has one for each member instead is not exact, here and on Apache Kafka: CLIENT-45 says why.
- aiokafka 0.14.0 commits a transaction of which a write was refused, unless the caller looks at the futures of `send()`: with
  INVALID_RECORD (87) for its only batches `async with producer.transaction()` ends without an error, and nothing can be read. The program
  awaits each.
- aiokafka 0.14.0, `seek_to_committed()` does nothing where the committed offset is 0 or there is none: after the abort of the first
  transaction of a partition its records are skipped. The program seeks by itself.
- confluent-kafka 2.16.1 (librdkafka): `send_offsets_to_transaction()` now and then waits for good, whatever its timeout, after a
  connection broke in a transaction: AddOffsetsToTxn was answered, TxnOffsetCommit is never sent; known as librdkafka issues 5511 and 5456,
  open. And an OffsetFetch that was answered NOT_COORDINATOR (16) is not asked again (CLIENT-69): issue 5586, open. Both are stalls; nothing
  is lost or doubled by them.
- aiokafka 0.14.0 looks at the errors of partitions alone: an OffsetFetch that is refused as a whole (NOT_COORDINATOR, 16, as the group's
  coordinator moves) is "nothing committed" to `committed()`, and the member reads its partition from the start: records twice (seeds 42 and
  44; CLIENT-69). Nothing of the kind is seen on Apache Kafka above because no coordinator moves there.
- aiokafka 0.14.0: a member that was expelled in the middle of a rebalance now and then sends nothing but Metadata for half a minute,
  although it was answered everything.
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
