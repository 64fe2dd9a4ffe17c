"""CLIENT-67 requires that a member commits only partitions of its assignment."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from groupmock_codec.api_keys import OFFSET_COMMIT, TXN_OFFSET_COMMIT

from ...text.printable import one_line
from .. import streams_example
from ..commit_example import ALONE
from ..course import course_of, with_names
from ..inside import kept_in
from ..judgement import UNNAMED, UNREAD, UNSEEN_JOIN
from ..request_contents import epoch_of
from ..rule import KEPT, Broken, Judgements, Kept, NotJudged, Rule, asked
from ..subjects import Exchange, committed_of
from ..transaction_example import IN_TRANSACTION, WHO

if TYPE_CHECKING:
    from ...rounds.embedded import Partitions
    from ..course import Course
    from ..subjects import Member


class CommitsWhatIsItsOwn(Rule):
    code = "CLIENT-67"
    title = "A member commits only partitions that it was assigned"
    what = (
        "Partitions of an OffsetCommit or TxnOffsetCommit that carries a generation are in the assignment that SyncGroup brought for it. "
        "Those that the member kept in its JoinGroup (a cooperative assignor) and that were just taken away may still be committed until "
        "the next JoinGroup, unless they were given to another member at once. A member of a streams group commits partitions that its "
        "active tasks read, also of tasks that it has not said to have given up."
    )
    why = (
        "The coordinator does not look: it overwrites what the owner has committed. After the next rebalance records are read twice, "
        "or are never read."
    )
    source = ("clients.md#client-67", "KIP-429", "KIP-1071")
    fix = "Drop the offsets of partitions that were revoked or lost, also those of records that are still being worked on."
    kept = (
        ALONE
        + """
pause 300
A: OffsetCommit topics=[t($t1, o(0, 5))] -> 0
"""
    )
    broken = (
        ALONE
        + """
pause 300
A: OffsetCommit topics=[t($t1, o(0, 5)), t($t2, o(0, 5))] -> 0
"""
    )
    also_broken: ClassVar[dict[str, str]] = {
        "in-a-streams-group": f"""{streams_example.HEADER.replace("t1:2", "t1:2 t2:1")}{streams_example.DEALT}
A: OffsetCommit v9 member_id=a generation_id_or_member_epoch=$now topics=[t($t1, o(0, 5)), t($t2, o(0, 5))] -> 0
""",
        "in-a-transaction": f"""{ALONE}{IN_TRANSACTION}
pause 300
T: TxnOffsetCommit v3 {WHO} generation_id=1 member_id=$A.member_id topics=[t($t2, o(0, 5))] -> 0
""",
        # Whatever an assignor is called: A has kept nothing while it joined, and has lost its partition.
        "given-up": ALONE.replace('"range"', '"my-own"')
        + """
A: JoinGroup -> 0 generation_id=2 eventually
A: SyncGroup assignments=[for($A.member_id, told())] -> 0
pause 300
A: OffsetCommit topics=[t($t1, o(0, 5))] -> 0
""",
        "given-up-under-version-3": ALONE.replace('p("range", sub("$t1"))', 'p("my-own", subscribed(3, ["$t1"]))')
        + """
A: JoinGroup -> 0 generation_id=2 eventually
A: SyncGroup assignments=[for($A.member_id, told())] -> 0
pause 300
A: OffsetCommit topics=[t($t1, o(0, 5))] -> 0
""",
    }
    also_kept: ClassVar[dict[str, str]] = {
        "in-a-streams-group": f"""{streams_example.HEADER}{streams_example.DEALT}
A: OffsetCommit v9 member_id=a generation_id_or_member_epoch=$now topics=[t($t1, o(1, 5))] -> 0
""",
        "in-a-transaction": f"""{ALONE}{IN_TRANSACTION}
pause 300
T: TxnOffsetCommit v3 {WHO} generation_id=1 member_id=$A.member_id topics=[t($t1, o(0, 5))] -> 0
""",
        "kept-under-any-name": ALONE.replace('p("range", sub("$t1"))', 'p("my-own", subscribed(3, ["$t1"]))')
        + """
