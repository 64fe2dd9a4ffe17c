"""CLIENT-69 requires that a refused OffsetFetch is repeated before its partitions are read."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Final

from groupmock_codec import error_codes
from groupmock_codec.api_keys import FETCH, OFFSET_FETCH
from groupmock_codec.error_codes import error_name
from groupmock_codec.units import NS_PER_MS

from ...rounds.embedded import Partition
from ..course import assigned_to, course_of
from ..inside import CONSUMER, named
from ..request_contents import OFFSETS_OF_GROUPS, fetched_of, wanted_of
from ..rule import KEPT, Broken, Judgements, Rule, answered, asked
from ..subjects import COORDINATOR_LOAD_IN_PROGRESS, COORDINATOR_NOT_AVAILABLE, NOT_COORDINATOR, UNSTABLE_OFFSET_COMMIT, Exchange, Member
from ..transaction_example import COMMITS, IN_TRANSACTION, WHO

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ..request_contents import OFFSETS_OF_GROUPS
from ..subjects import Json

PASSING: Final = frozenset((COORDINATOR_LOAD_IN_PROGRESS, COORDINATOR_NOT_AVAILABLE, NOT_COORDINATOR, UNSTABLE_OFFSET_COMMIT))
"""Errors after which a client has to ask again. After another error it may also end, but not read."""
NO_SUCH_PARTITION: Final = error_codes.UNKNOWN_TOPIC_OR_PARTITION
LOST: Final = -1
"""Stands for an answer that the client did not get."""
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
UNSTABLE: Final = f"""
topics: t1:2
member *: protocols=[p("range", sub("$t1"))]
{IN_TRANSACTION}
T: TxnOffsetCommit v3 {WHO} topics=[t($t1, o(0, 5))] -> 0
do completing1(A)
A: SyncGroup assignments=[for($A.member_id, told(held("$t1", 0, 1)))] -> 0
A: OffsetFetch v7 require_stable=true topics=[want($t1, 0, 1)] -> any
pause 300
"""
"""A transaction has changed the offset of one of two partitions and is still open."""


class Refused:
    """The partitions that one member reads or whose offset it has, the partitions whose offset was refused, with the OffsetFetch, and the
    last OffsetFetch of those that it has asked for."""

    __slots__ = ("asked", "reads", "waiting")

    def __init__(self) -> None:
        self.reads: set[Partition] = set()
        self.waiting: dict[Partition, tuple[Exchange, int]] = {}
        self.asked: dict[Partition, Exchange] = {}


class AsksAgainWhereToBegin(Rule):
    code = "CLIENT-69"
    title = "A member that was refused the committed offset of a partition asks again before it reads"
    what = (
        "When OffsetFetch is answered COORDINATOR_LOAD_IN_PROGRESS (14), COORDINATOR_NOT_AVAILABLE (15), NOT_COORDINATOR (16) or "
        "UNSTABLE_OFFSET_COMMIT (88), for the whole request, for its group (v8 and newer) or for a partition, the member asks again, after "
        "FindCoordinator where that is due. Until it has an answer it neither reads these partitions nor forgets them while it stays in "
        "its group. It does not read them either after any other error, or when the answer was lost."
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

    also_kept: ClassVar[dict[str, str]] = {
        "of-two-partitions": f"""{UNSTABLE}
A: Fetch v12 topics=[read($t1, 1, 0)] -> any
{COMMITS}pause 300
A: OffsetFetch v8 require_stable=true groups=[{{group_id: $group, topics: [{{name: $t1, partition_indexes: [0]}}]}}] -> any
A: Fetch v12 topics=[read($t1, 0, 0)] -> any
""",
    }
    also_broken: ClassVar[dict[str, str]] = {
        "lost": """
topics: t1:1
member *: protocols=[p("range", sub("$t1"))]
do completing1(A)
A: SyncGroup assignments=[for($A.member_id, told(held("$t1", 0)))] -> 0
!add_faults rules=[{when: {api: OffsetFetch}, do: {kind: drop}, times: 1}]
A: OffsetFetch require_stable=true topics=[want($t1, 0)] -> silence 300
A/2: Fetch v12 topics=[read($t1, 0, 0)] -> any
""",
        "unstable": f"""{UNSTABLE}
