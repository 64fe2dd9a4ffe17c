"""Journal rows to rebalances: the one fold that stories, scenarios and the judges of the pipeline read.

A rebalance begins and ends with the coordinator's `moved` rows. In between, the leader's answer to JoinGroup shows every member's claims,
its SyncGroup says what each is told, and the answers to SyncGroup show who heard it; in a consumer group the answers to heartbeats say to
each what it may have. Rows come in the journal's order, which is not always
that of their times. They may be read from a file, as dicts or as rows, or be the rows in memory.

Kept is what is open: a group's rebalance under way and its last one, requests without an answer, who owns what. What went by is handed out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Final

import msgspec

from ..journal.read import UnknownRow
from ..journal.rows import (
    AbandonedRow,
    CloseRow,
    MemberRow,
    MovedRow,
    NoteRow,
    ReplyRow,
    RequestRow,
    Row,
)
from .embedded import Partition
from .group_fold import GroupFold, JsonRow
from .owners import Changed
from .rebalance_model import Rebalance

JOIN_GROUP: Final = 11
SYNC_GROUP: Final = 14
BEAT: Final = 68
ASKED: Final = (JOIN_GROUP, SYNC_GROUP, BEAT)
FRAMES: Final = (RequestRow, ReplyRow, AbandonedRow)
CREATED, GROWN, DELETED = "topic_created", "topic_grown", "topic_deleted"
"""Notes about topics, whoever made, grew or deleted them: a command, CreateTopics, a Metadata request. The first one has the topic's id."""
OF_TOPICS: Final = (CREATED, GROWN, DELETED)
FOLDED: Final[frozenset[type]] = frozenset((*FRAMES, MovedRow, MemberRow, CloseRow, NoteRow))


def rebalances(rows: Iterable[JsonRow | Row | UnknownRow], group: str | None = None) -> Iterator[Rebalance]:
    """The rebalances of a journal, each as it ends, those that never end when the rows do. `group`: of this one alone."""
    fold = Rebalances(group)
    for row in rows:
        over = fold.feed(row)
        if over is not None:
            yield over
    yield from fold.close()


