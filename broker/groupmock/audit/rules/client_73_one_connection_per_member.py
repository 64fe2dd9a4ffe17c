"""CLIENT-73 requires that the requests of one member come from one process, and those of one API by one connection."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Final

from groupmock_codec.api_keys import HEARTBEAT, JOIN_GROUP, OFFSET_COMMIT, SYNC_GROUP
from groupmock_codec.units import NS_PER_MS

from ...text.printable import one_line
from ..course import course_of
from ..judgement import NO_HOST, UNREAD
from ..rule import KEPT, Broken, Judgements, Rule, asked, closed
from ..subjects import Exchange, Link, Member

if TYPE_CHECKING:
    from collections.abc import Callable

TURNS: Final = 4
"""A member has to change its connection so often. A client that gives up a connection changes once, and twice more if a request that was
under way there is read late."""
HEARTBEATS: Final = 3
"""So many heartbeats of a member on each of two connections show the same, because most heartbeats are counted and not judged."""
FIRST_LOOK_NS: Final = 50 * NS_PER_MS + 1
"""The heartbeats on the two connections are counted for the first time after this time. It is no whole number of milliseconds, so that on
a virtual clock no heartbeat comes at the moment of the count."""
ANY: Final = -1
PAIR: Final = "CLIENT-73 pair"


class _Way:
    """The last request of a member, the last one from the other place (a connection or a client), and how often the place changed."""

    __slots__ = ("crossed", "last", "other", "turns")

    def __init__(self, last: Exchange) -> None:
        self.last = last
        self.other: Exchange | None = None
        self.turns = 0
        self.crossed = False

    def goes_on(self, x: Exchange, place: Callable[[Exchange], object]) -> bool:
        """Note the next request of the member. Return whether the member has just changed its place too often."""
        if place(x) == place(self.last):
            self.last = x
            return False
        is_back = self.other is not None and place(self.other) == place(x) and not self.last.link.gone
        self.crossed = is_back and x.waited_since(self.last) < 0
        self.turns = self.turns + 1 if is_back and not self.crossed else 1
        self.other, self.last = self.last, x
        return self.turns == TURNS


class _Pair:
    """Two connections by which a member sends heartbeats, with the numbers of heartbeats at first."""

    __slots__ = ("before", "links", "since")

    def __init__(self, one: Link, other: Link, since: int) -> None:
        self.links, self.since = (one, other), since
        self.before = one.beats, other.beats

    def judge(self, member: Member) -> Broken | None:
        """Return the finding if the member has gone on with heartbeats on both connections."""
        enough = all(link.beats - before >= HEARTBEATS for link, before in zip(self.links, self.before, strict=True))
        if not enough or member.beat is None or any(link.gone for link in self.links):
            return None
        return _in_turns(member, member.beat.rows, *self.links)


class SpeaksByOneConnection(Rule):
    code = "CLIENT-73"
    title = "A member is in one process, and sends the requests of an API by one connection"
    what = (
        "Heartbeats of a member come by one connection, and so do its JoinGroups, its SyncGroups and its commits. (Different APIs may have "
        "different connections, and a lost connection is replaced.) No two client ids and no two hosts send requests of the same member."
    )
    why = (
        "A broker keeps the order of requests only within a connection, and two processes with one member id do not know what the other "
        "one was told: each takes part in rebalances for both, and both read the same partitions."
    )
    source = ("clients.md#client-73", "AbstractCoordinator.ensureCoordinatorReady", "KIP-394")
    fix = "Send the requests about a group by the connection to its coordinator, and never hand a member id to another process."
    implies = ("CLIENT-02",)
    kept = """
do stable1(A)
A/2: Heartbeat -> 0
A: JoinGroup -> 0 generation_id=2
A: SyncGroup assignments=[for($A.member_id, b"for A")] -> 0
A/2: Heartbeat -> 0
A: JoinGroup -> 0 generation_id=3
A: SyncGroup assignments=[for($A.member_id, b"for A")] -> 0
A/2: Heartbeat -> 0
"""
    broken = """
