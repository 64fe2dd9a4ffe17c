"""CLIENT-54 requires that a consumer claims only partitions of its last assignment."""

from __future__ import annotations

from groupmock_codec.api_keys import CONSUMER_GROUP_HEARTBEAT

from ..consumer_example import HEADER, JOINED
from ..course import JOINING, course_of, epoch_said, owned_in, with_names
from ..inside import named
from ..rule import KEPT, Broken, Judgements, Rule, asked
from ..subjects import Exchange


class OwnsWhatItWasGiven(Rule):
    code = "CLIENT-54"
    title = "A consumer lists as owned only what the last assignment gave it"
    what = (
        "Each partition in `topic_partitions` of a ConsumerGroupHeartbeat was in the last assignment that the member has heard, or in "
        "the list that it sent before: what it is about to give up it still owns."
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

    @asked(CONSUMER_GROUP_HEARTBEAT)
    def claims(self, x: Exchange) -> Judgements:
        """Judge the owned partitions of a member whose joining is in the journal."""
        course = course_of(x.member)
        if x.member is None or course is None or course.joined is None or course.owned is None or course.told is None:
            return
        if epoch_said(x) <= JOINING or x.asked["topic_partitions"] is None:
            return
        strange = owned_in(x) - course.assigned - course.owned
        if not strange:
            yield KEPT
        elif course.said is course.told and self.knew(x, course.told):
            yield Broken(
                f"{x.member.name} says that it owns {named(with_names(strange, self.world.topic_names))}, which its last assignment did "
                "not have",
                (*(course.given or course.told).rows, x.seq),
                "a list of nothing but what the last assignment gave it, and what it owned before and gives up",
            )
