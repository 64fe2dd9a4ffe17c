"""The only code that makes rebalances from journal rows, used by stories, scenarios and the pipeline's judges.

A rebalance begins and ends with the coordinator's `moved` rows. In between, the leader's answer to JoinGroup shows every member's claims,
its SyncGroup has the assignments, and the answers to SyncGroup show which members received them. In groups of the other types the answers
to heartbeats tell each member its partitions or tasks. Rows come in the journal's order, which is not always that of their times. They may
be read from a file, as dicts or as row objects, or be the rows in memory.

The fold keeps only what is open: a group's current and last rebalance, unanswered requests, and the owners of partitions. It returns
rebalances that ended, and forgets refused groups (no row of the coordinator names them and no member was admitted), former members and
deleted topics.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Final

import msgspec

from groupmock_codec.api_keys import (
    CONSUMER_GROUP_HEARTBEAT,
    HEARTBEAT,
    JOIN_GROUP,
    OFFSET_COMMIT,
    SHARE_GROUP_HEARTBEAT,
    STREAMS_GROUP_HEARTBEAT,
    SYNC_GROUP,
)

from ..journal.dispatch import RowReader, takes
from ..journal.read import UnknownRow
from ..journal.rows import ROWS, AbandonedRow, CloseRow, MemberRow, MovedRow, NoteRow, ReplyRow, RequestRow, Row
from ..journal.whose import json_of
from .embedded import Partition
from .group_fold import GroupFold, Json, replaced_by
from .owners import Listeners
from .rebalance_model import Rebalance
from .tasks import tasks_of

BEATS: Final = (CONSUMER_GROUP_HEARTBEAT, SHARE_GROUP_HEARTBEAT, STREAMS_GROUP_HEARTBEAT)
"""The heartbeats whose answers tell a member its partitions or tasks."""
ASKED: Final = (JOIN_GROUP, SYNC_GROUP, *BEATS)
SIGNS_OF_LIFE: Final = (HEARTBEAT, OFFSET_COMMIT, *BEATS)
"""The requests by which a member whose connection ended shows that it has another one. Not every heartbeat has a row (`net.repeat`)."""
CREATED, GROWN, DELETED = "topic_created", "topic_grown", "topic_deleted"
"""Notes about topics that were created, grown or deleted, whether by a command, CreateTopics or a Metadata request. A note of creation
has the topic's id."""
OF_TOPICS: Final = (CREATED, GROWN, DELETED)


def rebalances(rows: Iterable[Json | Row | UnknownRow], group: str | None = None) -> Iterator[Rebalance]:
    """Yield the rebalances of a journal, each when it ends. Rebalances that never end are yielded after the last row. With `group`, only
    the rebalances of that group are yielded."""
    fold = Rebalances(group)
    for row in rows:
        over = fold.feed(row)
        if over is not None:
            yield over
    yield from fold.close()