A: Fetch v12 topics=[read($t1, 0, 0)] -> any
""",
    }

    @asked(OFFSET_FETCH)
    def asks(self, x: Exchange) -> Judgements:
        """Note the partitions whose offsets the member asks for, perhaps again."""
        member = self._asker(x)
        told = None if member is None else assigned_to(member, self.world.topic_names)
        if member is None or told is None:
            return
        known = member.note(self.code, Refused)
        wanted = wanted_of(x, self.world.topic_names)
        found = (known.waiting.keys() | told) if wanted is None else wanted
        again = {each for each in found if each in known.waiting or (each in known.asked and _lost(known.asked[each]))}
        for partition in found:
            known.waiting.pop(partition, None)
            known.asked[partition] = x
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
        codes = {each: _code(x, each, self.world.topic_names) for each in (told if wanted is None else told & wanted)}
        for each in codes:
            if known.asked.get(each) is x:
                del known.asked[each]
        known.reads = (known.reads | {each for each, code in codes.items() if not code}) & told
        # The offset is known if one of several requests for it succeeded.
        found = {each: code for each, code in codes.items() if code and code != NO_SUCH_PARTITION and each not in known.reads}
        known.waiting.update((each, (x, code)) for each, code in found.items())
        if x.answered is not None and any(code in PASSING for code in found.values()):
            generation = member.generation
            self.later(x.answered + GIVE_UP_NS, member, lambda: self._given_up(member, known, x, generation))
        return iter(())

    @asked(FETCH)
    def reads(self, x: Exchange) -> Judgements:
        """Judge a Fetch of a partition whose offset was refused, or whose answer was lost."""
        member = x.member
        told = None if member is None else assigned_to(member, self.world.topic_names)
        if member is None or told is None:
            return
        known = member.note(self.code, Refused)
        fetched = fetched_of(x, self.world.topic_names)
        wrong = {each: known.waiting[each] for each in fetched & known.waiting.keys() if self.knew(x, known.waiting[each][0])}
        for each in (fetched & told & known.asked.keys()) - known.reads:
            if _lost(known.asked[each]) and self.sent_later(x, known.asked[each]):
                wrong[each] = known.asked[each], LOST
        known.reads = (known.reads | fetched) & told
        if wrong:
            before, code = wrong[min(wrong)]
            for each in wrong:
                known.waiting.pop(each, None)
                known.asked.pop(each, None)
            did = f"was refused the committed offset of {named(frozenset(wrong))} ({error_name(code)})"
            if code == LOST:
                did = f"got no answer to its OffsetFetch for {named(frozenset(wrong))}"
            yield Broken(
                f"{member.name} {did} and reads without having asked again",
                (*before.rows, x.seq),
                "OffsetFetch again, after a pause, and no Fetch of these partitions until it is answered",
            )

    def _given_up(self, member: Member, known: Refused, x: Exchange, generation: int) -> Judgements:
        """Judge a member that is still in the same generation (in a consumer group: still has the partitions), sends heartbeats, and has
        not asked again."""
        told, course = assigned_to(member, self.world.topic_names), course_of(member)
        left = {each: code for each, (before, code) in known.waiting.items() if before is x and code in PASSING and each in (told or ())}
        beat = member.beat if course is None else course.said
        errors = " or ".join(error_name(code) for code in sorted(set(left.values())))
        if left and member.generation == generation and beat is not None and beat.at > x.at + GIVE_UP_NS // 2:
            for each in left:
                del known.waiting[each]
            yield Broken(
                f"{member.name} was refused the committed offset of {named(frozenset(left))} ({errors}) and has not "
                f"asked again for {GIVE_UP_NS // NS_PER_MS // 1000} s, while it goes on with heartbeats: nobody reads these partitions",
                (*x.rows, beat.seq),
                "OffsetFetch again, after FindCoordinator and a pause",
            )

    def _asker(self, x: Exchange) -> Member | None:
        """Return the only member of the connection or process, because classic members do not name themselves in an OffsetFetch."""
        if x.group is None or x.member is not None:
            return x.member
        last = x.link.last
        return last if last is not None and last.group is x.group and not last.gone else self.world.processes.sole_member(x.link)


def _lost(x: Exchange) -> bool:
    """Return whether the client certainly did not get the answer."""
    return x.abandoned or (x.answered is not None and not x.delivered)


def _code(x: Exchange, partition: Partition, names: Mapping[str, str]) -> int:
    """Return the error code for a partition in an answer to OffsetFetch: the group's, the whole answer's, or its own."""
    answer: Json = x.answer or {}
    of = answer["groups"][0] if x.version >= OFFSETS_OF_GROUPS and answer.get("groups") else answer
    if of.get("error_code"):
        return int(of["error_code"])
    for topic in of.get("topics", ()):
        if (topic.get("name") or names.get(str(topic.get("topic_id")))) == partition[0]:
            return next((int(each["error_code"]) for each in topic["partitions"] if each["partition_index"] == partition[1]), 0)
    return 0