class Rebalances:
    """`feed` it rows. `groups`: name -> GroupFold; `counts`: topic -> partitions, `created`: partition -> when (ns), of topics made.

    `group`: the only one that is looked at; it is there from the start. `watched`: called with the name of each group, returns who is to be
    told of its changes of ownership.
    """

    def __init__(self, group: str | None = None, watched: Callable[[str], Changed] | None = None) -> None:
        self._watched = watched
        self.groups: dict[str, GroupFold] = {} if group is None else {group: self._fold(group)}
        self.counts: dict[str, int] = {}
        self.created: dict[Partition, int] = {}
        self._all = group is None
        self._now = 0
        self._names: dict[str, str] = {}  # topic id -> name
        self._asked: dict[int, JsonRow] = {}  # ticket -> JoinGroup or SyncGroup that has no answer yet
        self._connection: dict[tuple[str, str], int] = {}  # group and member -> by which it joined last
        self._joined_by: dict[int, dict[tuple[str, str], None]] = {}  # connection -> whoever joined by it, in order

    def feed(self, row: JsonRow | Row | UnknownRow) -> Rebalance | None:
        """One more row, in the journal's order. Returns the rebalance that is over with it."""
        found = _json_row(row) if isinstance(row, Row | UnknownRow) else row
        if found is None:
            return None
        self._now = max(self._now, found["t"])
        take = _TAKE.get(found["kind"])
        return None if take is None else take(self, found)

    def forget(self, name: str) -> None:
        """A group is gone, and whoever asks has no use for what it was: its number of rebalances begins anew if it comes back."""
        self.groups.pop(name, None)
        self._asked = {ticket: message for ticket, message in self._asked.items() if message["group_id"] != name}
        self._connection = {who: number for who, number in self._connection.items() if who[0] != name}

    def close(self) -> list[Rebalance]:
        """There are no more rows: the rebalances that are under way, their last phase as long as the journal shows it."""
        left = [each for each in self.groups.values() if each.rebalance is not None]
        for group in left:
            group.spend(self._now)
        return [each.rebalance for each in left if each.rebalance is not None]

    def _group(self, name: str) -> GroupFold | None:
        if self._all and name not in self.groups:
            self.groups[name] = self._fold(name)
        return self.groups.get(name)

    def _fold(self, name: str) -> GroupFold:
        return GroupFold(name, self._watched(name) if self._watched is not None else None)

    def _moved(self, row: JsonRow) -> Rebalance | None:
        group = self._group(row["group"])
        return None if group is None else group.moved(row)

    def _member(self, row: JsonRow) -> None:
        group = self._group(row["group"])
        if group is not None:
            group.member(row)
            if row["what"] == "removed":
                self._connection.pop((group.name, row["member_id"]), None)

    def _request(self, row: JsonRow) -> None:
        message = row.get("message")
        if row["api_key"] not in ASKED or not message:
            return
        group = self._group(message["group_id"])
        if group is None:
            return
        self._asked[row["ticket"]] = message
        if row["api_key"] == SYNC_GROUP:
            group.syncs(message)
        elif row["api_key"] == BEAT:
            if message["member_epoch"] == 0 and message["member_id"]:
                self._joins_by(group.name, message["member_id"], row["connection"])
                group.begins_anew(message["member_id"], row["t"])
        # Without an id nobody has joined yet: the answer reserves one (79, KIP-394) or brings it with success.
        elif message["member_id"]:
            self._joins_by(group.name, message["member_id"], row["connection"])
            group.joins(message, message["member_id"], row["t"])

    def _joins_by(self, group: str, member: str, connection: int) -> None:
        self._connection[group, member] = connection
        self._joined_by.setdefault(connection, {})[group, member] = None

    def _reply(self, row: JsonRow) -> None:
        asked = self._asked.pop(row["ticket"], None)
        if asked is None or not row.get("message"):
            return
        group, accepted = self.groups[asked["group_id"]], not row.get("error")
        if row["api_key"] == BEAT:
            self._beaten(group, row, accepted and row.get("delivered", True))
            return
        if row["api_key"] == SYNC_GROUP:
            # An answer that was lost tells its member nothing: it goes on with what it had.
            if accepted and row.get("delivered", True):
                group.hears(asked, row)
            return
        if not accepted:
            group.turned_away(asked["member_id"])
        # Static members and JoinGroup v0-3 get their id with success, never by 79 (SERVER-02, SERVER-03).
        elif not asked["member_id"]:
            self._joins_by(group.name, row["message"]["member_id"], row["connection"])
        if accepted and row["message"].get("members"):
            group.begun(row, asked, self.counts)

    def _beaten(self, group: GroupFold, row: JsonRow, arrived: bool) -> None:
        """An answer to a heartbeat tells what its member may have, where that is another than before."""
        told, member = row["message"].get("assignment"), row["message"].get("member_id")
        if arrived and told is not None and member:
            topics = [(self._names.get(each["topic_id"], each["topic_id"]), each["partitions"]) for each in told["topic_partitions"]]
            group.may_have(member, frozenset((topic, number) for topic, numbers in topics for number in numbers), row["t"])

    def _note(self, row: JsonRow) -> None:
        what = row["what"]
        if what not in OF_TOPICS:
            return
        fields = row["fields"]
        topic = str(fields["topic"])
        if what == CREATED:
            self._names[fields["topic_id"]] = topic
        before, count = self.counts.pop(topic, 0), 0 if what == DELETED else int(fields["partitions"])
        if count:
            self.counts[topic] = count
        for number in range(before, count):
            self.created.setdefault((topic, number), row["t"])

    def _abandoned(self, row: JsonRow) -> None:
        self._asked.pop(row["ticket"], None)

    def _close(self, row: JsonRow) -> None:
        for name, member in self._joined_by.pop(row["connection"], {}):
            # Who joined again by another connection lives on when the old one ends.
            if self._connection.get((name, member)) == row["connection"]:
                del self._connection[name, member]
                self.groups[name].gone(member, row["t"])


def _json_row(row: Row | UnknownRow) -> JsonRow | None:
    """As JSON has it, messages of the codec included; None: a row that says nothing about rebalances."""
    if row.__class__ not in FOLDED or (isinstance(row, FRAMES) and row.api_key not in ASKED):
        return None
    if isinstance(row, NoteRow) and row.what not in OF_TOPICS:
        return None
    found: JsonRow = msgspec.to_builtins(row)
    return found


_TAKE: Final[dict[str, Callable[[Rebalances, JsonRow], Rebalance | None]]] = {
    "request": Rebalances._request,
    "reply": Rebalances._reply,
    "abandoned": Rebalances._abandoned,
    "moved": Rebalances._moved,
    "member": Rebalances._member,
    "close": Rebalances._close,
    "note": Rebalances._note,
}