class Rebalances(RowReader):
    """Makes rebalances from the rows that are passed to `feed`. `groups` maps names to GroupFolds, `counts` maps topics to their number of
    partitions, and `created` maps the partitions of created topics to the time of creation (ns).

    If `group` is given, only that group is followed, and it exists from the start. `watched` is called with the name of each group and
    returns what to call when the group's ownership changes. A group is in `groups` once it exists; `of` returns its fold even before.
    """

    def __init__(self, group: str | None = None, watched: Callable[[str], Listeners] | None = None) -> None:
        self._watched = watched
        self.groups: dict[str, GroupFold] = {} if group is None else {group: self._fold(group)}
        self.counts: dict[str, int] = {}
        self.created: dict[Partition, int] = {}
        self._all = group is None
        self._now = 0
        self._strangers: dict[str, GroupFold] = {}  # Groups that are named by requests, but by no row of the coordinator.
        self._names: dict[str, str] = {}  # Maps topic ids to names.
        self._ids: dict[str, str] = {}  # Maps topic names to ids.
        self._asked: dict[int, Json] = {}  # Maps tickets to requests without an answer: JoinGroup, SyncGroup or a heartbeat.
        self._connections = Connections()

    def feed(self, row: Json | Row | UnknownRow) -> Rebalance | None:
        """Read the next row, which is a row object or a dict of its JSON. Returns the rebalance that ended with this row."""
        take = self.handlers.get(row.__class__)
        if take is not None:
            self._now = max(self._now, row.t)  # type: ignore[union-attr]  # only rows have a handler
            over: Rebalance | None = take(self, row)
            return over
        if not isinstance(row, Row | UnknownRow):
            self._now = max(self._now, row["t"])
            return self.feed(msgspec.convert(row, ROWS[row["kind"]])) if row["kind"] in self.kinds else None
        return None

    def forget(self, name: str) -> None:
        """Forget a group that no longer exists. If it is created again, its rebalances are counted from 1."""
        self.groups.pop(name, None)
        self._strangers.pop(name, None)
        self._connections.forget(name)

    def of(self, name: str) -> GroupFold:
        """Return the state of the group with this name, always as the same object, even before any row mentions the group."""
        if name not in self.groups:
            self.groups[name] = self._strangers.pop(name) if name in self._strangers else self._fold(name)
        return self.groups[name]

    def close(self) -> list[Rebalance]:
        """Return the rebalances that have not ended when the rows end. Their last phase lasts until the last row."""
        left = [each for each in self.groups.values() if each.rebalance is not None]
        for group in left:
            group.spend(self._now)
        return [each.rebalance for each in left if each.rebalance is not None]

    def _group(self, name: str) -> GroupFold | None:
        """Return the group that a row of the coordinator names, or None without one."""
        return self.of(name) if self._all else self.groups.get(name)

    def _named(self, name: str) -> GroupFold | None:
        found = self.groups.get(name) or self._strangers.get(name)
        if found is None and self._all:
            found = self._strangers[name] = self._fold(name)
        return found

    def _fold(self, name: str) -> GroupFold:
        return GroupFold(name, self._watched(name)) if self._watched is not None else GroupFold(name)

    @takes
    def _moved(self, row: MovedRow) -> Rebalance | None:
        group = self._group(row.group)
        return None if group is None else group.moved(row)

    @takes
    def _member(self, row: MemberRow) -> None:
        group = self._group(row.group)
        if group is not None:
            group.member(row)
            if row.what == "removed":
                self._connections.leaves(group.name, row.member_id)
            elif row.what == "replaced":
                self._connections.leaves(group.name, replaced_by(row.member_id, row.reason))

    @takes
    def _request(self, row: RequestRow) -> None:
        # Heartbeats and commits are numerous, so they are read only while a member has no connection.
        wanted = row.api_key in ASKED or (row.api_key in SIGNS_OF_LIFE and self._connections.hung_up)
        message = json_of(row.message) if wanted else None
        if not message:
            return
        lives = row.api_key in SIGNS_OF_LIFE and message.get("member_epoch", 1) > 0
        if lives and (message["group_id"], message["member_id"]) in self._connections.hung_up:
            self._connections.joins(message["group_id"], message["member_id"], row.connection)
            self.of(message["group_id"]).speaks_again(message["member_id"], row.t)
        group = self._named(message["group_id"]) if row.api_key in ASKED else None
        if group is None:
            return
        self._asked[row.ticket] = message
        if row.api_key == SYNC_GROUP:
            group.syncs(message)
        elif row.api_key in BEATS:
            if message["member_id"]:
                group.speaks(message["member_id"], row.client_id)
            if message["member_epoch"] == 0 and message["member_id"]:
                self._connections.joins(group.name, message["member_id"], row.connection)
                group.begins_anew(message["member_id"], row.t)
        # A JoinGroup without a member id is not counted as joining: its answer reserves an id (MEMBER_ID_REQUIRED (79), KIP-394) or
        # succeeds with an id.
        elif message["member_id"]:
            self._connections.joins(group.name, message["member_id"], row.connection)
            group.joins(message, message["member_id"], row.t)

    @takes
    def _reply(self, row: ReplyRow) -> None:
        asked = self._asked.pop(row.ticket, None)
        if asked is None:
            return
        name, accepted = asked["group_id"], not row.error
        group, message = self.groups.get(name) or self._strangers.get(name), json_of(row.message)
        if group is None or not message:
            return
        if not accepted:
            self._turned_away(group, asked["member_id"])
        elif name in self._strangers:  # The coordinator's rows about this group are missing, as in a journal that begins later.
            self.of(name)
        # A member whose answer was lost keeps the partitions that it had.
        arrived = accepted and row.delivered
        if row.api_key in BEATS:
            if arrived:
                self._beaten(group, message, row.t)
        elif row.api_key == SYNC_GROUP:
            if arrived:
                group.hears(asked, message, row.t)
        elif accepted:
            # Static members and JoinGroup v0-3 get their id in a successful answer, never with MEMBER_ID_REQUIRED (SERVER-02, SERVER-03).
            if not asked["member_id"]:
                self._connections.joins(group.name, message["member_id"], row.connection)
            if message.get("members"):
                group.begun(message, asked, row.t, self.counts)

    def _turned_away(self, group: GroupFold, member: str) -> None:
        """Note that a request to the group was refused. The sender of a refused request need not be a member, and the group need not
        exist."""
        group.turned_away(member)
        if member not in group.members:
            self._connections.leaves(group.name, member)
        self._strangers.pop(group.name, None)

    def _beaten(self, group: GroupFold, message: Json, at: int) -> None:
        """Note the answer to a heartbeat of a consumer, share or streams group, which has the member's assignment if that changed."""
        told, member = message.get("assignment"), message.get("member_id")
        if member and message.get("active_tasks") is not None:
            group.may_have(member, tasks_of(message["active_tasks"]), at, tasks_of(message.get("standby_tasks")))
        if told is not None and member:
            topics = [(self._names.get(each["topic_id"], each["topic_id"]), each["partitions"]) for each in told["topic_partitions"]]
            group.may_have(member, frozenset((topic, number) for topic, numbers in topics for number in numbers), at)

    @takes
    def _note(self, row: NoteRow) -> None:
        what = row.what
        if what not in OF_TOPICS:
            return
        fields = msgspec.to_builtins(row.fields)  # A topic id is bytes in memory and text in messages and files.
        topic = str(fields["topic"])
        if what == CREATED:
            self._names[fields["topic_id"]] = topic
            self._ids[topic] = fields["topic_id"]
        before, count = self.counts.pop(topic, 0), 0 if what == DELETED else int(fields["partitions"])
        if what == DELETED:
            self._names.pop(self._ids.pop(topic, ""), None)
            for number in range(before):
                self.created.pop((topic, number), None)
        if count:
            self.counts[topic] = count
        new = [(topic, number) for number in range(before, count)]
        self.created |= {partition: row.t for partition in new if partition not in self.created}
        for group in self.groups.values():
            group.grows(topic, new, row.t)

    @takes
    def _abandoned(self, row: AbandonedRow) -> None:
        asked = self._asked.pop(row.ticket, None)
        if asked is not None:
            self._strangers.pop(asked["group_id"], None)

    @takes
    def _close(self, row: CloseRow) -> None:
        for name, member in self._connections.closed(row.connection):
            if (group := self.groups.get(name)) is not None:
                group.hangs_up(member, row.t)
            else:
                self._connections.leaves(name, member)


