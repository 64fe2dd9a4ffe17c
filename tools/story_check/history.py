"""Collect the facts that stories tell from a journal's rows alone: assignments, answers, fetches, commits, state changes, members."""

from __future__ import annotations

import sys
from base64 import b64decode
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, Final

from groupmock.journal.dispatch import RowReader, takes
from groupmock.journal.read import UnknownRow
from groupmock.journal.rows import CommandRow, MemberRow, MovedRow, NoteRow, ReplyRow, RequestRow, Row
from groupmock.journal.whose import group_of
from groupmock.text.printable import printable
from groupmock_codec.embedded import connect, consumer, designs
from groupmock_codec.errors import DecodeError
from groupmock_codec.group_states import COMPLETING_REBALANCE, STABLE

from .claims import Partition, Partitions

BATCH_FORMAT: Final = 2
LONGEST_NAME: Final = 60
"""The length to which a story shortens a client's text."""
FOR_EVER: Final = sys.maxsize
NOTHING: Final[Partitions] = frozenset()
CHANGES_OFFSETS: Final = frozenset(("commit_offsets", "reset_offsets", "delete_topic", "step_clock"))
"""Commands after which committed offsets differ from those of the commits on the wire, because offsets expire with time."""
DELETES_OFFSETS: Final = frozenset(("OffsetDelete", "DeleteGroups", "DeleteTopics"))


@dataclass(slots=True)
class Plan:
    """The assignment that the leader of a generation sent and the coordinator accepted.

    `seq` is the row that says Stable. `shares` maps member id to its partitions, None if its bytes cannot be read. `before` has the shares
    of the plan before, None if that is not in the journal. `heirs` maps a static member that came back to the id that it replaced.
    """

    seq: int
    t: int
    number: int
    leader: str
    shares: dict[str, Partitions | None]
    before: dict[str, Partitions | None] | None
    heirs: dict[str, str]


@dataclass(slots=True)
class Given:
    """An answer that told a member its partitions. `number` is the generation or member epoch. `delivered` says that it reached its
    client."""

    seq: int
    t: int
    number: int
    partitions: Partitions | None
    delivered: bool


@dataclass(slots=True)
class Fetch:
    """A Fetch request: its partitions and their offsets."""

    seq: int
    t: int
    offsets: dict[Partition, int]


@dataclass(slots=True)
class Commit:
    """Offsets whose commit was acknowledged by an answer. `transaction` is the producer id of a TxnOffsetCommit, `seq` and `t` are those
    of the answer, `asked` is the time of the request, `won` the time at which its transaction was committed."""

    seq: int
    t: int
    asked: int
    member_id: str
    client_id: str | None
    offsets: dict[Partition, int]
    before: dict[Partition, int]
    transaction: int | None
    won: int | None = None


@dataclass(slots=True)
class GroupFacts:
    """The facts about one group, in the journal's order.

    `given` maps a member id to the answers that told it its partitions. `joins` maps a member id to the rows of its JoinGroups, with the
    partitions that it still claims. `committed` has the offsets of all commits, which is incomplete if `offsets_changed_otherwise`. `names`
    maps printed names to member ids, `clients` member ids to client ids. `generations` maps a number to leader and members, by the answers
    to JoinGroup. `brought` maps leader and generation to the bytes of its last SyncGroup.
    """

    name: str
    moves: list[MovedRow] = field(default_factory=list)
    members: list[MemberRow] = field(default_factory=list)
    plans: list[Plan] = field(default_factory=list)
    given: dict[str, list[Given]] = field(default_factory=lambda: defaultdict(list))
    joins: dict[str, list[tuple[int, Partitions]]] = field(default_factory=lambda: defaultdict(list))
    commits: list[Commit] = field(default_factory=list)
    committed: dict[Partition, int] = field(default_factory=dict)
    offsets_changed_otherwise: bool = False
    here: dict[str, list[tuple[int, int]]] = field(default_factory=lambda: defaultdict(list))
    """Maps a member id to the rows between which it was a member, the last of them `FOR_EVER` if it did not leave."""
    names: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    clients: dict[str, set[str | None]] = field(default_factory=lambda: defaultdict(set))
    generations: dict[int, tuple[str, list[str]]] = field(default_factory=dict)
    brought: dict[tuple[str, int], dict[str, bytes]] = field(default_factory=dict)

    @property
    def shown(self) -> str:
        """Return the group's name as the first line of the story prints it."""
        return shown(self.name)

    def is_here(self, member_id: str, seq: int) -> bool:
        """Tell whether the member was in the group at that row."""
        return any(came <= seq < went for came, went in self.here.get(member_id, ()))

    def plan_at(self, seq: int) -> Plan | None:
        """Return the leader's assignment that was in force at that row."""
        return next((plan for plan in reversed(self.plans) if plan.seq <= seq), None)

    def given_at(self, member_id: str, seq: int) -> Given | None:
        """Return the last answer before that row that told the member its partitions."""
        return next((each for each in reversed(self.given.get(member_id, ())) if each.delivered and each.seq < seq), None)


