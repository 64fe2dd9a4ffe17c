"""Computes the effects of a fault row by row in plain Python, as a reference for the job `groupmock_pipeline.jobs.faults`. The
computation keeps the state of every group by hand and shares no code with the job."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from groupmock_codec.error_codes import error_name

Row = dict[str, Any]
GONE = ("Empty", "Dead", "")


@dataclass
class Group:
    state: str = ""
    generation: int = 0
    live: int = 0
    left: int = 0
    why: str = ""


@dataclass
class Blast:
    """The effects of one fault on its run. A time is None if the event never happened."""

    seq: int
    group: str | None
    disturbed: int = 0
    until: int | None = 0
    first_stable: int | None = None
    rebalances: int = 0
    generations: int = 0
    expelled: int = 0
    rejoined: int = 0
    errors: Counter[str] = field(default_factory=Counter)
    lost: int = 0
    closed: int = 0
    elsewhere: int = 0
    links: set[str] = field(default_factory=set)
    again: int | None = None


def named(row: Row) -> str | None:
    message = row["message"]
    if row["api_name"] not in (
        "JoinGroup", "SyncGroup", "Heartbeat", "LeaveGroup", "OffsetCommit", "OffsetFetch", "FindCoordinator", "ConsumerGroupHeartbeat",
        "StreamsGroupHeartbeat",
    ):  # fmt: skip
        return None
    if message.get("group_id"):
        return str(message["group_id"])
    if message.get("groups"):
        return str(message["groups"][0]["group_id"])
    if message.get("coordinator_keys"):
        return str(message["coordinator_keys"][0])
    return str(message["key"]) if message.get("key") else None


def strikes(rows: list[Row], breaking: tuple[str, ...]) -> list[int]:
    """Return the indexes of faults in the rows: fault rows except the ends of waits, and disruptive commands except those that a fault
    rule issued."""
    found, last = [], ("", -1)
    for place, row in enumerate(rows):
        if row["kind"] == "fault" and row["action"] not in ("over", "released"):
            found.append(place)
            last = (row["action"], row["at"])
        elif row["kind"] == "command" and row["name"] in breaking and last != (row["name"], row["at"]):
            found.append(place)
    return found


def advance(groups: dict[str, Group], row: Row) -> None:
    if row["kind"] == "moved":
        group = groups.setdefault(row["group"], Group())
        group.state, group.generation, group.live, group.why = row["after"], row["generation"], row["members"], row["reason"]
    elif row["kind"] == "member":
        group = groups.setdefault(row["group"], Group())
        group.why = row["reason"]
        if row["what"] == "added":
            group.live += 1
        elif row["what"] == "removed" and not row["reason"].startswith("the reserved id"):
            group.live -= 1
            group.left += leaves(row)


def leaves(row: Row) -> bool:
    return not expels(row) and re.match(r"member .* (left|was removed by its instance id)(:|$)", row["reason"]) is not None


def expels(row: Row) -> bool:
    return re.match(r"session of .* expired |member .* did not join again: |member .* sent no SyncGroup within ", row["reason"]) is not None


def blast(rows: list[Row], place: int) -> Blast:
    """Compute all columns of the `faults` table for the fault at this index."""
    strike = rows[place]
    asked = {row["ticket"]: row for row in rows if row["kind"] == "request"}
    group = struck_group(strike, asked)
    before: dict[str, Group] = {}
    for row in rows[:place]:
        advance(before, row)
    about = {name: each for name, each in before.items() if each.state != "Dead" and group in (None, name)}
    told = Blast(strike["seq"], group)
    off = called_off(rows, strike)
    ends = [after_group(rows, place, name, each, sessions(rows, name), off, told, asked) for name, each in about.items()]
    if not about:
        told.until = None
    last = max(ends, default=strike["seq"])
    around(rows, place, last, told, asked)
    return told


def struck_group(strike: Row, asked: dict[int, Row]) -> str | None:
    if strike["kind"] == "command":
        arguments = strike["arguments"]
        found: str | None = arguments.get("group") or (arguments.get("subject") or [None])[0]
        return found
    return named(asked[strike["ticket"]]) if strike.get("ticket") in asked else None


def called_off(rows: list[Row], strike: Row) -> bool:
    if strike["kind"] == "command":
        return False
    notes = [row for row in rows if row["kind"] == "note" and row["what"] == "a fault could not steer" and row["at"] == strike["at"]]
    return any(row["fields"]["rule"] == strike["rule"] for row in notes) or "called_off" in strike["fields"]


def sessions(rows: list[Row], group: str) -> int:
    joins = [row for row in rows if row["kind"] == "request" and row["api_name"] == "JoinGroup" and named(row) == group]
    return int(max((row["message"]["session_timeout_ms"] for row in joins), default=45_000)) * 1_000_000


def let_go(rows: list[Row], strike: Row) -> int:
    ends = [
        row["at"] for row in rows
        if row["kind"] == "fault" and row["action"] in ("over", "released") and strike["kind"] == "fault"
        and (row["rule"], row["ticket"]) == (strike["rule"], strike["ticket"])
    ]  # fmt: skip
    return int(max([strike["at"], *ends]))


def after_group(rows: list[Row], place: int, name: str, base: Group, session: int, off: bool, told: Blast, asked: dict[int, Row]) -> int:
    """Follow one group after a fault and return the sequence number at which the fault's window ends. That is the fault's own number if
    the group was not disturbed."""
    strike = rows[place]
    if off:
        return int(strike["seq"])
    deadline = let_go(rows, strike) + session + 1_000_000_000
    now = {name: Group(base.state, base.generation, base.live, base.left)}
    disturbed = base.state not in ("Stable", *GONE)
    link = "already" if disturbed else None
    seen: list[Row] = []
    for row in rows[place + 1 :]:
        if row["kind"] not in ("moved", "member") or row["group"] != name:
            continue
        advance(now, row)
        here = now[name]
        if not disturbed and here.state != "Stable" and row["at"] <= deadline:
            disturbed = True
            link = linked(strike, row, asked)
        seen.append(row)
        if not disturbed or here.state != "Stable":
            continue
        if told.first_stable is None and row["kind"] == "moved":
            told.first_stable = row["at"] - strike["at"]
        if here.live >= base.live - (here.left - base.left):
            told.until = None if told.until is None else max(told.until, row["at"] - strike["at"])
            count(told, seen, base)
            told.disturbed += 1
            told.links.add(link or "")
            return int(row["seq"])
    if not disturbed:
        return int(strike["seq"])
    told.until = None
    count(told, seen, base)
    told.disturbed += 1
    told.links.add(link or "")
    return 2**62


def linked(strike: Row, row: Row, asked: dict[int, Row]) -> str:
    if row["at"] == strike["at"]:
        return "at once"
    names = []
    if strike["kind"] == "fault" and strike.get("ticket") in asked:
        request = asked[strike["ticket"]]
        names = [request["client_id"], request["message"].get("member_id")]
    elif strike["kind"] == "command":
        names = [strike["arguments"].get("member")]
    return "member" if any(name and name in row["reason"] for name in names) else "later"


def count(told: Blast, seen: list[Row], base: Group) -> None:
    moves = [row for row in seen if row["kind"] == "moved"]
    before = base.generation
    for row in moves:
        if {row["before"], row["after"]} & {"PreparingRebalance", "CompletingRebalance"}:
            told.rebalances += row["after"] == "PreparingRebalance"
        else:
            told.rebalances += row["generation"] > before and row["cause"] != "generation_set"
        before = row["generation"]
    told.generations += max([0, *(row["generation"] - base.generation for row in moves)])
    members = [row for row in seen if row["kind"] == "member"]
    who = [(row, row["group_instance_id"] or row["client_id"]) for row in members]
    gone = Counter(name for row, name in who if row["what"] == "removed" and expels(row))
    came = Counter(name for row, name in who if row["what"] == "added")
    told.expelled += gone.total()
    told.rejoined += (gone & came).total()


def around(rows: list[Row], place: int, last: int, told: Blast, asked: dict[int, Row]) -> None:
    strike = rows[place]
    homes: dict[int, str | None] = {}
    for row in asked.values():
        if row["api_key"] in (8, 9, 10, 11, 12, 13, 14, 15, 42, 47, 68):
            homes.setdefault(row["connection"], named(row))
    for row in rows[place + 1 :]:
        own = row["kind"] == "close" and row["connection"] == strike.get("connection") and row["at"] == strike["at"]
        own = own or (strike.get("ticket") is not None and row.get("ticket") == strike["ticket"])
        if row["seq"] > last and not own:
            continue
        request = asked.get(row.get("ticket") or 0)
        group = homes.get(row["connection"]) if row["kind"] == "close" else named(request) if request else None
        here = own or told.group in (None, group)
        if row["kind"] == "close":
            told.closed += here
        elif row["kind"] in ("reply", "abandoned"):
            told.lost += here and (row["kind"] == "abandoned" or not row["delivered"])
            for name in errors(row) if row["kind"] == "reply" else ():
                if here:
                    told.errors[name] += 1
                elif group is not None and name != "MEMBER_ID_REQUIRED":
                    told.elsewhere += 1


def errors(row: Row) -> set[str]:
    inside = {error_name(code) for code in _codes(row["message"]) if code}
    return inside or ({row["error"]} if row["error"] else set())


def _codes(value: Any) -> list[int]:
    if isinstance(value, dict):
        return [code for name, each in value.items() for code in ([each] if name == "error_code" else _codes(each))]
    return [code for each in value for code in _codes(each)] if isinstance(value, list) else []


def refetched(rows: list[Row], group: str) -> list[tuple[int, int]] | None:
    """Return (seq, records) of every Fetch that returns records which the group had already fetched, or None if no member sent a Fetch.

    The records of each client are tracked offset by offset.
    """
    homes: dict[str, set[str]] = {}
    for row in rows:
        if row["kind"] == "request" and row["api_name"] in ("JoinGroup", "Heartbeat", "SyncGroup"):
            homes.setdefault(row["client_id"], set()).add(row["message"]["group_id"])
    mine = {client for client, groups in homes.items() if groups == {group}}
    fetches = [row for row in rows if row["kind"] == "request" and row["api_name"] == "Fetch" and row["client_id"] in mine]
    last: dict[tuple[Any, ...], int] = {}
    had: dict[tuple[Any, ...], int] = {}
    found = []
    for row in fetches:
        step = 0
        for topic in row["message"]["topics"]:
            for part in topic["partitions"]:
                where = (topic["topic"] or topic["topic_id"], part["partition"])
                since = last.get((row["connection"], *where))
                last[row["connection"], *where] = part["fetch_offset"]
                got = range(since, part["fetch_offset"]) if since is not None else range(0)
                step += sum(offset < had.get(where, 0) for offset in got)
                had[where] = max([had.get(where, 0), *(offset + 1 for offset in got)])
        if step:
            found.append((row["seq"], step))
    return found if any(row["message"]["topics"] for row in fetches) else None