class Connections:
    """The last connection by which each member of a group has joined. A member that has joined again by a new connection survives the
    end of the old connection. `hung_up` has the (group, member) pairs whose connection ended, until they join, send a
    heartbeat or commit by another one, or leave."""

    def __init__(self) -> None:
        self._of: dict[str, dict[str, int]] = {}  # Maps a group and a member to the member's connection.
        # Maps a connection to the (group, member) pairs that joined by it, in order.
        self._joined: dict[int, dict[tuple[str, str], None]] = {}
        self.hung_up: set[tuple[str, str]] = set()

    def joins(self, group: str, member: str, connection: int) -> None:
        self.hung_up.discard((group, member))
        if self._of.get(group, {}).get(member) != connection:
            self.leaves(group, member)
        self._of.setdefault(group, {})[member] = connection
        self._joined.setdefault(connection, {})[group, member] = None

    def leaves(self, group: str, member: str) -> None:
        """Note that a member has left, or no longer belongs to a connection."""
        self.hung_up.discard((group, member))
        connection = self._of.get(group, {}).pop(member, None)
        if connection is None:
            return
        if not self._of[group]:
            del self._of[group]
        del self._joined[connection][group, member]
        if not self._joined[connection]:
            del self._joined[connection]

    def __len__(self) -> int:
        return len(self._of) + len(self._joined) + len(self.hung_up)

    def forget(self, group: str) -> None:
        """Forget the members of a group that no longer exists."""
        for member in [*self._of.get(group, ()), *(member for name, member in self.hung_up if name == group)]:
            self.leaves(group, member)

    def closed(self, connection: int) -> list[tuple[str, str]]:
        """Return the (group, member) pairs whose last connection is the one that ended, in the order in which they joined."""
        found = list(self._joined.get(connection, ()))
        for group, member in found:
            self.leaves(group, member)
        self.hung_up.update(found)
        return found
