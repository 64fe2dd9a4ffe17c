"""CLIENT-43 requires that a member asks for the committed offset of a new partition before it fetches from it."""

from __future__ import annotations

from typing import ClassVar

from groupmock_codec.api_keys import CONSUMER_GROUP_HEARTBEAT, FETCH, OFFSET_FETCH, SYNC_GROUP

from ...journal.whose import bytes_of
from ...rounds.embedded import Partition, Partitions
from ..course import assigned_by, course_of, with_names
from ..inside import CONSUMER, named, told_by
from ..judgement import ANOTHER_PROCESS, UNREAD
from ..request_contents import fetched_of, wanted_of
from ..rule import KEPT, WARNING, Broken, Judgements, Rule, answered, asked
from ..subjects import Exchange, Group, Member


class Added:
    """The new partitions of a member. Partitions in `unasked` have had no OffsetFetch yet, and those in `asked` an OffsetFetch but no
    Fetch. `sync` is the last assignment, and `strangers` counts earlier requests for offsets whose sender is unknown."""

    __slots__ = ("asked", "strangers", "sync", "unasked")

    def __init__(self) -> None:
        self.unasked: set[Partition] = set()
        self.asked: set[Partition] = set()
        self.sync: Exchange | None = None
        self.strangers = 0


class OffsetsBeforeReading(Rule):
    code = "CLIENT-43"
    title = "A member asks for the committed offset of a new partition before it reads it"
    severity = WARNING
    what = (
        "After an assignment the first Fetch of a partition that the member did not have before comes after an OffsetFetch for it. An "
        "application that keeps positions elsewhere and seeks needs none."
    )
    why = "Without the committed offset the member reads from wherever it stood or from `auto.offset.reset`: records come twice, or never."
    source = ("clients.md#client-43", "ConsumerCoordinator.initWithCommittedOffsetsIfNeeded")
    fix = "Ask for the committed offsets of the new partitions when the assignment comes, and read them once the answer is there."
    kept = """
topics: t1:2
member *: protocols=[p("range", sub("$t1"))]
do completing1(A)
A: SyncGroup assignments=[for($A.member_id, told(held("$t1", 0, 1)))] -> 0
A: OffsetFetch require_stable=true topics=[want($t1, 0, 1)] -> any
pause 300
A: Fetch v12 topics=[read($t1, 0, 0)] -> any
"""
    broken = """
topics: t1:2
member *: protocols=[p("range", sub("$t1"))]
do completing1(A)
A: SyncGroup assignments=[for($A.member_id, told(held("$t1", 0, 1)))] -> 0
A: OffsetFetch require_stable=true topics=[want($t1, 0)] -> any
pause 300
A: Fetch v12 topics=[read($t1, 1, 0)] -> any
"""

    also_kept: ClassVar[dict[str, str]] = {
        "by-a-connection-of-its-former-id": """
topics: t1:1
member *: protocols=[p("range", sub("$t1"))] client_id=A
O: Heartbeat member_id=former generation_id=1 -> any
do completing1(A)
A: SyncGroup assignments=[for($A.member_id, told(held("$t1", 0)))] -> 0
O: OffsetFetch v9 groups=[{group_id: $group, member_id: $A.member_id, topics: [{name: $t1, partition_indexes: [0]}]}] -> any
pause 300
A: Fetch v12 topics=[read($t1, 0, 0)] -> any
""",
    }

    @answered(SYNC_GROUP)
    def gets(self, x: Exchange) -> Judgements:
        """Note new partitions, which the member had neither by its last assignment nor by the one before. It may not have seen the last
        assignment, because it joined again first. A member that is older than the journal may have had any partition."""
        member = x.member
        if member is not None and x.answer is not None and x.heard and not x.error and member.protocol_type == CONSUMER:
            told = told_by(member, bytes_of(x.answer["assignment"]))
            if member.told is None and not (member.born and member.synced is None):
                told = None
            self._gets(x, member, told, (member.told or frozenset()) | (member.had or frozenset()))
        yield from ()

    @answered(CONSUMER_GROUP_HEARTBEAT)
    def is_given(self, x: Exchange) -> Judgements:
        """Note the new partitions of a member of a consumer group whose joining is in the journal."""
        course, names = course_of(x.member), self.world.topic_names
        if x.member is not None and course is not None and x.heard and not x.error and x.answer and x.answer["assignment"] is not None:
            told = with_names(assigned_by(x.answer), names) if course.joined is not None else None
            self._gets(x, x.member, told, with_names(course.assigned | (course.owned or frozenset()), names))
        yield from ()

    def _gets(self, x: Exchange, member: Member, told: Partitions | None, had: Partitions) -> None:
        """Note partitions that are new to the member. `told` is None if its assignment or its earlier partitions are unknown."""
        added = member.note(self.code, Added)
        if told is None:
            added.unasked.clear()
        else:
            added.unasked = (added.unasked & told) | (told - had)
            added.sync, added.strangers = x, member.group.note(self.code, Strangers).count
        added.asked.clear()

    @asked(OFFSET_FETCH)
    def asks(self, x: Exchange) -> Judgements:
        """Note the partitions whose committed offsets the member asks for. Before version 9 a member does not name itself in this
        request, so its connection or process shows the member."""
        if x.group is None:
            return
        last = x.link.last
        named = last is not None and last.group is x.group and not last.gone
        member = x.member or (last if named else self.world.processes.sole_member(x.link))
        added: Added | None = None if member is None else member.notes.get(self.code)
        if member is None:
            x.group.note(self.code, Strangers).count += 1
        elif added is not None:
            wanted = wanted_of(x, self.world.topic_names)
            found = set(added.unasked) if wanted is None else added.unasked & wanted
            added.unasked -= found
            added.asked |= found
        yield from ()

    @asked(FETCH)
    def reads(self, x: Exchange) -> Judgements:
        """Judge a Fetch of a process with only one member, once for each partition. A Fetch that was under way when the assignment came
        may be about partitions of an earlier member id."""
        member = x.member
        added: Added | None = None if member is None else member.notes.get(self.code)
        if added is None or member is None or not (added.unasked or added.asked):
            return
        fetched = fetched_of(x, self.world.topic_names)
        # A partition whose offset a stranger may have asked for cannot be judged later either, because there may only be more strangers.
        strangers = added.strangers != _strangers(member.group, self.code)
        uncertain = ANOTHER_PROCESS if strangers else UNREAD if added.sync is None or not self.knew(x, added.sync) else None
        if added.asked & fetched:
            added.asked -= fetched
            yield uncertain or KEPT
        wrong = added.unasked & fetched
        if not wrong:
            return
        if uncertain is not UNREAD:
            added.unasked -= wrong
        if uncertain is not None or added.sync is None:
            yield uncertain or UNREAD
        else:
            yield Broken(
                f"{member.name} got {named(wrong)} and reads it without having asked for its committed offset",
                (*added.sync.rows, x.seq),
                "an OffsetFetch for every new partition before its first Fetch, unless the application seeks",
            )


class Strangers:
    """Counts the requests for a group's committed offsets whose sender is unknown."""

    __slots__ = ("count",)

    def __init__(self) -> None:
        self.count = 0


def _strangers(group: Group, code: str) -> int:
    return group.note(code, Strangers).count
