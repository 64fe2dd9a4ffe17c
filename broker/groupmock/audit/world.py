"""What is known of connections, groups and members after each row: the ground on which rules judge.

The theory. A client knows what it was answered and what it sent; so does the world. A row of kind `request` becomes an Exchange that waits
in its link until `reply` or `abandoned` brings the answer. Rules see both before the world takes them in, with the state as the client had
it.

A member begins with the answer that gave it its id (79 or success), or with the first request that names it, if the journal begins later.
It
ends when it has left, is answered that nobody knows it (25) or that it is fenced (82), or when it is silent for so long that any broker
has given it up. A group ends with its last member. An answer that was not delivered changes nothing: the
client goes on as it was, and so does the member here.

Whose is a Fetch? Requests without a group are a member's if it is the only one of that host and client id (`sole_member`); Kafka's protocol
does not tell more of a process, and of two with one name none is blamed for the other.

Heartbeats that repeat. Nearly all rows of a journal are heartbeats that are equal to the one before them, on the same connection and with
nothing between, and answered at once and without an error. Of those rules are not asked: nothing has changed since they were asked of the
first. All that they tell is when the member was heard last, and that is taken down (`Member.beat`, `Member.seen`). One that comes after a
pause longer than a third of the session timeout is asked about, and so is the first one after the member did anything else, on whatever
connection. A broker that is audited while it runs need not make rows of the others (`Pulse`), and the verdicts are the same.

Rows that are missing (numbers of rows that jump, a capture that lost packets) make a hole in all of this: what was open is forgotten
(`lost`), and what comes after it is judged afresh.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final

import msgspec

from ..journal.rows import AbandonedRow, CloseRow, OpenRow, ReplyRow, RequestRow
from ..rounds.embedded import told_of
from .agenda import Agenda
from .subjects import (
    API_VERSIONS,
    CONSUMER_GROUP_HEARTBEAT,
    FENCED_INSTANCE_ID,
    FETCH,
    FIND_COORDINATOR,
    HEARTBEAT,
    JOIN_GROUP,
    LEAVE_GROUP,
    MEMBER_ID_REQUIRED,
    METADATA,
    NONE,
    NS_PER_MS,
    OFFSET_COMMIT,
    OFFSET_FETCH,
    SYNC_GROUP,
    TXN_OFFSET_COMMIT,
    UNKNOWN_MEMBER_ID,
    Exchange,
    Group,
    Json,
    Link,
    Member,
    Plan,
    data_of,
    leavers_of,
)

if TYPE_CHECKING:
    from .judgement import Judgements
    from .subjects import Pulse

OF_GROUPS: Final = frozenset(
    (OFFSET_COMMIT, OFFSET_FETCH, JOIN_GROUP, HEARTBEAT, LEAVE_GROUP, SYNC_GROUP, TXN_OFFSET_COMMIT, CONSUMER_GROUP_HEARTBEAT)
)
SEEN: Final = OF_GROUPS | {FETCH, METADATA, FIND_COORDINATOR, API_VERSIONS}
"""Requests whose content is looked at; of the others it is their version alone."""
ANSWERS: Final = SEEN - {FETCH}
SLACK_NS: Final = 250 * NS_PER_MS
"""How long before a request an answer must have gone out to be sure that its client had heard it. A client whose threads wait for each
other, on a machine that is busy, needs tens of milliseconds from the socket to the next request that minds the answer."""
OVER: Final = (UNKNOWN_MEMBER_ID, FENCED_INSTANCE_ID)
SILENCE_NS: Final = 60_000 * NS_PER_MS
LONGEST_NS: Final = 3_600_000 * NS_PER_MS
"""A member that says nothing is kept for its session and rebalance timeout and SILENCE_NS, at most LONGEST_NS."""
CALM: Final = 3
"""A pause between heartbeats of up to a third of the session timeout is nobody's business: it is what Kafka advises (heartbeat.interval.ms)."""