A: JoinGroup protocols=[p("my-own", subscribed(3, ["$t1"], 1, held("$t1", 0)))] -> 0 generation_id=2 eventually
A: SyncGroup assignments=[for($A.member_id, told())] -> 0
pause 300
A: OffsetCommit topics=[t($t1, o(0, 5))] -> 0
""",
    }

    @asked(OFFSET_COMMIT, TXN_OFFSET_COMMIT)
    def its_own(self, x: Exchange) -> Judgements:
        """Judge commits in the generation of the member's assignment; CLIENT-19, CLIENT-20 and CLIENT-57 judge other commits."""
        member, course = x.member, course_of(x.member)
        if member is not None and course is not None:
            yield from self._of_a_thread(x, member, course) if course.reads else self._of_a_consumer(x, member, course)
            return
        if member is None or member.synced is None or member.told is None or member.protocol_type != "consumer":
            return
        if epoch_of(x) != member.generation or member.synced.asked["generation_id"] != member.generation:
            return
        if member.had is None and not member.born:  # The member joined before the journal began, so its earlier partitions are unknown.
            yield UNSEEN_JOIN
            return
        foreign = _named(x, self.world.topic_names) - member.told
        late = not self.knew(x, member.synced)
        if not foreign:
            yield UNREAD if late else self._judged(x, member, foreign, "", member.synced)
            return
        theirs = _of_others(member, foreign)
        kept = None if late else kept_in(member.joined, member.protocol)
        before = (member.had or frozenset()) if kept is None else kept
        wrong = foreign - before if late else foreign - before | theirs
        # A member that may not have received its assignment may commit what it had before, so a wrong commit of that is not seen.
        if late and not wrong:
            yield UNREAD
        else:
            yield self._judged(x, member, wrong, f"generation {member.generation}", member.synced)

    def _of_a_consumer(self, x: Exchange, member: Member, course: Course) -> Judgements:
        """Judge a commit of a member of a consumer group, which may commit a partition until it says that it gave the partition up
        (KIP-848)."""
        given, its_own, names = course.given, course.assigned | (course.owned or frozenset()), self.world.topic_names
        if given is None or course.joined is None or epoch_of(x) != course.epoch or any(topic not in names for topic, _ in its_own):
            return
        foreign = _named(x, names) - with_names(its_own, names)
        if course.said is not None and self.sent_later(x, course.said):
            yield self._judged(x, member, foreign, f"epoch {course.epoch}", given)
        else:
            yield UNREAD

    def _of_a_thread(self, x: Exchange, member: Member, course: Course) -> Judgements:
        """Judge a commit of a member of a streams group, which may commit what an active task reads until it says that it gave the task up
        (KIP-1071)."""
        if course.dealt is None or epoch_of(x) != course.epoch:
            return
        foreign = _named(x, self.world.topic_names) - course.runs - course.keeps
        if course.said is not None and self.sent_later(x, course.said):
            yield self._judged(x, member, foreign, f"epoch {course.epoch}", course.dealt)
        else:
            yield UNREAD

    def _judged(self, x: Exchange, member: Member, foreign: Partitions, when: str, told: Exchange) -> Kept | Broken | NotJudged:
        if not foreign:
            return KEPT if len(_named(x, self.world.topic_names)) == len(committed_of(x)) else UNNAMED
        topic, number = min(foreign)
        more = "" if len(foreign) == 1 else f" and {len(foreign) - 1} more"
        return Broken(
            f"{member.name} commits an offset for partition {number} of {one_line(topic)}{more}, which its assignment of {when} does not "
            "have",
            (*told.rows, x.seq),
            "offsets of the partitions that the last assignment gave to it",
        )


def _of_others(member: Member, partitions: Partitions) -> Partitions:
    """Return those of the partitions that the member's generation assigns to other members."""
    generation = member.group.fold.generation
    if not partitions or generation is None or generation.number != member.generation:
        return frozenset()
    holders = generation.holders()
    return frozenset(each for each in partitions if holders.get(each, member.id) != member.id)


def _named(x: Exchange, names: dict[str, str]) -> Partitions:
    """Return the committed partitions by topic name. New versions have topic ids, whose names come from Metadata (KIP-848)."""
    asked, topics = committed_of(x), x.asked["topics"]
    has_ids = bool(topics) and not topics[0].get("name")
    return frozenset(((names[topic], number) for topic, number in asked if topic in names) if has_ids else asked)
