"""Write the page of the client matrix: the behaviour of Kafka and groupmock that stock clients saw, as tests/interop/matrix recorded it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from tools.records import RECORDS

from .markdown import notice, table

NOTICE = notice("clients", "clients.json")
CHECKS = {
    "joins": "one member gets everything, a second one half of it; DescribeGroups says Stable, the assignor, two members",
    "consumes": "each of 60 records comes once, to the member that holds its partition; transactions: who reads committed sees each once",
    "commits": "after both committed, the group's offsets are the log ends",
    "back": "Connect: a worker killed and back within `scheduled.rebalance.max.delay.ms` has its tasks again, and no other task moved;"
    " Streams: SIGKILL of an instance amid its work, and the same again: exactly once, who reads committed sees every input counted once;"
    " at least once, every input is counted, and after the crash nothing more is counted twice",
    "crash": "SIGKILL of a member: the survivor has everything once the session expired, in a new generation, and reads on from the"
    " commits; Connect: a worker that stays away loses its tasks to the others, after the delay and not before",
    "scales": "streams protocol: one instance becomes three while records come; every task is in one place, and every stateful one has its"
    " standby task in another instance",
    "dies": "streams protocol: one of three instances is killed amid its work; the two others have its tasks and the standby tasks, it"
    " comes back, and every input is counted as in `back`",
    "bounced": "streams protocol: each of three instances is closed and started again with its state while records come; meanwhile the"
    " two others have all tasks",
    "resumes": "all leave, records come, a new member reads exactly those; streams protocol: the third instance leaves first",
    "static": "SIGKILL of a static member and a new one with its `group.instance.id`: the same partitions, the same generation, the"
    " other member sees nothing; consumer protocol: it is closed instead, and who takes the place of a killed one within its session is"
    " refused; streams protocol: a closed instance is described at epoch -2, the other one reads its own partitions alone, and with it back"
    " the tasks and the group epoch are the same; one that is killed keeps its tasks until its session ends, and who comes with its"
    " `group.instance.id` ends with UnreleasedInstanceIdException; one that is closed with `leaveGroup` gives its tasks up at once",
    "regex": "consumer protocol: a subscription by expression reads the topic that is there, and all of one that comes later",
    "upgrade": "consumer protocol: of two classic members one after the other is replaced by one of the consumer protocol, and back, with"
    " records before, amid and after each step: type of group and members at each, every record is read, offsets are the log ends",
    "aborts": "transactions: an abort leaves the offsets as they were; its records come again, and who reads committed sees them once",
    "fenced": "transactions: another process with the same `transactional.id` comes amid a transaction: the first one's commit is refused,"
    " the second one reads its records again",
    "timeout": "transactions: one is open for longer than its producer said: its commit is refused; new clients (KIP-890) abort and go on,"
    " old ones are replaced",
}
LONGEST_WHY = 140
SIGNS = {True: "ok", False: "**RED**", None: "–"}


def text() -> str:
    return page(json.loads((RECORDS / "clients.json").read_text()))


def page(data: dict[str, Any]) -> str:
    """Return the text of the page. `data`: {"brokers": {id: title}, "judges": {name: {"note", "brokers": {id: {"client", "checks"}}}}}."""
    lines = [NOTICE, "# Clients as judges", "", *_introduction(data), ""]
    for title, rows in _tables(data).items():
        brokers = [broker for broker in data["brokers"] if any(broker in entry["brokers"] for entry in rows.values())]
        asked = ", then ".join(data["brokers"][broker] for broker in brokers)
        lines += [f"## {title}", "", f"Each cell has the results on {asked}, if recorded; `–` means that the client lacks the feature.", ""]
        head = ["client", *CHECKS, "seconds", "last run", "runs, red ones"]
        lines += [*table(head, (_row(name, entry, brokers) for name, entry in rows.items())), ""]
    lines += ["## The checks", "", *table(["check", "what must be seen"], ([f"`{name}`", about] for name, about in CHECKS.items()))]
    lines += ["", "## Remarks", "", *table(["client", "calls itself", "remark"], _remarks(data)), ""]
    lines += ["## What is red", "", *(list(_red(data)) or ["No check failed in the last run on any broker."]), ""]
    lines += ["## Runs that were red before the last one", "", *(list(_red_before(data)) or ["None was recorded."])]
    return "\n".join(lines) + "\n"


def _tables(data: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Return the rows of each table by its title. The newest clients were judged by the newest Kafka, the older ones by the one before."""
    newest = max((broker for broker in data["brokers"] if broker.startswith("kafka-")), default="")
    found: dict[str, dict[str, Any]] = {"The newest clients": {}, "Older clients": {}}
    for name, entry in data["judges"].items():
        found["The newest clients" if newest in entry["brokers"] else "Older clients"][name] = entry
    return {title: rows for title, rows in found.items() if rows}


