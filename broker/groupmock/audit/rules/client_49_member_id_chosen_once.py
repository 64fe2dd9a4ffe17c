"""CLIENT-49 requires that a consumer chooses its member id before its first heartbeat and keeps it."""

from __future__ import annotations

from groupmock_codec.api_keys import CONSUMER_GROUP_HEARTBEAT

from ..consumer_example import HEADER, JOINED
from ..course import course_of
from ..rule import KEPT, Broken, Judgements, Rule, asked
from ..subjects import Exchange

CHOSEN_BY_THE_CLIENT = 1
"""ConsumerGroupHeartbeat requires a member id of the client's choice from this version on (KIP-1082)."""


class ChoosesItsIdOnce(Rule):
    code = "CLIENT-49"
    title = "A consumer has its member id from the first ConsumerGroupHeartbeat on, and keeps it"
    what = (
        "From version 1 on every ConsumerGroupHeartbeat has a `member_id`, the first one too. It is the same for as long as the "
        "process lives: when the member joins again after it was fenced, and after it has left."
    )
    why = (
        "With an id of its own a client may repeat a join whose answer was lost. Whoever changes it leaves a member behind that "
        "nobody is, and that member's partitions wait for the end of its session."
    )
    source = ("clients.md#client-49", "KIP-1082")
    fix = "Make the id (a UUID) when the consumer is made, and send it in every heartbeat."
    kept = f"""{HEADER}{JOINED}
A: ConsumerGroupHeartbeat v1 member_id=a member_epoch=$epoch -> 0
"""
    broken = f"""{HEADER}
A: ConsumerGroupHeartbeat v1 member_id="" member_epoch=0 rebalance_timeout_ms=2000 subscribed_topic_names=[$t1] topic_partitions=[] -> 42
"""

    @asked(CONSUMER_GROUP_HEARTBEAT)
    def names_itself(self, x: Exchange) -> Judgements:
        """Judge whether the connection's member keeps its member id."""
        member, before = x.member, x.link.last
        course = course_of(before)
        if member is None:
            if x.version >= CHOSEN_BY_THE_CLIENT:
                yield Broken(f"{x.who} sent a ConsumerGroupHeartbeat without a member id", (x.seq,), "an id that the client has chosen")
        elif before is None or course is None or before.group is not member.group:
            return
        elif before is member:
            yield KEPT
        elif course_of(member) is None and course.said is not None:
            yield Broken(
                f"{before.name} calls itself {member.id} now, in the same group and on the same connection",
                (course.said.seq, x.seq),
                f"the member id {before.id}, whatever has happened to the member",
            )
