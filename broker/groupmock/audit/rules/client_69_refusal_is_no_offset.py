"""CLIENT-69 requires that a refused OffsetFetch is repeated before its partitions are read."""

from __future__ import annotations

from typing import Final

from groupmock_codec.api_keys import FETCH, OFFSET_FETCH
from groupmock_codec.units import NS_PER_MS

from ...rounds.embedded import Partition, Partitions
from ..course import assigned_to, course_of
from ..inside import CONSUMER, named
from ..rule import KEPT, Broken, Judgements, Rule, answered, asked
from ..subjects import COORDINATOR_LOAD_IN_PROGRESS, COORDINATOR_NOT_AVAILABLE, NOT_COORDINATOR, Exchange, Member, fetched_of, wanted_of

ERRORS: Final = {
    COORDINATOR_LOAD_IN_PROGRESS: "COORDINATOR_LOAD_IN_PROGRESS",
    COORDINATOR_NOT_AVAILABLE: "COORDINATOR_NOT_AVAILABLE",
    NOT_COORDINATOR: "NOT_COORDINATOR",
}
GIVE_UP_NS: Final = 15_000 * NS_PER_MS
"""The time after which a client has given up: longer than all retries of known clients take with their growing pauses (KafkaJS: 9.3 s)."""

REFUSED_AT_THE_START: Final = """
topics: t1:1
member *: protocols=[p("range", sub("$t1"))]
do completing1(A)
A: SyncGroup assignments=[for($A.member_id, told(held("$t1", 0)))] -> 0
!unload_coordinator partition=hash($group, 50)
A: OffsetFetch require_stable=true topics=[want($t1, 0)] -> any
!move_coordinator partition=hash($group, 50) loading_ms=0
A: FindCoordinator -> 0
pause 300
"""
"""The shared part of both examples: a coordinator that has moved away refuses the OffsetFetch and is back later."""


class Refused:
    """The partitions that one member reads or whose offset it has, and the partitions whose offset was refused, with the OffsetFetch."""

    __slots__ = ("reads", "waiting")

    def __init__(self) -> None:
        self.reads: set[Partition] = set()
        self.waiting: dict[Partition, Exchange] = {}


class AsksAgainWhereToBegin(Rule):
    code = "CLIENT-69"
    title = "A member that was refused the committed offset of a partition asks again before it reads"
    what = (
        "When OffsetFetch is answered COORDINATOR_LOAD_IN_PROGRESS (14), COORDINATOR_NOT_AVAILABLE (15) or NOT_COORDINATOR (16), for the "
        "whole request, for its group (v8 and newer) or for a partition, the member asks again, after FindCoordinator where that is due. "
        "Until it has an answer it neither reads these partitions nor forgets them while it stays in its group."
    )
    why = (
        "An error for the whole request (since v2) or group comes without partitions. Whoever looks at partitions alone takes it for "
        '"nothing was committed" and begins at `auto.offset.reset`: records are skipped or read twice. Or it waits for ever: the group is '
        "Stable, and nobody reads these partitions."
    )
    source = ("clients.md#client-69", "KIP-88", "ConsumerCoordinator.OffsetFetchResponseHandler")
    fix = "Look at the error of the answer and of the group before its partitions, and try again with a pause until there is an answer."
    kept = f"""{REFUSED_AT_THE_START}A: OffsetFetch require_stable=true topics=[want($t1, 0)] -> any
A: Fetch v12 topics=[read($t1, 0, 0)] -> any
"""
    broken = f"""{REFUSED_AT_THE_START}A: Fetch v12 topics=[read($t1, 0, 0)] -> any
"""

    @asked(OFFSET_FETCH)
    def asks(self, x: Exchange) -> Judgements:
        """Note the partitions whose offsets the member asks for again."""
        member = self._asker(x)
        known: Refused | None = None if member is None else member.notes.get(self.code)
        if known is not None:
            wanted = wanted_of(x, self.world.topic_names)
            again = set(known.waiting) if wanted is None else wanted & known.waiting.keys()
            for partition in again:
                del known.waiting[partition]
            if again:
                yield KEPT

    @answered(OFFSET_FETCH)
    def refused(self, x: Exchange) -> Judgements:
        """Note the partitions whose offsets were refused. An application may also ask for partitions that it already reads."""
        member = self._asker(x)
        told = None if member is None else assigned_to(member, self.world.topic_names)
        if member is None or told is None or not x.heard or (course_of(member) is None and member.protocol_type != CONSUMER):
            return iter(())
        known = member.note(self.code, Refused)
        wanted = wanted_of(x, self.world.topic_names)
        found = told if wanted is None else told & wanted
        if not x.errors:
            known.reads = (known.reads | found) & told  # The offset is known if one of several requests for it succeeded.
        if not x.errors & ERRORS.keys():
            return iter(())
        found -= known.reads
        known.waiting.update(dict.fromkeys(found, x))
        if found and x.answered is not None:
            generation = member.generation
            self.later(x.answered + GIVE_UP_NS, member, lambda: self._given_up(member, known, x, generation))
        return iter(())

    @asked(FETCH)
    def reads(self, x: Exchange) -> Judgements:
        """Judge a Fetch of a partition whose offset was refused."""
        member = x.member
        told = None if member is None else assigned_to(member, self.world.topic_names)
        if member is None or told is None:
            return
        known = member.note(self.code, Refused)
        fetched = fetched_of(x, self.world.topic_names)
        wrong = frozenset(each for each in fetched & known.waiting.keys() if self.knew(x, known.waiting[each]))
        known.reads = (known.reads | fetched) & told
        if wrong:
            before = known.waiting[min(wrong)]
            for each in wrong:
                del known.waiting[each]
            yield Broken(
                f"{member.name} was refused the committed offset of {named(wrong)} ({_error(before)}) and reads without having asked again",
                (*before.rows, x.seq),
                "OffsetFetch again, after a pause, and no Fetch of these partitions until it is answered",
            )

    def _given_up(self, member: Member, known: Refused, x: Exchange, generation: int) -> Judgements:
        """Judge a member that is still in the same generation (in a consumer group: still has the partitions), sends heartbeats, and has
        not asked again."""
        told, course = assigned_to(member, self.world.topic_names), course_of(member)
        left: Partitions = frozenset(each for each, before in known.waiting.items() if before is x and each in (told or ()))
        beat = member.beat if course is None else course.said
        if left and member.generation == generation and beat is not None and beat.at > x.at + GIVE_UP_NS // 2:
            for each in left:
                del known.waiting[each]
            yield Broken(
                f"{member.name} was refused the committed offset of {named(left)} ({_error(x)}) and has not asked again for "
                f"{GIVE_UP_NS // NS_PER_MS // 1000} s, while it goes on with heartbeats: nobody reads these partitions",
                (*x.rows, beat.seq),
                "OffsetFetch again, after FindCoordinator and a pause",
            )

    def _asker(self, x: Exchange) -> Member | None:
        """Return the only member of the connection or process, because classic members do not name themselves in an OffsetFetch."""
        if x.group is None or x.member is not None:
            return x.member
        last = x.link.last
        return last if last is not None and last.group is x.group and not last.gone else self.world.processes.sole_member(x.link)


def _error(x: Exchange) -> str:
    return next(name for code, name in ERRORS.items() if code in x.errors)
