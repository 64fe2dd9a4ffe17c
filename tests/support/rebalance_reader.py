"""Computes the columns of the job `rebalances` again in plain Python, row by row from the bytes of the messages.

The rebalances are those of `groupmock.rounds`, which shares nothing with the job: no Spark, no windows, no `embedded`. The waits of records
are computed here, offset by offset. Columns that are missing here have tests of their own.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from groupmock.rounds import Partition, Rebalance, Rebalances
from groupmock_codec.group_states import ASSIGNING, COMPLETING_REBALANCE, PREPARING_REBALANCE, RECONCILING

Row = dict[str, Any]


@dataclass
class Line:
    group: str
    rebalance: int
    generation_before: int
    started_at: int
    reason: str
    members_before: int | None
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
    first_join: bool = False


def line_of(found: Rebalance, epoch: int, end: int) -> Line:
    """Convert a rebalance to a line of the table, with times in ns since 1970 and None for an unseen assignment."""
    gaps = [gap.until - gap.since for gap in found.gaps if gap.until is not None]
    line = Line(
        found.group, found.number, found.generation_before, epoch + found.began, found.reason, found.members_before,
        generation_after=found.generation_after, members_after=found.members_after,
        ended_at=end if found.ended is None else epoch + found.ended, ended=(found.ended_in or "journal's end").lower(),
        phases=found.times(PREPARING_REBALANCE) if found.classic else found.generation_after - found.generation_before,
        preparing_ns=found.spent(PREPARING_REBALANCE, ASSIGNING), completing_ns=found.spent(COMPLETING_REBALANCE, RECONCILING),
        leader=found.leader, protocol=found.protocol, last_member_id=found.last_joined,
        unowned=len(gaps), unowned_ns=sum(gaps), abandoned=len(found.gaps) - len(gaps), first_join=found.first_join,
    )  # fmt: skip
    if found.plan is not None:
        told = found.plan.told.values()
        line.partitions, line.revoked = sum(len(each.assigned) for each in told), sum(len(each.revoked) for each in told)
        line.moved, line.moved_processes = len(found.reassigned), len(found.moves)
    elif not found.classic:
        line.partitions, line.revoked = found.dealt, found.asked_back
        line.moved, line.moved_processes = len(found.reassigned), len(found.moves)
    return line


class Reader:
    """Reads a journal and collects its rebalances in `lines`, by the name of the group."""

    def __init__(self, rows: Iterable[Row]) -> None:
        self.topics: dict[str, str] = {}
        self.made: list[tuple[int, Partition, int]] = []  # Contains (time, partition, offset) of the produced records.
        # Maps a client id to the time, partition and offset of its Fetches.
        self.had: defaultdict[str, list[tuple[int, Partition, int]]] = defaultdict(list)
        self.clients: defaultdict[str, set[str]] = defaultdict(set)  # Maps a group to the client ids of its members.
        self.end = epoch = 0
        fold, found = Rebalances(), []
        for row in rows:
            if "epoch_ns" in row:
                epoch = row["epoch_ns"]
                continue
            self.end = max(self.end, epoch + row["t"])
            found.append(fold.feed(row))
            take = getattr(self, f"_{row['kind']}_{row.get('api_name', '')}", None)
            if take is not None:
                take(row, epoch + row["t"])
        over = [each for each in [*found, *fold.close()] if each is not None]
        self.lines = [line_of(each, epoch, self.end) for each in sorted(over, key=lambda each: (each.group, each.number))]
        for name in fold.groups:
            self._waits(name, [line for line in self.lines if line.group == name])

    def _note_(self, row: Row, at: int) -> None:
        if row["what"] == "topic_created":
            self.topics[row["fields"]["topic_id"]] = row["fields"]["topic"]

    def _request_JoinGroup(self, row: Row, at: int) -> None:
        self.clients[row["message"]["group_id"]].add(row.get("client_id", ""))

    def _request_ConsumerGroupHeartbeat(self, row: Row, at: int) -> None:
        self._request_JoinGroup(row, at)

    def _request_StreamsGroupHeartbeat(self, row: Row, at: int) -> None:
        self._request_JoinGroup(row, at)

    def _reply_Produce(self, row: Row, at: int) -> None:
        for topic in row["message"]["responses"]:
            name = topic["name"] or self.topics[topic["topic_id"]]
            self.made += [(at, (name, one["index"]), one["base_offset"]) for one in topic["partition_responses"]]

    def _request_Fetch(self, row: Row, at: int) -> None:
        for topic in row["message"]["topics"]:
            name = topic["topic"] or self.topics[topic["topic_id"]]
            self.had[row["client_id"]] += [(at, (name, one["partition"]), one["fetch_offset"]) for one in topic["partitions"]]

    def _waits(self, name: str, lines: list[Line]) -> None:
        """Compute for each offset when the record was written and when a member first fetched a later offset. Overlapping spans are
        joined."""
        had = sorted(each for client in self.clients[name] for each in self.had[client])
        for line in lines if had else ():
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
                met = [line for line in lines if line.ended_at >= begin and line.started_at <= until]
                if met:
                    met[0].undelivered_ns = (met[0].undelivered_ns or 0) + until - begin
