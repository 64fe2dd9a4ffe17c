"""What the job `rebalances` computes, once more: one journal, row by row, in plain Python, from the messages' bytes.

It shares nothing with the job: no Spark, no windows, no `embedded`. Where a column is missing here it has a test of its own.
"""

from __future__ import annotations

from base64 import b64decode
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from groupmock.rounds.embedded import Partition, Partitions, Told, claim_of, told_of
from groupmock_clients.scenarios.play import name_of

Row = dict[str, Any]
UNDER_WAY = ("PreparingRebalance", "CompletingRebalance")


@dataclass
class Line:
    """One rebalance; the names are the table's."""

    group: str
    rebalance: int
    generation_before: int
    started_at: int
    reason: str
    members_before: int
    generation_after: int = 0
    ended_at: int = 0
    ended: str = ""
    members_after: int = 0
    phases: int = 0
    preparing_ns: int = 0
    completing_ns: int = 0
    leader: str | None = None
    protocol: str | None = None
    last_member_id: str | None = None
    partitions: int | None = None
    moved: int | None = None
    moved_processes: int | None = None
    revoked: int | None = None
    unowned: int = 0
    unowned_ns: int = 0
    abandoned: int = 0
    undelivered_ns: int | None = None


@dataclass
class Group:
    """What is known of a group so far."""

    lines: list[Line] = field(default_factory=list)
    now: Line | None = None  # the one under way
    state: str = ""
    since: int = 0
    members: int = 0
    protocol: str = "?"
    kind: str = "consumer"
    joined: str | None = None  # who joined last
    claims: dict[str, bytes] = field(default_factory=dict)
    told: dict[str, bytes] = field(default_factory=dict)
    last: dict[Partition, tuple[str, str]] = field(default_factory=dict)  # who was told to hold it: member id and process
    owned: defaultdict[str, Partitions] = field(default_factory=lambda: defaultdict(frozenset))
    without: dict[Partition, tuple[int, int]] = field(default_factory=dict)  # since when, and the rebalance in which it was lost
    gaps: list[tuple[int, int | None]] = field(default_factory=list)  # the rebalance, and the ns until somebody had it again


