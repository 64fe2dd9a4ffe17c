"""Make tables of printable text from answers of the control API, for the live view and for plain text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any, NamedTuple

from ...story.words import count, member_text, partitions_text, seconds, shortened, text
from ..log_lines import LogLine
from .poll import Group, Snapshot

Rows = list[tuple[str, ...]]


class Table(NamedTuple):
    """A table with the headings of its columns, and rows with one text for each column."""

    columns: tuple[str, ...]
    rows: Rows


def headline(snapshot: Snapshot) -> str:
    """Describe the watched cluster in one line."""
    health = snapshot.health
    nodes = Counter(each["state"] for each in health["nodes"])
    states = ", ".join(f"{number} {state}" for state, number in nodes.items())
    parts = [f"groupmock {text(health['version'])} at {text(health['bootstrap'], 200)}", text(health["profile"]), f"seed {health['seed']}"]
    parts += [f"{count(len(health['nodes']), 'node')} ({text(states)})", count(len(health["topics"]), "topic"), f"{seconds(health['t'])} s"]
    return " · ".join(parts)


def groups_table(snapshot: Snapshot) -> Table:
    """Return one row for each group, in the order of the answer."""
    rows: Rows = []
    for each in snapshot.groups:
        row = each.row
        lag = "" if each.lag is None else _lag(each.lag["lag"])
        held = f"held {text(row['held'])}" if row["held"] else ""
        cells = (text(row["group_id"]), text(row["state"]), str(row["generation"]), text(row.get("protocol") or "-"), str(row["members"]))
        rows.append((*cells, lag, str(row["coordinator"] or "-"), held))
    return Table(("GROUP", "STATE", "GEN", "PROTOCOL", "MEMBERS", "LAG", "NODE", ""), rows)


def members_table(group: Group) -> Table:
    """Return one row for each member, with a `*` for the leader."""
    lags: dict[str, int | None] = {}
    for each in (group.lag or {}).get("partitions", ()):
        before = lags.get(each["member_id"], 0)
        lags[each["member_id"]] = None if before is None or each["lag"] is None else before + each["lag"]
    details = group.details or {"group": {"members": [], "leader": None}, "frozen": [], "silent_ms": {}}
    rows = [_member(each, details, lags) for each in details["group"]["members"]]
    return Table(("MEMBER", "CLIENT", "HOST", "LAG", "HEARD", "ASSIGNMENT"), rows)


def _member(member: dict[str, Any], details: dict[str, Any], lags: dict[str, int | None]) -> tuple[str, ...]:
    member_id, instance = member["member_id"], member["group_instance_id"]
    name = member_text(member_id, instance or member["client_id"]) + (" *" if member_id == details["group"]["leader"] else "")
    partitions = [(topic, number) for topic, numbers in member["assignment"].items() for number in numbers]
    frozen = " (frozen)" if member_id in details["frozen"] or (instance and instance in details["frozen"]) else ""
    return (
        name, text(member["client_id"] or "-"), text(str(member["client_host"]).lstrip("/")),
        _lag(lags.get(member_id, 0) if partitions else None),
        _heard(details["silent_ms"].get(member_id), member["session_timeout_ms"]) + frozen, partitions_text(partitions) or "nothing",
    )  # fmt: skip


def _lag(lag: int | None) -> str:
    """Return a lag as kafka-consumer-groups.sh shows it, "-" if it is unknown."""
    return "-" if lag is None else str(lag)


def _heard(silent_ms: int | None, session_ms: int) -> str:
    """Say how long ago a member sent a sign of life, and name its session timeout once half of it is over."""
    if silent_ms is None:
        return "waits"
    since = f"{silent_ms / 1000:.1f} s ago"
    return f"{since} of {session_ms / 1000:g} s" if 2 * silent_ms > session_ms else since


def transactions_table(snapshot: Snapshot) -> Table:
    """Return one row for each transactional id. Ids with an open transaction come first."""
    rows: Rows = []
    for each in snapshot.transactions:
        who = (text(each["transactional_id"]), text(each["state"]), str(each["producer_id"]), str(each["epoch"]))
        rows.append((*who, str(each["partitions"]), _open(each), str(each["coordinator"] or "-"), "held" if each["held"] else ""))
    return Table(("TRANSACTIONAL ID", "STATE", "PRODUCER", "EPOCH", "PARTITIONS", "OPEN", "NODE", ""), rows)


def _open(transaction: dict[str, Any]) -> str:
    """Say how long a transaction has been open, and name its timeout once half of it is over."""
    if transaction["open_ms"] is None:
        return "-"
    open_for = f"{transaction['open_ms'] / 1000:.1f} s"
    return f"{open_for} of {transaction['timeout_ms'] / 1000:g} s" if 2 * transaction["open_ms"] > transaction["timeout_ms"] else open_for


def faults_table(snapshot: Snapshot) -> Table:
    """Return one row for each fault rule. A rule that never fired shows the call that came nearest."""
    rows: Rows = []
    for each in snapshot.faults:
        miss = each["near_miss"]
        near = f"nearest: {text(miss['call'])} at {seconds(miss['t'])}, where {shortened('; '.join(miss['failed']))}" if miss else ""
        near = "spent" if each["spent"] else near or ("" if each["fired"] else "no call came at its stage")
        kind = text((each["rule"].get("do") or {}).get("kind", ""))
        rows.append((text(each["name"]), kind, str(each["fired"]), str(each["matched"]), str(each["holding"]), near))
    return Table(("FAULT RULE", "DOES", "FIRED", "MATCHED", "HOLDS", ""), rows)


def findings_table(snapshot: Snapshot) -> Table:
    """Return one row for each rule and client library that broke it."""
    rows: Rows = []
    for each in snapshot.findings or ():
        first, last = each["first"], each["last"]
        library = " ".join(text(name) for name in (each["library"], each["version"]) if name) or "unknown"
        who = (text(last.get("group") or "-"), text(last.get("member") or last.get("client_id") or "-"))
        when = f"{seconds(first['t'])} s" if each["count"] == 1 else f"{seconds(first['t'])} to {seconds(last['t'])} s"
        rows.append((text(each["rule"]), library, str(each["count"]), when, *who, shortened(last["sentence"])))
    return Table(("FINDING", "LIBRARY", "TIMES", "AT", "GROUP", "MEMBER", "WHAT THE CLIENT DID"), rows)


def line_parts(line: LogLine) -> tuple[str, str]:
    """Return the time and level of a line, and its text, as in the log."""
    return f"{seconds(line.at):>9} s {line.level if line.level != 'debug' else '':<7}", line.text


def line_text(line: LogLine) -> str:
    return " ".join(line_parts(line))


def matching(lines: Iterable[LogLine], wanted: str) -> list[LogLine]:
    """Return the lines whose text has every word of `wanted`, ignoring case."""
    words = wanted.casefold().split()
    return [line for line in lines if all(word in line_text(line).casefold() for word in words)]


def narrowed(table: Table, columns: tuple[str, ...]) -> Table:
    """Return the table with only these columns, for a narrow terminal."""
    places = [place for place, column in enumerate(table.columns) if column in columns]
    return Table(tuple(table.columns[place] for place in places), [tuple(row[place] for place in places) for row in table.rows])
