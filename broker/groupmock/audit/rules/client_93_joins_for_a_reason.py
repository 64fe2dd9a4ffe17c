"""CLIENT-93 requires that a member of a consumer group does not join again while it is a member."""

from __future__ import annotations

from typing import ClassVar, Final

from groupmock_codec.api_keys import CONSUMER_GROUP_HEARTBEAT

from ..consumer_example import FENCED, HEADER, JOINED
from ..course import JOINING, course_of, epoch_said
from ..judgement import OWN_REASON, TROUBLED, UNREAD
from ..pace import ROUNDS
from ..rule import KEPT, Broken, Judgements, Rule, asked
from ..subjects import Exchange

JOINS: Final = JOINED.replace("?epoch", "*").replace("pause 300", "")
BEATS: Final = "A: ConsumerGroupHeartbeat v1 member_id=a member_epoch=$epoch -> 0"


class Rejoins:
    """The rows of the needless joins of a member since its last join with a reason."""

    __slots__ = ("rows",)

    def __init__(self) -> None:
        self.rows: tuple[int, ...] = ()


class StaysJoined(Rule):
    code = "CLIENT-93"
    title = "A member of a consumer group does not join again while it is a member"
    what = (
        "A ConsumerGroupHeartbeat of epoch 0 is sent to join, and again after an error, a lost answer, a new connection, or when the "
        "member has left. A member whose last heartbeat was answered without an error goes on in its epoch."
    )
    why = (
        "With each join a member says that it owns nothing: the coordinator gives it its partitions anew, so the client stops reading them "
        "and asks for committed offsets each time."
    )
    source = ("clients.md#client-93", "KIP-848")
    fix = "Send epoch 0 once; send a changed subscription or a full heartbeat in the member's own epoch."
    kept = f"""{HEADER}{JOINED}
{BEATS}
pause 700
{BEATS}
"""
    broken = f"""{HEADER}{JOINED}
repeat 3
{BEATS}
pause 300
{JOINS}
end
"""
    settings: ClassVar[dict[str, str]] = {"group.consumer.heartbeat.interval.ms": "1000"}
    also_broken: ClassVar[dict[str, str]] = {
        "without-a-pause": f"""{HEADER}{JOINED}
{JOINS}
{JOINS}
{JOINS}
""",
    }
    also_kept: ClassVar[dict[str, str]] = {
        "after-it-was-removed": f"""{HEADER}{JOINED}
{BEATS}
pause 700
{FENCED}{JOINS}
""",
    }

    @asked(CONSUMER_GROUP_HEARTBEAT)
    def joins(self, x: Exchange) -> Judgements:
        """Judge a join by the answers that the member had. One needless join proves nothing, so three are counted."""
        course = course_of(x.member)
        if x.member is None or course is None or epoch_said(x) < JOINING:
            return
        told = course.told
        if told is None or course.said is not told or told.link is not x.link:
            if epoch_said(x) == JOINING:
                x.member.notes.pop(self.code, None)
                if told is not None:
                    yield TROUBLED if course.said is not told else OWN_REASON
        elif epoch_said(x) > JOINING:
            if epoch_said(told) > JOINING:
                yield KEPT
        elif x.waited_since(told) >= 0:
            known = x.member.note(self.code, Rejoins)
            known.rows = (*known.rows, *told.rows, x.seq)
            if len(known.rows) >= 3 * ROUNDS:
                rows, known.rows = known.rows, ()
                yield Broken(
                    f"{x.member.name} joined {ROUNDS} times again, though each time its last ConsumerGroupHeartbeat had been answered "
                    "without an error",
                    rows,
                    "a ConsumerGroupHeartbeat in the member epoch of the last answer",
                )
        else:
            yield UNREAD