class Reader:
    """`feed` it a journal; `lines` are its rebalances."""

    def __init__(self, rows: Iterable[Row]) -> None:
        self.groups: defaultdict[str, Group] = defaultdict(Group)
        self.asked: dict[int, Row] = {}
        self.joined_by: dict[tuple[str, str], int] = {}  # group and member -> connection of its last JoinGroup
        self.topics: dict[str, str] = {}  # id -> name
        self.made: list[tuple[int, Partition, int]] = []  # time, partition, offset
        self.had: defaultdict[str, list[tuple[int, Partition, int]]] = defaultdict(list)  # the same, by client id
        self.clients: defaultdict[str, set[str]] = defaultdict(set)  # group -> client ids
        self.epoch = self.end = 0
        for row in rows:
            if "epoch_ns" in row:
                self.epoch = row["epoch_ns"]
                continue
            self.end = max(self.end, self.epoch + row["t"])
            take = getattr(self, f"_{row['kind']}_{row.get('api_name', '')}", None)
            if take is not None:
                take(row, self.epoch + row["t"])
        for name, group in self.groups.items():
            if group.now is not None:
                self._over(group, self.end, "journal's end")
            self._count(group)
            self._waits(name, group)

    @property
    def lines(self) -> list[Line]:
        return [line for name in sorted(self.groups) for line in self.groups[name].lines]

    def _note_(self, row: Row, at: int) -> None:
        if row["what"] == "topic_created":
            self.topics[row["fields"]["topic_id"]] = row["fields"]["topic"]

    def _reply_Produce(self, row: Row, at: int) -> None:
        for topic in row["message"]["responses"]:
            name = topic["name"] or self.topics[topic["topic_id"]]
            self.made += [(at, (name, one["index"]), one["base_offset"]) for one in topic["partition_responses"]]

    def _request_Fetch(self, row: Row, at: int) -> None:
        for topic in row["message"]["topics"]:
            name = topic["topic"] or self.topics[topic["topic_id"]]
            self.had[row["client_id"]] += [(at, (name, one["partition"]), one["fetch_offset"]) for one in topic["partitions"]]

    def _waits(self, name: str, group: Group) -> None:
        """Offset by offset: when was it made, when did somebody of the group ask from beyond it? Spans that meet are one."""
        had = sorted(each for client in self.clients[name] for each in self.had[client])
        for line in group.lines if had else ():
            line.undelivered_ns = 0
        for partition in {each[1] for each in had}:
            asked = [(at, offset) for at, where, offset in had if where == partition]
            spans: list[list[int]] = []
            for at, where, offset in self.made:
                if where != partition or at < asked[0][0] or any(until <= at and beyond > offset for until, beyond in asked):
                    continue
                until = min((until for until, beyond in asked if until > at and beyond > offset), default=self.end)
                if spans and at < spans[-1][1]:
                    spans[-1][1] = max(spans[-1][1], until)
                else:
                    spans.append([at, until])
            for begin, until in spans:
                met = [line for line in group.lines if line.ended_at >= begin and line.started_at <= until]
                if met:
                    met[0].undelivered_ns = (met[0].undelivered_ns or 0) + until - begin

    def _moved_(self, row: Row, at: int) -> None:
        group = self.groups[row["group"]]
        after, members = row["after"], row.get("members", 0)
        if group.now is not None:
            self._spent(group, at)
        if after in UNDER_WAY and group.now is None:
            group.now = Line(row["group"], len(group.lines) + 1, row["generation"], at, row["reason"], group.members)
            group.lines.append(group.now)
        if group.now is not None:
            group.now.phases += after == "PreparingRebalance"
            group.now.generation_after, group.now.members_after = row["generation"], members
            if after == "CompletingRebalance":
                group.now.last_member_id, group.now.leader, group.now.protocol = group.joined, row["leader"], row["protocol_name"]
        group.state, group.since, group.members = after, at, members
        group.protocol, group.kind = row.get("protocol_name") or group.protocol, row.get("protocol_type") or group.kind
        if group.now is not None and after not in UNDER_WAY:
            if after == "Stable":
                self._assigned(group, group.now)
            self._over(group, at, after.lower())

    def _spent(self, group: Group, at: int) -> None:
        assert group.now is not None
        spent = max(0, at - group.since)
        group.now.preparing_ns += spent * (group.state == UNDER_WAY[0])
        group.now.completing_ns += spent * (group.state == UNDER_WAY[1])

    def _over(self, group: Group, at: int, how: str) -> None:
        assert group.now is not None
        if how == "journal's end":
            self._spent(group, at)
        if how == "empty":
            group.now.protocol = None
        group.now.ended, group.now.ended_at = how, at
        group.now = None

    def _assigned(self, group: Group, line: Line) -> None:
        line.partitions = line.moved = line.moved_processes = line.revoked = 0
        names = [name_of(member) for member in group.told]
        before = dict(group.last)
        for member, data in group.told.items():
            claim = claim_of(group.kind, group.protocol, group.claims[member])
            told: Told = told_of(group.kind, group.protocol, data, claim)
            who = member, name_of(member) if names.count(name_of(member)) == 1 else member
            line.revoked += len(told.revoked)
            for partition in told.assigned:
                line.partitions += 1
                had = before.get(partition, who)
                line.moved += had[0] != member
                line.moved_processes += had[0] != member and had[1] != who[1]
                group.last[partition] = who

    def _request_JoinGroup(self, row: Row, at: int) -> None:
        self.asked[row["ticket"]] = row
        message = row["message"]
        member, group = message["member_id"], self.groups[message["group_id"]]
        self.clients[message["group_id"]].add(row.get("client_id", ""))
        if not member:
            return
        group.joined = member
        self.joined_by[message["group_id"], member] = row["connection"]
        listed = {each["name"]: each["metadata"] for each in message["protocols"]}
        name = group.protocol if group.protocol in listed else next(iter(listed))
        claim = claim_of(message["protocol_type"], name, b64decode(listed[name]))
        self._owns(group, member, group.owned[member] & claim.owned, at, group.now)

    def _reply_JoinGroup(self, row: Row, at: int) -> None:
        message, asked = row["message"], self.asked[row["ticket"]]["message"]
        group = self.groups[asked["group_id"]]
        if not asked["member_id"] and message["member_id"]:
            self.joined_by[asked["group_id"], message["member_id"]] = row["connection"]
            group.joined = group.joined if row.get("error") else message["member_id"]
        if message["members"]:
            group.claims = {each["member_id"]: b64decode(each["metadata"]) for each in message["members"]}

    def _request_SyncGroup(self, row: Row, at: int) -> None:
        self.asked[row["ticket"]] = row
        if row["message"]["assignments"]:
            brought = {each["member_id"]: b64decode(each["assignment"]) for each in row["message"]["assignments"]}
            self.groups[row["message"]["group_id"]].told = brought

    def _reply_SyncGroup(self, row: Row, at: int) -> None:
        if row.get("error") or not row.get("delivered", True):
            return
        asked = self.asked[row["ticket"]]["message"]
        group, member = self.groups[asked["group_id"]], asked["member_id"]
        finished = [line for line in group.lines if line.ended]
        claim = claim_of(group.kind, group.protocol, group.claims.get(member, b""))
        told = told_of(group.kind, group.protocol, b64decode(row["message"]["assignment"]), claim)
        self._owns(group, member, told.assigned, at, finished[-1])

    def _member_(self, row: Row, at: int) -> None:
        group = self.groups[row["group"]]
        if row["what"] == "removed":
            self._owns(group, row["member_id"], frozenset(), at, group.now)
        elif row["what"] == "replaced":
            self._owns(group, row["reason"].rpartition(" replaces ")[2], frozenset(), at, group.now)

    def _close_(self, row: Row, at: int) -> None:
        for (name, member), connection in self.joined_by.items():
            if connection == row["connection"]:
                self._owns(self.groups[name], member, frozenset(), at, self.groups[name].now)

    def _owns(self, group: Group, member: str, partitions: Partitions, at: int, line: Line | None) -> None:
        """`line`: the rebalance in which what goes is lost; None: the one that comes next, if any does."""
        before, group.owned[member] = group.owned[member], partitions
        held = {each for some in group.owned.values() for each in some}
        for partition in before - held:
            group.without[partition] = at, line.rebalance if line is not None else len(group.lines) + 1
        for partition in partitions - before:
            if partition in group.without:
                since, lost_in = group.without.pop(partition)
                group.gaps.append((lost_in, max(0, at - since)))

    def _count(self, group: Group) -> None:
        lost = group.gaps + [(lost_in, None) for _, lost_in in group.without.values()]
        for number, gap in lost:
            if number <= len(group.lines):
                line = group.lines[number - 1]
                line.unowned += gap is not None
                line.unowned_ns += gap or 0
                line.abandoned += gap is None
