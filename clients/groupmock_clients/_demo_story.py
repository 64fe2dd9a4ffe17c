"""The demo's teller: journal rows in, sentences for somebody who never saw a rebalance out. Pure: it only reads rows."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final

from groupmock.core.units import NS_PER_S
from groupmock.journal.rows import MemberRow, MovedRow, RequestRow, Row

MEMBER_ID: Final = re.compile(r"\b([\w.]+)-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b")
INDENT: Final = " " * 11


class Teller:
    """Feed it rows in order; it yields lines. `state`, `members` and `owned` are the group as of the last row."""

    def __init__(self, group: str, topic: str) -> None:
        self.group = group
        self.topic = topic
        self.state = ""
        self.members: set[str] = set()
        self.owned: dict[str, list[int]] = {}
        self.rounds = 0
        self.now = 0
        self._explained = False
        self._began = 0
        self._plan: dict[str, list[int]] = {}

    def tell(self, row: Row) -> Iterator[str]:
        """The lines that this row is worth, usually none."""
        self.now = row.t
        if isinstance(row, MemberRow) and row.group == self.group:
            yield from self._member(row)
        elif isinstance(row, MovedRow) and row.group == self.group:
            yield from self._moved(row)
        elif isinstance(row, RequestRow) and row.api_name == "SyncGroup" and row.embedded:
            self._plan = plan_of(row.message, row.embedded, self.topic)

    def settled(self, members: int) -> bool:
        """Whether the group is Stable with that many members, all of them in the plan."""
        return self.state == "Stable" and len(self.members) == members and set(self.owned) == self.members

    def _member(self, row: MemberRow) -> Iterator[str]:
        name = named(row.member_id)
        if row.what == "added":
            self.members.add(name)
        elif row.what == "removed":
            self.members.discard(name)
        else:
            return
        if self.state == "PreparingRebalance":  # the round's own cause is told by the move that starts it
            yield f"{INDENT}Meanwhile: {because(row.reason)}."

    def _moved(self, row: MovedRow) -> Iterator[str]:
        self.state = row.after
        if row.after == "PreparingRebalance":
            self.rounds, self._began = self.rounds + 1, row.t
            yield f"{at(row.t)}  Round {self.rounds} starts: {because(row.reason)}."
            if row.before == "Stable" and row.members and not self._explained:
                self._explained = True
                yield f"{INDENT}Whoever is here hears of it in the answer to the next heartbeat, stops reading and joins again."
        elif row.after == "CompletingRebalance":
            yield f"{at(row.t)}  Generation {row.generation} has {count(row.members, 'member')}: {because(row.reason)}."
            leader = named(row.leader or "nobody")
            yield f'{INDENT}{leader} leads and shares out the partitions with an assignor that all have, "{row.protocol_name}".'
        elif row.after == "Stable":
            yield from self._stable(row)
        elif row.after == "Empty" and row.before:
            self.owned = {}
            yield f"{at(row.t)}  The group is empty; its committed offsets stay."

    def _stable(self, row: MovedRow) -> Iterator[str]:
        before, self.owned = self.owned, self._plan
        yield f"{at(row.t)}  Round {self.rounds} is over after {(row.t - self._began) / NS_PER_S:.1f} s. Who owns which partitions:"
        width = max((len(name) for name in self.owned), default=0)
        wide = max((len(numbers(held)) for held in self.owned.values()), default=0)
        for name, held in sorted(self.owned.items()):
            role = "leader" if name == named(row.leader or "") else ""
            new = sorted(set(held) - set(before[name])) if name in before else []
            gained = f"  (new: {numbers(new)})" if new else ""
            yield f"{INDENT}  {name:<{width}}  {role:<6}  {numbers(held):<{wide}}{gained}".rstrip()


def plan_of(message: Any, embedded: dict[str, Any], topic: str) -> dict[str, list[int]]:
    """Member -> partitions, from the leader's SyncGroup."""
    plan: dict[str, list[int]] = {}
    for index, each in enumerate(message["assignments"]):
        decoded = embedded.get(f"assignments[{index}].assignment") or {}
        rows = [row["partitions"] for row in decoded.get("assigned_partitions", []) if row["topic"] == topic]
        plan[named(each["member_id"])] = sorted(partition for partitions in rows for partition in partitions)
    return plan


def named(text: str) -> str:
    """Member ids in a text cut down to the client's name: `ada-0f3c...` becomes `ada`."""
    return MEMBER_ID.sub(r"\1", text)


def because(reason: str) -> str:
    """A row's reason for somebody who does not know the words yet; an unknown one stays as it is."""
    text = named(reason)
    if found := re.fullmatch(r"session of (\S+) expired after (\d+) ms", text):
        return f"{found[1]}'s session ended, no heartbeat came for {int(found[2]) / 1000:g} s"
    if text == "the initial delay is over":
        return "the initial delay, a moment for others to join as well, is over"
    if found := re.fullmatch(r"all members joined, (\S+) was the last", text):
        return f"everybody joined, {found[1]} last"
    return text.removeprefix("member ")


def numbers(partitions: list[int]) -> str:
    """Partition numbers as a person writes them."""
    return " ".join(map(str, partitions)) or "none"


def count(number: int, noun: str) -> str:
    """1 member, 2 members."""
    return f"{number} {noun}" + ("" if number == 1 else "s")


def at(ns: int) -> str:
    """Seconds since the server started."""
    return f"{ns / NS_PER_S:7.2f} s"
