"""Recounts an ownership map row by row: the state of every partition after every row is computed anew, and nothing is kept of spans, gaps
or rebalances. Only the decoding of embedded assignments is shared with `groupmock.rounds`."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from groupmock.journal.rows import AbandonedRow, CloseRow, MemberRow, MovedRow, NoteRow, ReplyRow, RequestRow, Row
from groupmock.journal.whose import bytes_of, json_of
from groupmock.rounds import PALE, SHARED, UNOWNED, Partition, name_of
from groupmock.rounds.embedded import Claim, claim_of, told_of
from groupmock.rounds.group_fold import replaced_by

NOTHING: frozenset[Partition] = frozenset()
State = tuple[str, tuple[str, ...]]
BEATS = ("ConsumerGroupHeartbeat", "StreamsGroupHeartbeat")


class Recount:
    """The recount of one group. `ns` has the partition-ns per state, `moved` the number of moves."""

    def __init__(self, group: str) -> None:
        self.group = group
        self.ns: Counter[str] = Counter()
        self.moved = 0
        self.seen: set[Partition] = set()
        self._owned: defaultdict[str, frozenset[Partition]] = defaultdict(frozenset)
        self._pale: defaultdict[str, frozenset[Partition]] = defaultdict(frozenset)
        self._connection: dict[str, int] = {}
        self._numbers: dict[str, tuple[str, int]] = {}
        self._connected: set[str] = set()
        self._hung_up: set[str] = set()
        self._members: set[str] = set()
        self._holder: dict[Partition, tuple[str, str]] = {}
        self._asked: dict[int, Mapping[str, Any]] = {}
        self._counts: dict[str, int] = {}
        self._ids: dict[str, str] = {}
        self._generation: dict[str, Any] = {}
        self._protocol = self._state = ""
        self._at: int | None = None

    def feed(self, rows: Iterable[Row]) -> Recount:
        for row in rows:
            if self._at is not None:
                for state, _ in self.states().values():
                    self.ns[state] += row.t - self._at
            self._at = row.t
            take = getattr(self, f"_{type(row).__name__}", None)
            if take is not None:
                take(row)
            self.seen |= {each for owned in self._owned.values() for each in owned}
        return self

    def states(self) -> dict[Partition, State]:
        """Return the state of each partition that the group ever wanted, and its processes."""
        owners: defaultdict[Partition, list[str]] = defaultdict(list)
        for member, owned in self._owned.items():
            for partition in owned:
                owners[partition].append(member)
        pale = {partition: member for member, left in self._pale.items() for partition in left}
        found: dict[Partition, State] = {}
        for partition in self.seen:
            own = owners.get(partition, [])
            if own:
                found[partition] = (SHARED if len(own) > 1 else "owned", tuple(sorted(map(self._process, own))))
            elif partition in pale:
                found[partition] = (PALE, (self._process(pale[partition]),))
            else:
                found[partition] = (UNOWNED, ())
        return found

    # -- rows

    def _RequestRow(self, row: RequestRow) -> None:
        if row.api_name not in ("JoinGroup", "SyncGroup", "Heartbeat", "OffsetCommit", *BEATS):
            return
        message = json_of(row.message)
        if not message or message["group_id"] != self.group:
            return
        member = message["member_id"]
        if row.api_name not in ("JoinGroup", "SyncGroup") and message.get("member_epoch", 1) > 0 and member in self._hung_up:
            self._comes_again(member, row.connection)
            self._owned[member], self._pale[member] = self._owned[member] | self._pale[member], NOTHING
        if row.api_name in ("Heartbeat", "OffsetCommit"):
            return
        self._asked[row.ticket] = message
        if row.api_name == "JoinGroup" and member:
            self._comes_again(member, row.connection)
            protocols = {each["name"]: bytes_of(each["metadata"]) for each in message["protocols"]}
            name = self._protocol if self._protocol in protocols else next(iter(protocols))
            claimed = claim_of(message["protocol_type"], name, protocols[name]).owned
            self._owned[member] &= claimed
            self._pale[member] &= claimed
        elif row.api_name in BEATS and member and message["member_epoch"] == 0:
            self._comes_again(member, row.connection)
            self._holds(member, NOTHING)
        elif row.api_name == "SyncGroup" and not self._generation.get("over"):
            mine = (member, message["generation_id"]) == (self._generation.get("leader"), self._generation.get("number"))
            if mine:
                self._generation["plan"] = {each["member_id"]: bytes_of(each["assignment"]) for each in message["assignments"]}

    def _ReplyRow(self, row: ReplyRow) -> None:
        asked = self._asked.pop(row.ticket, None)
        message = json_of(row.message) if asked is not None else None
        if asked is None or not message:
            return
        if row.error:
            if asked["member_id"] not in self._members:
                self._connection.pop(asked["member_id"], None)
        elif row.api_name == "JoinGroup":
            if not asked["member_id"]:
                self._connection[message["member_id"]] = row.connection
            if message["members"] and self._generation.get("number") != message["generation_id"]:
                kind, name = asked["protocol_type"], message["protocol_name"]
                claims = {each["member_id"]: claim_of(kind, name, bytes_of(each["metadata"])) for each in message["members"]}
                self._generation = {
                    "number": message["generation_id"], "leader": message["leader"], "kind": kind, "name": name, "claims": claims,
                    "topics": {topic for claim in claims.values() for topic in claim.topics},
                }  # fmt: skip
                self._generation["all"] = {each for topic in self._generation["topics"] for each in self._of(topic)}
        elif row.api_name == "SyncGroup":
            if row.delivered and asked["generation_id"] == self._generation.get("number"):
                self._holds(asked["member_id"], self._told(asked["member_id"], bytes_of(message["assignment"])))
        elif row.delivered and (given := self._assigned(message)) is not None:
            self._moves(message["member_id"], given)
            self._holds(message["member_id"], given)

    def _AbandonedRow(self, row: AbandonedRow) -> None:
        self._asked.pop(row.ticket, None)

    def _MovedRow(self, row: MovedRow) -> None:
        if row.group != self.group:
            return
        self._state, self._protocol = row.after, row.protocol_name or self._protocol
        if row.after == "Dead":
            self._generation, self._members = {}, set()
        plan = self._generation.get("plan")
        if row.after == "Stable" and row.before != "Stable" and plan is not None and not self._generation.get("over"):
            self._generation["over"] = True
            for member in self._generation["claims"]:
                self._moves(member, self._told(member, plan.get(member, b"")))
            self.seen |= self._generation["all"]

    def _MemberRow(self, row: MemberRow) -> None:
        if row.group != self.group:
            return
        member = row.member_id
        if row.what in ("added", "replaced"):
            if row.what == "replaced":
                self._goes(replaced_by(member, row.reason))
            if member not in self._members:
                self._numbers.pop(member, None)
            self._members.add(member)
            self._connects(member, row.group_instance_id or row.client_id)
        elif row.what in ("removed", "refused"):
            self._goes(member)
        elif row.what in ("fenced", "away"):
            self._connected.discard(member)
            self._holds(member, NOTHING)

    def _CloseRow(self, row: CloseRow) -> None:
        for member in [each for each, connection in self._connection.items() if connection == row.connection]:
            del self._connection[member]
            self._hung_up.add(member)
            self._connected.discard(member)
            left, self._owned[member] = self._owned[member], NOTHING
            self._pale[member] |= left - {each for owned in self._owned.values() for each in owned}

    def _NoteRow(self, row: NoteRow) -> None:
        fields = msgspec.to_builtins(row.fields)
        if row.what == "topic_created":
            self._ids[fields["topic_id"]] = fields["topic"]
        if row.what in ("topic_created", "topic_grown"):
            before = self._of(fields["topic"])
            self._counts[fields["topic"]] = fields["partitions"]
            wanted = {topic for topic, _ in self.seen} | self._generation.get("topics", set())
            if fields["topic"] in wanted and self._state not in ("", "Empty", "Dead"):
                self.seen |= self._of(fields["topic"]) - before

    # -- what follows

    def _assigned(self, message: Mapping[str, Any]) -> frozenset[Partition] | None:
        """Return the partitions or active tasks that an answer to a heartbeat gives, or None if it gives nothing new."""
        if "active_tasks" in message:
            found = message["active_tasks"]
            named = None if found is None else [(f"task {each['subtopology_id']}", each) for each in found]
        else:
            found = message["assignment"]
            named = None if found is None else [(self._ids[each["topic_id"]], each) for each in found["topic_partitions"]]
        return None if named is None else frozenset((name, number) for name, each in named for number in each["partitions"])

    def _of(self, topic: str) -> set[Partition]:
        return {(topic, number) for number in range(self._counts.get(topic, 0))}

    def _told(self, member: str, data: bytes) -> frozenset[Partition]:
        claim = self._generation["claims"].get(member, Claim(NOTHING, NOTHING))  # type: ignore[arg-type]
        return told_of(self._generation["kind"], self._generation["name"], data, claim).assigned

    def _holds(self, member: str, partitions: frozenset[Partition]) -> None:
        self._owned[member], self._pale[member] = partitions, NOTHING
        for other in self._pale:
            self._pale[other] -= partitions

    def _moves(self, member: str, given: frozenset[Partition]) -> None:
        process = self._process(member)
        for partition in given:
            before = self._holder.get(partition, (member, process))
            self.moved += before[0] != member and before[1] != process
            self._holder[partition] = (member, process)

    def _comes_again(self, member: str, connection: int) -> None:
        self._connection[member] = connection
        self._hung_up.discard(member)
        if member in self._numbers and member in self._members:
            self._connects(member, None)

    def _connects(self, member: str, called: str | None) -> None:
        name = name_of(member) if name_of(member) != member else called or member
        name = self._numbers[member][0] if member in self._numbers else name
        taken = {self._numbers[each][1] for each in self._connected - {member} if self._numbers[each][0] == name}
        had = self._numbers.get(member, (name, 0))[1]
        self._numbers[member] = (name, had if had and had not in taken else min(set(range(1, len(taken) + 2)) - taken))
        self._connected.add(member)

    def _goes(self, member: str) -> None:
        self._holds(member, NOTHING)
        self._members.discard(member)
        self._connected.discard(member)
        self._hung_up.discard(member)
        self._connection.pop(member, None)

    def _process(self, member: str) -> str:
        name, number = self._numbers[member]
        return name if number == 1 else f"{name} ({number})"
