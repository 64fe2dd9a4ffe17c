"""CLIENT-96 requires that a member reads each partition that it was assigned."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from groupmock_codec.api_keys import CONSUMER_GROUP_HEARTBEAT, FETCH, LIST_OFFSETS, METADATA, OFFSET_FETCH, SYNC_GROUP
from groupmock_codec.units import NS_PER_MS

from ...journal.whose import bytes_of
from ...rounds.embedded import Partition, Partitions
from ..course import assigned_by, course_of, with_names
from ..inside import CONSUMER, named, told_by
from ..judgement import ANOTHER_PROCESS, TROUBLED, UNNAMED
from ..request_contents import all_named, fetched_of
from ..rule import KEPT, WARNING, Broken, Judgements, Rule, answered, asked
from ..subjects import Exchange, Member

if TYPE_CHECKING:
    from ..known_world import World
    from ..subjects import Json

LONG_NS: Final = 5_000 * NS_PER_MS
FETCHES: Final = 5
"""A client that reads from a node fetches all partitions there in its next Fetch, which waits for half a second in known clients. After
this time and this many Fetches to the leader of a partition, the client does not read the partition."""
ASSIGNED: Final = """
topics: t1:2
member *: protocols=[p("range", sub("$t1"))]
A: Metadata v12 topics=[{name: $t1}] -> any
do completing1(A)
A: SyncGroup assignments=[for($A.member_id, told(held("$t1", 0, 1)))] -> 0
A: OffsetFetch require_stable=true topics=[want($t1, 0, 1)] -> any
"""


class Unread:
    """The partitions of a member that it has not read `since` an assignment, and how often it has read from each node since the time
    `clock` (ns), after which nothing hindered it."""

    __slots__ = ("clock", "fetches", "reads", "since", "unread")

    def __init__(self) -> None:
        self.since: Exchange | None = None
        self.unread: frozenset[Partition] = frozenset()
        self.reads: frozenset[Partition] = frozenset()
        self.hindered(-1)

    def hindered(self, at: int) -> None:
        """Begin to count anew, because something may have kept the client from reading until now."""
        self.clock = at
        self.fetches: dict[int | None, int] = {}


class ReadsWhatItIsAssigned(Rule):
    code = "CLIENT-96"
    title = "A member reads each partition that it was assigned"
    severity = WARNING
    what = (
        "A member that reads from a node also fetches, within five seconds, every partition of its assignment that this node leads. An "
        "application that has paused a partition need not."
    )
    why = "The group is Stable and all partitions have an owner, yet nobody reads this one: its records wait until the next rebalance."
    source = ("clients.md#client-96", "ConsumerCoordinator.onJoinComplete")
    fix = "Build the list of partitions to fetch from the whole assignment, each time that it changes."
    kept = f"""{ASSIGNED}
repeat 6
A: Fetch v12 topics=[read($t1, 0, 0), read($t1, 1, 0)] -> any
pause 1000
end
"""
    broken = f"""{ASSIGNED}
repeat 7
A: Fetch v12 topics=[read($t1, 0, 0)] -> any
pause 1000
A: Heartbeat -> 0
end
"""

    def __init__(self, world: World) -> None:
        super().__init__(world)
        self._topics: dict[str, Json] = {}

    @answered(SYNC_GROUP)
    def gets(self, x: Exchange) -> Judgements:
        """Note the partitions that a member gets."""
        member = x.member
        if member is not None and x.answer is not None and x.heard and not x.error and member.protocol_type == CONSUMER:
            self._gets(x, member, told_by(member, bytes_of(x.answer["assignment"])))
        yield from ()

    @answered(CONSUMER_GROUP_HEARTBEAT)
    def is_given(self, x: Exchange) -> Judgements:
        """Note the partitions that a member of a consumer group gets. It reads those that others still have to give up only later, so its
        time begins with each answer that has an assignment."""
        if x.member is not None and course_of(x.member) is not None and x.heard and not x.error and x.answer and x.answer["assignment"]:
            self._gets(x, x.member, with_names(assigned_by(x.answer), self.world.topic_names))
        yield from ()

    def _gets(self, x: Exchange, member: Member, told: Partitions | None) -> None:
        known = member.note(self.code, Unread)
        known.since, known.reads = x, known.reads & (told or frozenset())
        known.unread = (told or frozenset()) - known.reads
        known.hindered(x.answered or x.at)

    @answered(METADATA)
    def learns(self, x: Exchange) -> Judgements:
        """Note the leaders of partitions. An error may keep the client from reading."""
        if x.errors:
            self._hinder(x)
        for topic in (x.answer or {}).get("topics", ()):
            if topic.get("name") is not None:
                self._topics[str(topic["name"])] = topic
        yield from ()

    @answered(OFFSET_FETCH, LIST_OFFSETS)
    def is_refused(self, x: Exchange) -> Judgements:
        """Note that a client does not know where to begin."""
        if x.errors or not x.heard:
            self._hinder(x)
        yield from ()

    def _hinder(self, x: Exchange) -> None:
        member = self.world.processes.sole_member(x.link)
        known: Unread | None = None if member is None else member.notes.get(self.code)
        if known is not None:
            known.hindered(x.answered or x.at)

    @asked(FETCH)
    def reads(self, x: Exchange) -> Judgements:
        """Judge the partitions of the Fetch's node that the client has not read for long, though nothing hindered it."""
        member = x.member
        known: Unread | None = None if member is None else member.notes.get(self.code)
        if member is None and len(self.world.processes.members_of(x.link.client)) > 1:
            yield ANOTHER_PROCESS
        if member is None or known is None or known.since is None or not known.unread:
            return
        if not all_named(x, self.world.topic_names):
            yield UNNAMED
            return
        fetched = fetched_of(x, self.world.topic_names) & (known.unread | known.reads)
        if known.unread <= fetched:
            yield KEPT
        known.reads, known.unread = known.reads | fetched, known.unread - fetched
        known.fetches[x.link.node] = known.fetches.get(x.link.node, 0) + 1
        if x.received - known.clock < LONG_NS or known.fetches[x.link.node] < FETCHES or not known.reads:
            return
        left = frozenset(each for each in known.unread if self._leads(x.link.node, each))
        if self.world.processes.muffled(x.link):
            yield TROUBLED
        elif left:
            known.unread -= left
            yield Broken(
                f"{member.name} was assigned {named(left)} and has not read it for {(x.received - known.clock) // NS_PER_MS // 1000} s, "
                "while it reads from the same node",
                (*known.since.rows, x.seq),
                "a Fetch of every assigned partition, unless the application has paused it",
            )

    def _leads(self, node: int | None, partition: Partition) -> bool:
        """Return whether the last Metadata answer about the topic says that this node leads the partition."""
        found: Any = self._topics.get(partition[0], {}).get("partitions", ())
        return any(each["partition_index"] == partition[1] and node in (each["leader_id"], None) for each in found)