do stable1(A)
repeat 4
A: Heartbeat -> 0
A/2: Heartbeat -> 0
pause 1
end
A drops
"""
    also_kept: ClassVar[dict[str, str]] = {
        "new-connection": """
do stable1(A)
repeat 4
A: Heartbeat -> 0
pause 300
A reconnects
end
A: JoinGroup -> 0 generation_id=2
""",
    }
    also_broken: ClassVar[dict[str, str]] = {
        "for-long": """
do stable1(A)
repeat 5
A: Heartbeat -> 0
pause 300
A/2: Heartbeat -> 0
pause 300
end
""",
        "joins": """
do stable1(A)
repeat 3
A/2: JoinGroup -> 0
A/2: SyncGroup assignments=[for($A.member_id, b"for A")] -> 0
pause 100
A: JoinGroup -> 0
A: SyncGroup assignments=[for($A.member_id, b"for A")] -> 0
pause 100
end
""",
        "two-processes": """
do stable1(A)
B is A
repeat 3
pause 1
A: Heartbeat -> 0
pause 1
B: OffsetCommit topics=[t("t", o(0, 5))] -> any
end
""",
    }

    @asked(JOIN_GROUP, SYNC_GROUP, HEARTBEAT, OFFSET_COMMIT)
    def speaks(self, x: Exchange) -> Judgements:
        """Compare the connection with that of the member's previous requests."""
        member = x.member
        if member is None or member.joined is None or course_of(member) is not None:
            return
        ways: dict[int, _Way] = member.note(self.code, dict)
        before = ways.get(x.key)
        if x.key == HEARTBEAT and before is not None and before.last.link is not x.link and not before.last.link.gone:
            pair: _Pair | None = member.notes.get(PAIR)
            if pair is None or {*pair.links} != {before.last.link, x.link}:
                self._look_later(member, _Pair(before.last.link, x.link, x.at), FIRST_LOOK_NS)
        for key, place in ((x.key, _link), (ANY, _client)):
            way = ways.get(key)
            if way is None:
                ways[key] = _Way(x)
            elif key == ANY and "" in (x.link.host, way.last.link.host) and x.link.host != way.last.link.host:
                ways[key] = _Way(x)
                yield NO_HOST
            # Heartbeats are judged by the pair, because which of them are shown here depends on the traffic of others.
            elif way.goes_on(x, place) and way.other is not None and key != HEARTBEAT:
                yield _in_turns(member, (*way.other.rows, x.seq), way.other.link, x.link)
            elif way.crossed:
                yield UNREAD
        if x.key == JOIN_GROUP and ways[ANY].turns == ways[JOIN_GROUP].turns == 0:
            yield KEPT

    def _look_later(self, member: Member, pair: _Pair, after: int) -> None:
        member.notes[PAIR] = pair
        self.later(pair.since + after, member, lambda: self._look(member, pair, after))

    def _look(self, member: Member, pair: _Pair, after: int) -> Judgements:
        """Judge the heartbeats on two connections until one of these is closed or a session has passed."""
        if member.notes.get(PAIR) is not pair:
            return
        found = pair.judge(member)
        if found is not None:
            del member.notes[PAIR]
            yield found
        elif after < member.session_ns:
            self._look_later(member, pair, 2 * after)
        else:
            del member.notes[PAIR]

    @closed
    def ends(self, link: Link) -> Judgements:
        """Judge the heartbeats on two connections before one of these is forgotten."""
        member = link.last
        pair: _Pair | None = None if member is None else member.notes.get(PAIR)
        if member is not None and pair is not None and link in pair.links:
            del member.notes[PAIR]
            if (found := pair.judge(member)) is not None:
                yield found


def _link(x: Exchange) -> object:
    return x.link


def _client(x: Exchange) -> object:
    return x.client


def _in_turns(member: Member, rows: tuple[int, ...], *links: Link) -> Broken:
    how = "by two connections that were both open"
    if links[0].client != links[1].client:
        how = "as two clients: " + " and ".join(f"{one_line(link.client_id or '')} of {link.host}" for link in links)
    instead = "all requests of a member from one process, those of an API by one connection"
    return Broken(f"{member.name} sent its requests in turns {how}", rows, instead)
