"""CLIENT-54 requires that a consumer claims only partitions of its last assignment."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from groupmock_codec.api_keys import CONSUMER_GROUP_HEARTBEAT

from ..consumer_example import HEADER, JOINED
from ..course import JOINING, assigned_by, course_of, epoch_said, owned_in, with_names
from ..inside import named
from ..judgement import UNREAD
from ..rule import KEPT, Broken, Judgements, Rule, answered, asked
from ..subjects import Exchange

if TYPE_CHECKING:
    from ...rounds.embedded import Partitions


class MayOwn:
    """The partitions that a member may own: those that it claimed rightly in its last list, and those that were assigned to it since."""

    __slots__ = ("partitions",)

    def __init__(self) -> None:
        self.partitions: Partitions = frozenset()


class OwnsWhatItWasGiven(Rule):
    code = "CLIENT-54"
    title = "A consumer lists as owned only what the last assignment gave it"
    what = (
        "Each partition in `topic_partitions` of a ConsumerGroupHeartbeat was in an assignment that the member has heard since its last "
        "list, or in that list, if it was listed there rightly: what it is about to give up it still owns."
    )
    why = (
        "The coordinator believes the list: it gives the partition to nobody else, or fences the member. Two members then read one "
        "partition, or none does."
    )
    source = ("clients.md#client-54", "KIP-848")
    fix = "Build the list from the assignment that was reconciled, topic by topic id, and forget it when the member is fenced."
    kept = f"""{HEADER}{JOINED}
A: ConsumerGroupHeartbeat v1 member_id=a member_epoch=$epoch topic_partitions=[{{name: $t1, partitions: [0]}}] -> 0
"""
    broken = f"""{HEADER}{JOINED}
A: ConsumerGroupHeartbeat v1 member_id=a member_epoch=$epoch topic_partitions=[{{name: $t1, partitions: [0, 7]}}] -> 0
"""

    also_broken: ClassVar[dict[str, str]] = {
        # A false claim stays false, however often it is repeated.
        "again": f"""{HEADER}{JOINED}
repeat 2
A: ConsumerGroupHeartbeat v1 member_id=a member_epoch=$epoch topic_partitions=[{{name: $t1, partitions: [0, 7]}}] -> 0
pause 5000
end
""",
    }

    @answered(CONSUMER_GROUP_HEARTBEAT)
    def is_given(self, x: Exchange) -> Judgements:
        """Note partitions that the member may own from now on."""
        if x.member is not None and x.heard and not x.error and x.answer and x.answer["assignment"] is not None:
            x.member.note(self.code, MayOwn).partitions |= assigned_by(x.answer)
        yield from ()

    @asked(CONSUMER_GROUP_HEARTBEAT)
    def claims(self, x: Exchange) -> Judgements:
        """Judge the owned partitions of a member whose joining is in the journal."""
        course = course_of(x.member)
        if x.member is None or course is None or course.joined is None:
            return
        if epoch_said(x) <= JOINING:
            x.member.notes[self.code] = MayOwn()
        if epoch_said(x) <= JOINING or x.asked["topic_partitions"] is None or course.told is None:
            return
        may, owned = x.member.note(self.code, MayOwn), owned_in(x)
        strange = owned - may.partitions
        may.partitions = (may.partitions & owned) | course.assigned
        if course.said is not course.told or not self.knew(x, course.told):
            yield UNREAD
        elif not strange:
            yield KEPT
        else:
            yield Broken(
                f"{x.member.name} says that it owns {named(with_names(strange, self.world.topic_names))}, which its last assignment did "
                "not have",
                (*(course.given or course.told).rows, x.seq),
                "a list of nothing but what the last assignment gave it, and what it owned before and gives up",
            )