class World:
    """`feed` it rows. `links`: by number; `groups`: by name; `partitions`: topic -> how many, as answers to Metadata said; `topic_names`:
    id ->
    name; `now`: the latest time of a row, ns; `slack`: see SLACK_NS; `pulse`: of a broker that runs."""

    def __init__(self, slack: int = SLACK_NS, pulse: Pulse | None = None) -> None:
        self.slack = slack
        self.pulse = pulse
        self.now = 0
        self.agenda = Agenda()
        self.links: dict[int, Link] = {}
        self.groups: dict[str, Group] = {}
        self.partitions: dict[str, int] = {}
        self.topic_names: dict[str, str] = {}
        self._clients: dict[tuple[str, str | None], set[Member]] = {}

    # -- rows

    def opened(self, row: OpenRow) -> None:
        """A connection begins."""
        self._link(row.connection, row.client_host)

    def asked(self, row: RequestRow) -> Exchange:
        """A request: the exchange that it begins, with whoever sent it as far as that is known. `take` it in when the rules have seen
        it."""
        link = self.links.get(row.connection)
        if link is None:  # the journal begins later than the connection
            link = self._link(row.connection)
        x = Exchange(row, _json(row.message) if row.api_key in SEEN else {}, link)
        if row.api_key in OF_GROUPS and x.asked:
            name = self.group_of(x)
            if name is not None:
                x.group = self._group(name)
                x.member = self._sender(x)
        elif row.api_key == FETCH:
            x.member = self.sole_member(link)
            x.group = None if x.member is None else x.member.group
        return x

    def take(self, x: Exchange) -> None:
        """The request is part of what is known now."""
        link = x.link
        link.catch_up()
        link.beat = None
        link.open[x.ticket] = x
        link.client_id = x.client_id
        if x.group is not None:
            x.group.waiting += 1
        member = x.member
        if x.key == API_VERSIONS and x.asked.get("client_software_name"):
            link.software = str(x.asked["client_software_name"]), str(x.asked["client_software_version"])
        if member is None or x.key == FETCH:
            return
        link.last = member
        member.link, member.spoke = link, x.at
        self._named(member, x)
        if x.key == JOIN_GROUP:
            member.wish = member.joining = x
            member.instance_id = x.asked.get("group_instance_id") or member.instance_id
        elif x.key == SYNC_GROUP:
            member.syncing = x
            plan = x.group.plan if x.group is not None else None
            if plan is not None and plan.brought is None and (member.id, x.asked["generation_id"]) == (plan.leader, plan.generation):
                plan.brought = {str(each["member_id"]): data_of(each["assignment"]) for each in x.asked["assignments"]}
        elif x.key == HEARTBEAT:
            member.beating.append(x)
            member.beats = [each for each in member.beats if each.link.beat is each]
            member.beats.append(x)
        else:
            self._disturb(member)

    def replied(self, row: ReplyRow | AbandonedRow) -> Exchange | None:
        """The end of an exchange; None: its request is not known. `settle` it when the rules have seen it."""
        link = self.links.get(row.connection)
        x = None if link is None else link.open.get(row.ticket)
        if x is None:
            return None
        x.answered, x.answer_seq = row.t, row.seq
        if isinstance(row, AbandonedRow):
            x.abandoned = True
            return x
        x.delivered = row.delivered and row.message is not None
        x.answer = _json(row.message) if x.key in ANSWERS and row.message is not None else None
        return x

    def settle(self, x: Exchange) -> None:
        """The answer is part of what is known now."""
        x.link.open.pop(x.ticket, None)
        member, group = x.member, x.group
        if member is not None:
            if member.joining is x:
                member.joining = None
            if member.syncing is x:
                member.syncing = None
            if x in member.beating:
                member.beating.remove(x)
        if x.answer is not None and x.delivered:
            heard = _HEARD.get(x.key)
            if heard is not None:
                heard(self, x, x.answer)
        if group is not None:
            group.waiting -= 1
            self._over(group)

    def ended(self, row: CloseRow) -> Link | None:
        """A connection ends; None: one that is not known. `forget` it when the rules have seen it."""
        link = self.links.get(row.connection)
        if link is not None:
            link.catch_up()
            link.closed = row.t, row.by
        return link

    def forget(self, link: Link) -> None:
        """The connection is gone. Its members may come back by another one; those that do not are given up one day."""
        self.links.pop(link.number, None)
        link.gone, link.beat = True, None
        for x in list(link.open.values()):
            x.abandoned = True
            self.settle(x)

    def lost(self) -> None:
        """Rows are missing: what was open is not known any more. What clusters have (topics, versions) still is."""
        self.agenda = Agenda()
        self.links.clear()
        self.groups.clear()
        self._clients.clear()

    def repeats(self, row: RequestRow) -> bool:
        """Is this request equal to the one before it on its connection, a heartbeat, and is the pause between them short?"""
        link = self.links.get(row.connection)
        if link is None or link.beat is None:
            return False
        link.catch_up()
        beat = link.beat
        return bool(
            row.t - beat.at <= link.calm
            and row.received >= (beat.answered or 0)
            and (row.api_key, row.api_version, row.client_id) == (beat.key, beat.version, beat.client_id)
            and _json(row.message) == beat.asked
        )

    def again(self, row: RequestRow) -> None:
        """Such a heartbeat was answered at once and without an error."""
        beat = self.links[row.connection].beat
        assert beat is not None
        beat.again(row.t, row.seq)

    def calm_until(self, number: int) -> int:
        """Until when nobody need hear of heartbeats that repeat the last one of this connection; -1: all of them are to be heard."""
        link = self.links.get(number)
        return -1 if link is None or link.beat is None else link.beat.at + link.calm

    # -- who is who

    def group_of(self, x: Exchange) -> str | None:
        """The group that a request is about; None: none or several (OffsetFetch v8+)."""
        name = x.asked.get("group_id")
        if name is None and len(x.asked.get("groups", ())) == 1:
            name = x.asked["groups"][0]["group_id"]
        return None if name is None else str(name)

    def sole_member(self, link: Link) -> Member | None:
        """The one member of the process that this connection is of; None where that cannot be told."""
        found = self._clients.get(link.client, ())
        return next(iter(found)) if len(found) == 1 else None

    def _link(self, number: int, host: str = "") -> Link:
        link = self.links[number] = Link(number, host)
        link.pulse = self.pulse
        return link

    def _disturb(self, member: Member) -> None:
        """It has done something else: rules are asked about its next heartbeat, on whatever connection."""
        for each in member.beats:
            if each.link.beat is each:
                each.link.catch_up()
                each.link.beat = None
                if self.pulse is not None:
                    self.pulse.retell(each.link.number)

    def _group(self, name: str) -> Group:
        found = self.groups.get(name)
        if found is None:
            found = self.groups[name] = Group(name)
        return found

    def _sender(self, x: Exchange) -> Member | None:
        """By the id that it gives. A LeaveGroup that names several, or a request without an id, is nobody's."""
        assert x.group is not None
        if x.key == LEAVE_GROUP:
            leavers = leavers_of(x)
            member_id = leavers[0][0] if len(leavers) == 1 else ""
        else:
            member_id = str(x.asked.get("member_id") or "")
        if not member_id:
            return None
        return x.group.members.get(member_id) or self._member(x.group, member_id, x)

    def _member(self, group: Group, member_id: str, x: Exchange) -> Member:
        found = group.members.get(member_id)
        if found is None:
            found = group.members[member_id] = Member(group, member_id, x)
            if x.link.last is not None and x.link.last.group is group and x.link.last is not found:
                found.before = x.link.last
                found.before.before = None  # one step back is enough, and a chain would grow
            self._give_up_later(found)
        return found

    def _named(self, member: Member, x: Exchange) -> None:
        if (member.host, member.client_id) != x.link.client:
            self._clients.get((member.host, member.client_id), set()).discard(member)
            member.client_id, member.host = x.client_id, x.link.host
        self._clients.setdefault(x.link.client, set()).add(member)

    def _gone(self, member: Member) -> None:
        member.gone = True
        self._disturb(member)
        if member.group.members.get(member.id) is member:
            del member.group.members[member.id]
        known = self._clients.get((member.host, member.client_id))
        if known is not None:
            known.discard(member)
            if not known:
                del self._clients[member.host, member.client_id]
        self._over(member.group)

    def _over(self, group: Group) -> None:
        if not group.members and not group.waiting and self.groups.get(group.name) is group:
            group.gone = True
            del self.groups[group.name]

    def _give_up_later(self, member: Member) -> None:
        """When it has been silent for so long; one that speaks meanwhile is looked at again."""
        at = member.seen + min(member.session_ns + member.rebalance_ns + SILENCE_NS, LONGEST_NS)

        def look() -> Judgements:
            if member.joining is None and member.seen + min(member.session_ns + member.rebalance_ns + SILENCE_NS, LONGEST_NS) <= self.now:
                self._gone(member)
            else:
                self._give_up_later(member)
            return iter(())

        self.agenda.add(at, member, "", look)

    # -- answers that were heard

    def _joined(self, x: Exchange, answer: Json) -> None:
        group, member = x.group, x.member
        assert group is not None
        if x.error in (NONE, MEMBER_ID_REQUIRED) and member is None:
            member = x.member = self._member(group, str(answer["member_id"]), x)
            member.wish, member.instance_id = x, x.asked.get("group_instance_id")
            x.link.last = member
            self._named(member, x)
        if member is None:
            return
        if x.error == NONE:
            member.joined = x
            group.newest = max(group.newest, int(answer["generation_id"]))
            if answer["members"] and (group.plan is None or group.plan.generation != answer["generation_id"]):
                group.plan = Plan(x, answer, str(x.asked["protocol_type"]))
        else:
            self._refused(x, x.error)

    def _synced(self, x: Exchange, answer: Json) -> None:
        member = x.member
        if member is None:
            return
        if x.error == NONE:
            member.synced = x
            claim = member.claim()
            if claim is not None:
                member.told = told_of(member.protocol_type, member.protocol, data_of(answer["assignment"]), claim).assigned
        else:
            self._refused(x, x.error)

    def _beaten(self, x: Exchange, answer: Json) -> None:
        member = x.member
        if x.error == NONE and member is not None and not member.gone and not x.link.open:
            x.link.beat, x.link.calm = x, (member.session_ns or SILENCE_NS) // CALM
        self._other(x, answer)

    def _other(self, x: Exchange, answer: Json) -> None:
        for code in OVER:
            if code in x.errors:
                self._refused(x, code)

    def _refused(self, x: Exchange, code: int) -> None:
        """Nobody knows it any more: whatever it does next, it does as another member."""
        if code in OVER and x.member is not None and x.member.ended is None:
            x.member.ended = x
            x.member.told = None
            self._gone(x.member)

    def _left(self, x: Exchange, answer: Json) -> None:
        assert x.group is not None
        for member_id, _ in leavers_of(x):
            member = x.group.members.get(member_id)
            if member is not None:
                member.ended = x
                self._gone(member)

    def _metadata(self, x: Exchange, answer: Json) -> None:
        for topic in answer["topics"]:
            name = topic.get("name")
            if not topic["error_code"] and name is not None:
                self.partitions[str(name)] = len(topic["partitions"])
                if topic.get("topic_id"):
                    self.topic_names[str(topic["topic_id"])] = str(name)

    def _versions(self, x: Exchange, answer: Json) -> None:
        if not answer["error_code"]:
            x.link.versions = {int(each["api_key"]): (int(each["min_version"]), int(each["max_version"])) for each in answer["api_keys"]}


_HEARD: Final[dict[int, Callable[[World, Exchange, Json], None]]] = {
    JOIN_GROUP: World._joined,
    SYNC_GROUP: World._synced,
    HEARTBEAT: World._beaten,
    OFFSET_COMMIT: World._other,
    LEAVE_GROUP: World._left,
    METADATA: World._metadata,
    API_VERSIONS: World._versions,
}


def _json(message: Any) -> Json:
    """As JSON has it: a row in memory holds the codec's message, one of a file a dict."""
    if message is None:
        return {}
    found: Json = message if isinstance(message, Mapping) else msgspec.to_builtins(message)
    return found
