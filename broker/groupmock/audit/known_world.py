"""The rules judge by this model of all connections, groups and members, which follows the journal row by row.

The theory. A client knows which requests it sent and which answers it received, and this model knows the same. A row of kind `request`
becomes an Exchange that waits in its link until a row of kind `reply` or `abandoned` brings the answer. The rules see both before the model
changes, so they see the state that the client had.

A member begins with the answer that gave it its id (MEMBER_ID_REQUIRED or success), or with the first request that names it if the journal
begins later. It ends when it leaves, when an answer says UNKNOWN_MEMBER_ID (25) or FENCED_INSTANCE_ID (82), when its connection gets
another id, or when it has been silent for so long that every broker has expired it. A group ends with its last member. An answer that was
not delivered changes nothing, because the client does not know it. A member that somebody else removed (an administrator's LeaveGroup, a
second process with the same instance id) does not know that either, until an answer tells it.

A Fetch names no group. It belongs to a member if this is the only member with the Fetch's host and client id (`sole_member`). Kafka's
protocol says no more about a process, so of two members with one client id neither is blamed for the other.

A session has lapsed (`Member.lapsed`) only if the client sent other requests to the same node until the end of the session, and its last
answer had no error. A client that sends nothing at all may have been stopped, its network may be cut, or the broker may stand still. A
client that lost its connection, received an error or looks for its coordinator is busy with that. The model knows only with the client's
next request whether it was silent, because earlier requests may have been delayed.

Generations are those of the fold from which stories are told (`groupmock.rounds`): the leader, the plan that the leader sent, and the owner
of each partition. Rules judge a member by its own answers, because its client knows nothing else, and only this model keeps them. Neither
the model nor the fold keeps anything about a group without members.

Heartbeats that merely repeat earlier ones are counted and not judged (`repeating`).

If rows are missing (their numbers jump), open requests are forgotten (`lost`), and the rows after the gap are judged afresh.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from msgspec.structs import replace

from groupmock_codec import api_keys
from groupmock_codec.units import NS_PER_MS

from ..journal.rows import ASKED_TO_STOP, AbandonedRow, ClientRow, CloseRow, OpenRow, ReplyRow, RequestRow, Row
from ..journal.whose import bytes_of
from ..rounds import Rebalances
from . import course, share_sessions
from .agenda import Agenda
from .inside import told_by
from .known_topics import KnownTopics
from .processes import Processes
from .producers import Producers
from .reading import OF_GROUPS, OF_SHARE_SESSIONS, answered_in, asked_in
from .repeating import SILENCE_NS, Repeating
from .request_contents import leavers_of
from .stalls import Stalls
from .subjects import (
    FENCED_INSTANCE_ID,
    HARMLESS,
    MEMBER_ID_REQUIRED,
    NONE,
    REBALANCE_IN_PROGRESS,
    UNKNOWN_MEMBER_ID,
    Exchange,
    Group,
    Json,
    Link,
    Member,
)

if TYPE_CHECKING:
    from .judgement import Judgements
    from .subjects import Pulse

OF_GENERATIONS: Final = (api_keys.JOIN_GROUP, api_keys.SYNC_GROUP)
"""The requests by which the generations of a group are followed."""
SEVERAL: Final = 8
"""From this version on an OffsetFetch names any number of groups (KIP-709)."""
OVER: Final = (UNKNOWN_MEMBER_ID, FENCED_INSTANCE_ID)
LONGEST_NS: Final = 3_600_000 * NS_PER_MS
"""A silent member is remembered for the sum of its session timeout, its rebalance timeout and SILENCE_NS, but at most this long."""


class World(Repeating):
    """The audit's model of all clients, which follows the journal. `partitions` maps topics to their number of partitions in the last
    Metadata answer, and `topic_names` maps ids to names. `now` is the latest time of a row (ns). `pulse` is a running broker that knows of
    heartbeats without rows, and `calm` is called with a heartbeat at its first repetition."""

    def __init__(self, pulse: Pulse | None = None) -> None:
        super().__init__(pulse)
        self.processes = Processes()
        self.producers = Producers()
        self.now = 0
        self.agenda = Agenda()
        self.groups: dict[str, Group] = {}
        self.fold = Rebalances()
        self.topics = KnownTopics()
        self.partitions, self.topic_names = self.topics.last, self.topics.names
        self.stalls = Stalls()
        self._served: dict[int, tuple[int, int]] = {}

    # -- rows

    def opened(self, row: OpenRow) -> None:
        """Note that a connection has begun."""
        self.links[row.connection] = Link(row.connection, row.client_host, row.node, row.t)

    def asked(self, row: RequestRow) -> Exchange:
        """Return the exchange that a request begins, with its member if known. `take` is called after the rules have seen it."""
        link = self.links.get(row.connection)
        if link is None:  # The connection was opened before the journal began.
            link = self.links[row.connection] = Link(row.connection, node=row.node)
        if link.client_id is None:
            link.client_id = row.client_id
        x = Exchange(row, asked_in(row), link)
        x.stalled = self.stalls.asked(row)
        x.behind = bool(link.open) or x.received < link.order.last
        x.producer = self.producers.of(x)
        if row.api_key in OF_GROUPS and x.asked:
            name = self.group_of(x)
            if name is not None:
                x.group = self._group(name)
                x.member = self._sender(x)
        elif row.api_key == api_keys.FETCH:
            x.member = self.processes.sole_member(link)
            x.group = None if x.member is None else x.member.group
        return x

    def take(self, x: Exchange) -> None:
        """Update the model of all clients with a request that the rules have seen."""
        link = x.link
        link.beat = None
        link.order.take(x, link.open.values())
        link.open[x.ticket] = x
        self.processes.speaks(x)
        self.producers.says(x)
        if x.key in OF_SHARE_SESSIONS:
            share_sessions.says(x)
        if x.group is not None:
            x.group.waiting += 1
        member = x.member
        if x.key == api_keys.API_VERSIONS and x.asked.get("client_software_name"):
            link.software = str(x.asked["client_software_name"]), str(x.asked["client_software_version"])
        if member is None or x.key in (api_keys.FETCH, api_keys.TXN_OFFSET_COMMIT):
            return  # A TxnOffsetCommit comes by a connection of the producer, which may even have another client id.
        link.last = member
        member.link, member.seen = link, x.at
        self.processes.named(member, x)
        if x.key in (api_keys.HEARTBEAT, api_keys.OFFSET_COMMIT):
            member.alive, member.lapsed = max(member.alive, x.received), None
            self._watch(member)
        if x.key != api_keys.HEARTBEAT:
            self.disturb(member)
        if x.key == api_keys.JOIN_GROUP:
            member.leaving = member.lapsed = None
            member.wish = member.joining = x
            member.instance_id = x.asked.get("group_instance_id") or member.instance_id
        elif x.key == api_keys.SYNC_GROUP:
            member.syncing = x
            x.read.clear()  # The decoded messages are dropped once judged, because those of a large generation need much memory.
        elif x.key == api_keys.HEARTBEAT:
            member.beat = x
            member.beating.append(x)
            member.beats = [each for each in member.beats if each.link.beat is each]
            member.beats.append(x)
        elif x.key == api_keys.LEAVE_GROUP:
            member.leaving = x
        elif x.key in course.BEATS:
            course.says(member, x)

    def fold_in(self, row: Row, message: Json | None = None) -> None:
        """Pass a row that the rules have seen on to `groupmock.rounds`, which follows the generations. `message` is its content as JSON,
        if known."""
        self.fold.feed(row if message is None or row.message is message else replace(row, message=message))  # type: ignore[attr-defined]

    def replied(self, row: ReplyRow | AbandonedRow) -> Exchange | None:
        """Return the exchange that an answer ends, or None if its request is unknown. `settle` follows after the rules have seen it."""
        link = self.links.get(row.connection)
        x = None if link is None else link.open.get(row.ticket)
        if x is None:
            return None
        x.answered, x.answer_seq = row.t, row.seq
        if isinstance(row, AbandonedRow):
            x.abandoned = x.link.lossy = True
            return x
        x.link.lossy = x.link.lossy or not row.delivered
        x.delivered = row.delivered and row.message is not None
        x.written, x.stalled_when_written = row.written, self.stalls.replied(row)
        x.answer = answered_in(row)
        return x

    def settle(self, x: Exchange) -> None:
        """Update the model of all clients with an answer that the rules have seen."""
        x.link.open.pop(x.ticket, None)
        x.link.order.settle(x)
        x.link.beats += x.key == api_keys.HEARTBEAT and x.answered is not None
        self.producers.hears(x)
        if x.key == api_keys.PRODUCE and x.error and x.answered is not None:
            self.processes.refuses(x.link, x.answered)
        member, group = x.member, x.group
        if member is not None:
            if member.joining is x:
                member.joining = None
            if member.syncing is x:
                member.syncing = None
            if x in member.beating:
                member.beating.remove(x)
            if x.key != api_keys.FETCH:
                member.heard = x
                if x.delivered and x.answered is not None and not x.errors:
                    member.doubt = max(member.doubt, x.answered - member.confirmed)
                    member.confirmed = x.answered
                elif not x.delivered or x.errors - HARMLESS:
                    member.doubt = LONGEST_NS
            if x.key in (api_keys.JOIN_GROUP, api_keys.SYNC_GROUP, api_keys.HEARTBEAT, api_keys.OFFSET_COMMIT) and x.answered is not None:
                member.alive = max(member.alive, x.answered)
        if not x.delivered and x.answered is not None:
            x.link.troubled = x.answered
        if x.answer is not None and x.delivered and (heard := _HEARD.get(x.key)) is not None:
            heard(self, x, x.answer)
        if group is not None:
            group.waiting -= 1
            self._over(group)

    def ended(self, row: CloseRow) -> Link | None:
        """Note that a connection has ended. Return its link, or None if the connection is unknown. `forget` is called after the rules
        have seen the link."""
        link = self.links.get(row.connection)
        if link is not None:
            link.closed, link.ending = (row.t, row.by), row
        return link

    def stood_still(self, now: int) -> None:
        """Note that a node was stalled until now, so that requests and answers on all connections may be late (a leader, for example,
        waits for Metadata)."""
        for link in self.links.values():
            link.troubled = max(link.troubled, now)

    def said(self, row: ClientRow) -> None:
        """Note what a test or scenario says about a client. It is ignored if two members have the client's name."""
        if row.what == ASKED_TO_STOP:
            meant = [link for link in self.links.values() if link.client_id == row.client]
            if len({member for link in meant for member in self.processes.members_of(link.client)}) == 1:
                for link in meant:
                    link.stopping = row.seq

    def forget(self, link: Link) -> None:
        """Forget a connection that has ended. Its members may come back by another connection; if they do not, they are given up later."""
        self.links.pop(link.number, None)
        link.go()
        link.beat = None
        for x in list(link.open.values()):
            x.abandoned = True
            self.settle(x)
        self.processes.without(link)
        self.producers.forget(link)
        if link.ending is not None:
            self.fold.feed(link.ending)
        # A rule may remember a request for long. Its connection should not keep the members that it had, nor what it was told.
        last, link.last, link.learned = link.last, None, None
        link.notes.clear()
        link.order.written.clear()
        if last is None or last.link is not link or last.gone or course.course_of(last) is not None:
            return
        if last.joined is last.joining is last.beat is None:
            self._gone(last)  # The member's id was only reserved. A client that joins with it later begins anew.

    def lost(self) -> None:
        """Forget open requests, connections and groups, because rows are missing. Topics and versions of the cluster are kept."""
        self.agenda = Agenda()
        self.links.clear()
        self.groups.clear()
        self.fold = Rebalances()
        self.topics.lost()
        self.processes.clear()
        self.producers.clear()

    # -- who is who

    def group_of(self, x: Exchange) -> str | None:
        """Return the group that a request is about, or None for none or several (OffsetFetch v8+)."""
        if x.key == api_keys.OFFSET_FETCH and x.version >= SEVERAL:
            groups = x.asked["groups"]
            return str(groups[0]["group_id"]) if len(groups) == 1 else None
        name = x.asked.get("group_id")
        return None if name is None else str(name)

    def _group(self, name: str) -> Group:
        found = self.groups.get(name)
        if found is None:
            found = self.groups[name] = Group(self.fold.of(name))
        return found

    def _sender(self, x: Exchange) -> Member | None:
        """Return the member that sent a request, by its id; None for a request without an id or with several (LeaveGroup)."""
        assert x.group is not None
        if x.key == api_keys.LEAVE_GROUP:
            leavers = leavers_of(x)
            member_id = leavers[0][0] if len(leavers) == 1 else ""
        else:
            asked = x.asked["groups"][0] if x.key == api_keys.OFFSET_FETCH and x.version >= SEVERAL else x.asked
            member_id = str(asked.get("member_id") or "")
        if not member_id:
            return None
        member = x.group.members.get(member_id)
        if member is None:
            return self._member(x.group, member_id, x)
        return None if x.key == api_keys.LEAVE_GROUP and not _own(member, x.link) else member

    def _member(self, group: Group, member_id: str, x: Exchange) -> Member:
        found = group.members.get(member_id)
        if found is None:
            found = group.members[member_id] = Member(group, member_id, x)
            last = x.link.last
            if last is not None and last.group.name == group.name:
                found.before = last.before if last.id == member_id else last
                if last.id != member_id:
                    last.before = None  # Each member keeps only its predecessor, because a longer chain would grow without limit.
            self._give_up_later(found)
        return found

    def _gone(self, member: Member) -> None:
        self.disturb(member)
        member.go()
        if member.group.members.get(member.id) is member:
            del member.group.members[member.id]
        self.processes.nameless(member)
        self._over(member.group)

    def _over(self, group: Group) -> None:
        if not group.members and not group.waiting and self.groups.get(group.name) is group:
            group.go()
            del self.groups[group.name]
            self.fold.forget(group.name)

    def _give_up_later(self, member: Member) -> None:
        """Forget a member once it has been silent for a long time. A member that sends something meanwhile is checked again later."""
        at = member.seen + min(member.session_ns + member.rebalance_ns + SILENCE_NS, LONGEST_NS)

        def look() -> Judgements:
            if member.joining is None and member.seen + min(member.session_ns + member.rebalance_ns + SILENCE_NS, LONGEST_NS) <= self.now:
                self._gone(member)
            else:
                self._give_up_later(member)
            return iter(())

        self.agenda.add(at, member, "", look)

    def _watch(self, member: Member) -> None:
        """Check whether the session of a member expires, once per session while the member sends heartbeats."""
        if member.watched or member.joined is None:
            return
        member.watched = True

        def look() -> Judgements:
            member.watched = False
            if member.alive + member.session_ns > self.now or member.joining is not None or member.syncing is not None or member.beating:
                self._watch(member)
            elif self._awake(member):
                member.lapsed = member.alive
            return iter(())

        due = member.alive + member.session_ns
        self.agenda.add(due if due > self.now else self.now + member.session_ns, member, "", look)

    def _awake(self, member: Member) -> bool:
        heard = member.heard
        well = heard is not None and heard.delivered and heard.errors <= {REBALANCE_IN_PROGRESS}
        lost = member.link.gone or member.link.troubled >= member.alive
        busy = lost or member.leaving is not None or self.processes.sought(member) >= member.alive
        return well and not busy and self.processes.spoke(member) > member.alive + member.session_ns // 2

    # -- answers that were heard

    def _joined(self, x: Exchange, answer: Json) -> None:
        group, member = x.group, x.member
        assert group is not None
        if x.error in (NONE, MEMBER_ID_REQUIRED):
            named = str(answer["member_id"]) or (member.id if member is not None else "")
            if member is None or member.gone or member.id != named:
                member = x.member = self._begun(group, named, x)
        if member is None:
            return
        if x.error == NONE:
            member.joined, member.doubt = x, 0
            self._watch(member)
        else:
            self._refused(x, x.error)

    def _begun(self, group: Group, member_id: str, x: Exchange) -> Member:
        """Note that a connection belongs to this member of the group from now on, and to no other member."""
        old = x.link.last
        member = self._member(group, member_id, x)
        member.wish, member.instance_id, member.link = x, x.asked.get("group_instance_id"), x.link
        member.born = True
        x.link.last = member
        self.processes.named(member, x)
        if old is not None and old.id != member_id and old.group is group and old.link is x.link and not old.gone:
            old.ended = x
            self._gone(old)
        return member

    def _synced(self, x: Exchange, answer: Json) -> None:
        member = x.member
        if member is None:
            return
        if x.error == NONE:
            member.synced = x
            member.had, member.told = member.told, told_by(member, bytes_of(answer["assignment"]))
        else:
            self._refused(x, x.error)

    def _beaten(self, x: Exchange, answer: Json) -> None:
        member, link = x.member, x.link
        if x.error == NONE and member is not None and not member.gone and not link.open and not link.gone:
            self.may_repeat(x, member)
        self._other(x, answer)

    def _other(self, x: Exchange, answer: Json) -> None:
        for code in x.errors and OVER:
            if code in x.errors:
                self._refused(x, code)

    def _refused(self, x: Exchange, code: int) -> None:
        """End a member whose id the coordinator does not know any more, except in a consumer group (`course`)."""
        if code in OVER and x.member is not None and x.member.ended is None and course.course_of(x.member) is None:
            x.member.ended = x
            x.member.told = None
            self._gone(x.member)

    def _steered(self, x: Exchange, answer: Json) -> None:
        """Note the member id that the coordinator chose, as it may in version 0 of ConsumerGroupHeartbeat (KIP-1082)."""
        if x.member is None and x.group is not None and answer["member_id"]:
            x.member = x.link.last = self._member(x.group, str(answer["member_id"]), x)
            self.processes.named(x.member, x)
            course.says(x.member, x)
        course.hears(x.member, x, answer)

    def _left(self, x: Exchange, answer: Json) -> None:
        assert x.group is not None
        for member_id, _ in leavers_of(x):
            member = x.group.members.get(member_id)
            if member is not None and _own(member, x.link):
                member.ended = x
                self._gone(member)

    def _metadata(self, x: Exchange, answer: Json) -> None:
        if x.answered is not None:
            x.link.informed = x.answered
            if x.errors:
                x.link.troubled = x.answered
        self.processes.told(x, self.topics.hears(answer))

    def _versions(self, x: Exchange, answer: Json) -> None:
        if answer["error_code"]:
            return
        served = {int(each["api_key"]): (int(each["min_version"]), int(each["max_version"])) for each in answer["api_keys"]}
        self._served = self._served if served == self._served else served
        x.link.versions = self._served  # Connections share one dict, because most of them get the same answer.


_HEARD: Final[dict[int, Callable[[World, Exchange, Json], None]]] = {
    api_keys.JOIN_GROUP: World._joined,
    api_keys.SYNC_GROUP: World._synced,
    api_keys.HEARTBEAT: World._beaten,
    api_keys.OFFSET_COMMIT: World._other,
    api_keys.LEAVE_GROUP: World._left,
    api_keys.CONSUMER_GROUP_HEARTBEAT: World._steered,
    api_keys.SHARE_GROUP_HEARTBEAT: World._steered,
    api_keys.STREAMS_GROUP_HEARTBEAT: World._steered,
    **dict.fromkeys(OF_SHARE_SESSIONS, lambda _, x, answer: share_sessions.hears(x, answer)),
    api_keys.METADATA: World._metadata,
    api_keys.API_VERSIONS: World._versions,
}


def _own(member: Member, link: Link) -> bool:
    """Return whether the connection belongs to the member's own process and not to an administrator who removes the member. (franz-go
    joins by one connection and leaves by another.)"""
    return member.link is link or link.last is member or member.link.client == link.client