class History(RowReader):
    """The facts about all groups of a journal. `fetches`: client id -> its Fetch requests; `ends`: partition -> the highest end of its
    log that was seen; `groups_of`: client id -> group -> its member ids."""

    def __init__(self, rows: Iterable[Row | UnknownRow]) -> None:
        self.groups: dict[str, GroupFacts] = {}
        self.fetches: dict[str | None, list[Fetch]] = defaultdict(list)
        self.ends: dict[Partition, int] = {}
        self.groups_of: dict[str | None, dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
        self._topics: dict[str, str] = {}
        self._asked: dict[int, RequestRow] = {}
        for row in rows:
            self.feed(row)

    def group(self, name: str) -> GroupFacts:
        """Return the facts about a group, which are kept from its first row on."""
        return self.groups.setdefault(name, GroupFacts(name))

    @takes
    def _moved(self, row: MovedRow) -> None:
        group = self.group(row.group)
        if row.after == STABLE and row.before == COMPLETING_REBALANCE:
            self._planned(group, row)
        group.moves.append(row)

    def _planned(self, group: GroupFacts, row: MovedRow) -> None:
        leader, members = group.generations.get(row.generation, ("", []))
        leader = row.leader or leader
        brought = group.brought.pop((leader, row.generation), None)
        if brought is None:
            return
        shares = {member: _share(row, brought.get(member, b"")) for member in dict.fromkeys((*members, *brought))}
        before: dict[str, Partitions | None] | None = dict(group.plans[-1].shares) if group.plans else None
        if before is None and (row.generation == 1 or any(not move.before for move in group.moves)):
            before = {}
        since = group.plans[-1].seq if group.plans else 0
        heirs = {each.member_id: _replaced(each) for each in group.members if each.seq > since and each.what == "replaced"}
        group.plans.append(Plan(row.seq, row.t, row.generation, leader, shares, before, heirs))

    @takes
    def _member(self, row: MemberRow) -> None:
        group = self.group(row.group)
        group.members.append(row)
        client = row.client_id
        if row.what == "replaced" and group.clients.get(row.member_id):
            client = next(iter(group.clients[row.member_id]))
        for called in {row.group_instance_id or client, row.client_id, None}:
            group.names[_name(row.member_id, called)].add(row.member_id)
        if row.what in ("added", "replaced"):
            self._of_client(group, row.member_id, client)
            group.here[row.member_id].append((row.seq, FOR_EVER))
        gone = row.member_id if row.what == "removed" else _replaced(row) if row.what == "replaced" else None
        if gone is not None and group.here.get(gone):
            group.here[gone][-1] = (group.here[gone][-1][0], row.seq)

    def _of_client(self, group: GroupFacts, member_id: str, client_id: str | None) -> None:
        group.clients[member_id].add(client_id)
        group.names[_name(member_id, client_id)].add(member_id)
        self.groups_of[client_id][group.name].add(member_id)

    @takes
    def _note(self, row: NoteRow) -> None:
        if row.what == "topic_created":
            self._learn(row.fields.get("topic_id"), row.fields.get("topic"))

    @takes
    def _command(self, row: CommandRow) -> None:
        if isinstance(name := row.arguments.get("group"), str):
            self.group(name)
        if row.name == "append":
            place = (row.arguments["topic"], row.arguments["partition"])
            self.ends[place] = self.ends.get(place, 0) + _records_in(row.arguments["batch"]["base64"])
        if row.name in CHANGES_OFFSETS:
            for group in self.groups.values():
                group.offsets_changed_otherwise = True

    @takes
    def _request(self, row: RequestRow) -> None:
        message = row.message
        if not isinstance(message, dict):
            return
        self._asked[row.ticket] = row
        if isinstance(name := group_of(row), str):
            self.group(name)
        if row.api_name == "Fetch":
            offsets = {place: number for place, number, _ in self._places(message, "topics", "topic", "partition", "fetch_offset")}
            self.fetches[row.client_id].append(Fetch(row.seq, row.t, offsets))
        elif row.api_name == "SyncGroup" and message.get("assignments"):
            brought = {each["member_id"]: b64decode(each["assignment"]) for each in message["assignments"]}
            self.group(message["group_id"]).brought[message["member_id"], message["generation_id"]] = brought
        elif row.api_name in ("JoinGroup", "ConsumerGroupHeartbeat") and message["member_id"]:
            group = self.group(message["group_id"])
            self._of_client(group, message["member_id"], row.client_id)
            if row.api_name == "JoinGroup":
                group.joins[message["member_id"]].append((row.seq, _owned(message)))
            elif message["member_epoch"] <= 0:
                group.joins[message["member_id"]].append((row.seq, NOTHING))

    @takes
    def _reply(self, row: ReplyRow) -> None:
        asked = self._asked.pop(row.ticket, None)
        if asked is None or not isinstance(row.message, dict):
            return
        if row.api_name in DELETES_OFFSETS:
            for group in self.groups.values():
                group.offsets_changed_otherwise = True
        answer = _ANSWERS.get(row.api_name)
        if answer is not None:
            answer(self, row, row.message, asked, asked.message)

    def _joined(self, row: ReplyRow, message: Any, asked: RequestRow, request: Any) -> None:
        group = self.group(request["group_id"])
        if row.error:
            return
        if not request["member_id"]:
            self._of_client(group, message["member_id"], asked.client_id)
            group.joins[message["member_id"]].append((asked.seq, NOTHING))
        if message.get("members"):
            group.generations[message["generation_id"]] = (message["leader"], [each["member_id"] for each in message["members"]])
            # A generation's number may be used again after the group was loaded.
            group.brought.pop((message["leader"], message["generation_id"]), None)

    def _synced(self, row: ReplyRow, message: Any, asked: RequestRow, request: Any) -> None:
        if row.error:
            return
        group = self.group(request["group_id"])
        moved = next((move for move in reversed(group.moves) if move.generation == request["generation_id"]), None)
        partitions = None if moved is None else _share(moved, b64decode(message["assignment"]))
        group.given[request["member_id"]].append(Given(row.seq, row.t, request["generation_id"], partitions, row.delivered))

    def _beaten(self, row: ReplyRow, message: Any, asked: RequestRow, request: Any) -> None:
        if row.error or not message.get("member_id"):
            return
        given = self.group(request["group_id"]).given[message["member_id"]]
        if message.get("assignment") is not None:
            found = self._places(message["assignment"], "topic_partitions", "", None, None)
            partitions: Partitions | None = frozenset(place for place, _, _ in found)
        else:
            partitions = given[-1].partitions if given else None
        given.append(Given(row.seq, row.t, message["member_epoch"], partitions, row.delivered))

    def _committed(self, row: ReplyRow, message: Any, asked: RequestRow, request: Any) -> None:
        group = self.group(request["group_id"])
        wanted = {place: number for place, number, _ in self._places(request, "topics", "name", "partition_index", "committed_offset")}
        accepted = [place for place, _, error in self._places(message, "topics", "name", "partition_index", None) if not error]
        offsets = {place: wanted[place] for place in accepted if place in wanted}
        if not offsets:
            return
        transaction = request.get("producer_id") if row.api_name == "TxnOffsetCommit" else None
        before = {place: group.committed[place] for place in offsets if place in group.committed}
        group.commits.append(Commit(row.seq, row.t, asked.t, request.get("member_id") or "", asked.client_id, offsets, before, transaction))
        if transaction is None:
            group.committed |= offsets

    def _fetched(self, row: ReplyRow, message: Any, asked: RequestRow, request: Any) -> None:
        for place, end, error in self._places(message, "responses", "topic", "partition_index", "high_watermark"):
            if not error and end >= 0:
                self.ends[place] = max(end, self.ends.get(place, 0))

    def _produced(self, row: ReplyRow, message: Any, asked: RequestRow, request: Any) -> None:
        records = {
            (topic.get("name"), each["index"]): each.get("records") for topic in request["topic_data"] for each in topic["partition_data"]
        }
        for topic in message.get("responses") or ():
            for each in topic["partition_responses"]:
                place = (topic.get("name"), each["index"])
                if not each["error_code"]:
                    self.ends[place] = max(self.ends.get(place, 0), each["base_offset"] + _records_in(records.get(place)))

    def _described(self, row: ReplyRow, message: Any, asked: RequestRow, request: Any) -> None:
        for topic in message.get("topics") or ():
            self._learn(topic.get("topic_id"), topic.get("name"))

    def _ended(self, row: ReplyRow, message: Any, asked: RequestRow, request: Any) -> None:
        """Process EndTxn: the offsets of a committed transaction become the group's."""
        if row.error:
            return
        for group in self.groups.values():
            mine = [each for each in group.commits if each.transaction == request["producer_id"]]
            for commit in mine:
                commit.transaction = None if request["committed"] else -1
                if request["committed"]:
                    commit.won = asked.t
                    group.committed |= commit.offsets

    def _learn(self, topic_id: Any, name: Any) -> None:
        if isinstance(topic_id, str) and isinstance(name, str):
            self._topics[topic_id] = name

    def _places(self, message: Any, topics: str, name: str, number: str | None, value: str | None) -> Iterator[tuple[Partition, int, int]]:
        """Yield every partition in a message with its value (such as an offset) and its error. Without `number` the partitions are plain
        numbers."""
        for topic in message.get(topics) or ():
            called = topic.get(name) or self._topics.get(topic.get("topic_id") or "")
            if called is None:
                continue
            for each in topic.get("partitions") or ():
                if number is None:
                    yield (called, each), -1, 0
                else:
                    yield (called, each[number]), each[value] if value is not None else -1, each.get("error_code") or 0


def shown(name: str) -> str:
    """Format a client's text as a story prints it."""
    return printable(name if len(name) <= LONGEST_NAME else f"{name[:LONGEST_NAME]}...")


def _name(member_id: str, called: str | None) -> str:
    """Return a member's name as a story prints it: instance id or client id, then four characters of the coordinator's suffix."""
    if called is None:
        parts = member_id.rsplit("-", 5)
        if [len(each) for each in parts[1:]] != [8, 4, 4, 4, 12] or not parts[0]:
            return shown(member_id[:12])
        called = parts[0]
    rest = member_id.removeprefix(called).lstrip("-")
    name = f"{called}#{rest[:4]}" if called else member_id[:12]
    most = LONGEST_NAME + 8
    return printable(name if len(name) <= most else f"{name[:most]}...")


def _replaced(row: MemberRow) -> str:
    """Return the id of the static member that was replaced."""
    return row.reason.rpartition(" replaces ")[2]


def _share(row: MovedRow, data: bytes) -> Partitions | None:
    """Decode the partitions that a leader assigned to one member of a group. Returns None if they cannot be decoded."""
    if not data:
        return NOTHING
    if row.protocol_type == "connect":
        return _tasks(data)
    if row.protocol_name in designs.LITERAL:
        literal = designs.read_assignment(data)
        return None if literal is None else _flat(literal.assigned_topic_partitions)
    found = consumer.read_assignment(data)
    return None if found is None else _flat(found.assigned_partitions)


def _tasks(data: bytes) -> Partitions | None:
    """Return the connectors and tasks in the assignment of a Kafka Connect worker, as partitions. From version 1 on the bytes contain
    only new ones (KIP-415)."""
    try:
        found = connect.decode_assignment(data)
    except DecodeError:
        return None
    return None if found.version else frozenset((each.connector, task) for each in found.assigned or () for task in each.tasks)


def _owned(join: Any) -> Partitions:
    """Return the partitions that a JoinGroup claims to own, none with an eager assignor (KIP-429)."""
    owned = NOTHING
    for protocol in join.get("protocols") or ():
        found = consumer.read_subscription(b64decode(protocol["metadata"])) if join["protocol_type"] == "consumer" else None
        if found is not None:
            owned |= _flat(found.owned_partitions)
    return owned


def _records_in(batch: str | None) -> int:
    """Return the number of offsets in a batch of format 2, or 1 if its bytes are not in the row."""
    data = b64decode(batch or "")
    return int.from_bytes(data[23:27]) + 1 if len(data) > 27 and data[16] == BATCH_FORMAT else 1


def _flat(found: Iterable[consumer.TopicPartitions] | None) -> Partitions:
    return frozenset((each.topic, number) for each in found or () for number in each.partitions)


_ANSWERS: Final[dict[str, Any]] = {
    "JoinGroup": History._joined,
    "SyncGroup": History._synced,
    "ConsumerGroupHeartbeat": History._beaten,
    "OffsetCommit": History._committed,
    "TxnOffsetCommit": History._committed,
    "Fetch": History._fetched,
    "Produce": History._produced,
    "Metadata": History._described,
    "EndTxn": History._ended,
}