def _introduction(data: dict[str, Any]) -> Iterator[str]:
    rows = sum(len(entry["brokers"]) for entry in data["judges"].values())
    checks = sum(verdict["ok"] is not None for _, _, _, verdict in _verdicts(data))
    yield "Stock clients in separate processes do the same things with Apache Kafka and with groupmock, and must see the same results."
    yield "The members of the matrix print what happens to them and accept commands. The harness"
    yield "kills, restarts, produces, queries the broker, and"
    yield "compares the results of both brokers: states, assignors, which member owned which partitions, how often each record came,"
    yield f"offsets, generations. `make matrix` writes this page again, which shows the last run of {rows} rows with {checks} checks."
    waits = {run["patience"] for entry in data["judges"].values() for row in entry["brokers"].values() for run in row["runs"][-1:]}
    yield f"What a check waits for must come within {' or '.join(f'{each:.0f}' for each in sorted(waits))} seconds. Every run of a row is"
    yield "recorded, green or red, with its time in UTC, and the column of runs counts them."


def _verdicts(data: dict[str, Any]) -> Iterator[tuple[str, str, str, dict[str, Any]]]:
    for name, entry in data["judges"].items():
        for broker, row in entry["brokers"].items():
            for check, verdict in row["checks"].items():
                yield name, broker, check, verdict


def _row(name: str, entry: dict[str, Any], brokers: list[str]) -> list[str]:
    rows = [entry["brokers"][broker] for broker in brokers if broker in entry["brokers"]]
    cells = [
        " · ".join(dict.fromkeys(signs) if set(signs) == {"–"} else signs)
        for check in CHECKS
        if (signs := [SIGNS[row["checks"].get(check, {"ok": None})["ok"]] for row in rows])
    ]
    seconds = " · ".join(f"{sum(verdict['seconds'] for verdict in row['checks'].values()):.0f}" for row in rows)
    runs = [row["runs"] for row in rows]
    last = " · ".join(each[-1]["at"].partition(" ")[0] for each in runs)
    return [name, *cells, seconds, last, " · ".join(f"{len(each)}, {sum(bool(run['red']) for run in each)}" for each in runs)]


def _remarks(data: dict[str, Any]) -> Iterator[list[str]]:
    for name, entry in data["judges"].items():
        if entry["note"]:
            yield [name, ", ".join(dict.fromkeys(row["client"] for row in entry["brokers"].values())), entry["note"]]


def _red(data: dict[str, Any]) -> Iterator[str]:
    for name, broker, check, verdict in _verdicts(data):
        if verdict["ok"] is False:
            yield f"- {name}, `{check}`, {data['brokers'][broker]}: {verdict['why']}"


def _red_before(data: dict[str, Any]) -> Iterator[str]:
    """Yield a line for each check that failed in a run which is not the last run of its row. What was not reached is left out."""
    for name, entry in data["judges"].items():
        for broker, row in entry["brokers"].items():
            for run in row["runs"][:-1]:
                for check, why in run["red"].items():
                    if not why.startswith("not reached"):
                        told = why if len(why) <= LONGEST_WHY else f"{why[: LONGEST_WHY - 3]}..."
                        yield f"- {run['at']}, {name}, `{check}`, {data['brokers'][broker]}: {told}"
