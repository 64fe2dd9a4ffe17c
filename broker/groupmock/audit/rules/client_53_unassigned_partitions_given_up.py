"""CLIENT-53 requires that a consumer gives up unassigned partitions, says so in a heartbeat within the rebalance timeout, and reads them
no more."""

from __future__ import annotations

from typing import ClassVar

from groupmock_codec.api_keys import CONSUMER_GROUP_HEARTBEAT, FETCH
from groupmock_codec.units import NS_PER_MS

from ...rounds.embedded import Partitions
from ..consumer_example import ASKED_FOR_HALF, HEADER, JOINED
from ..course import JOINING, assigned_by, course_of, epoch_said, owned_in, with_names
from ..inside import named
from ..request_contents import fetched_of
from ..rule import KEPT, Broken, Judgements, Rule, answered, asked
from ..subjects import Exchange, Member


class Revocation:
    """The partitions that one member has to give up. `wanted` has the partitions that it has to give up `since` an answer, `given_up`
    those that it gave up, and `said` is the heartbeat that says so."""

    __slots__ = ("given_up", "said", "since", "wanted")

    def __init__(self) -> None:
        self.wanted: Partitions = frozenset()
        self.since: Exchange | None = None
        self.given_up: Partitions = frozenset()
        self.said: Exchange | None = None


class GivesUpWhatIsTaken(Rule):
    code = "CLIENT-53"
    title = "A partition that is no longer assigned is out of the owned list within the rebalance timeout, and not read after that"
    what = (
        "After an answer whose assignment lacks a partition that the member owned, a ConsumerGroupHeartbeat lists what it owns "
        "without that partition, at the latest when its rebalance timeout has passed; from then on it sends no Fetch for it."
    )
    why = (
        "Nobody else gets the partition before: the whole group waits, and the member is fenced when its rebalance timeout is over. "
        "Whoever says that it has given it up and reads on reads what another member reads too."
    )
    source = ("clients.md#client-53", "KIP-848", "consumer-groups.md#reconciliation")
    fix = "Stop fetching, commit, call the application's listener, and send the shorter list at once, not at the next interval."
    settings: ClassVar[dict[str, str]] = {
        "group.consumer.assignment.interval.ms": "0",
        "group.consumer.heartbeat.interval.ms": "1000",
    }
    kept = f"""{HEADER}{JOINED}{ASKED_FOR_HALF}
A: ConsumerGroupHeartbeat v1 member_id=a member_epoch=$epoch topic_partitions=[{{name: $t1, partitions: $kept}}] -> 0
"""
    broken = f"""{HEADER}{JOINED}{ASKED_FOR_HALF}
pause 1000
A: ConsumerGroupHeartbeat v1 member_id=a member_epoch=$epoch -> 0
pause 1100
A: ConsumerGroupHeartbeat v1 member_id=a member_epoch=$epoch -> 25
"""

    @answered(CONSUMER_GROUP_HEARTBEAT)
    def is_taken(self, x: Exchange) -> Judgements:
        """Note partitions that the member owned and that its new assignment lacks. Partitions that it gets again may be read again."""
        member, course = x.member, course_of(x.member)
        if member is None or course is None or course.owned is None or not x.heard or x.error or not x.answer or not x.answer["assignment"]:
            return iter(())
        known, assigned = member.note(self.code, Revocation), assigned_by(x.answer)
        known.given_up -= assigned
        before, known.wanted = known.wanted, course.owned - assigned
        if known.wanted and not before and course.rebalance_ns >= 0 and x.answered is not None:
            known.since = x
            self.later(x.answered + course.rebalance_ns, member, lambda: self._overdue(member, known, x))
        return iter(())

    @asked(CONSUMER_GROUP_HEARTBEAT)
    def gives_up(self, x: Exchange) -> Judgements:
        """Note that a member that leaves or joins again owns nothing."""
        known: Revocation | None = None if x.member is None else x.member.notes.get(self.code)
        if x.member is None or known is None:
            return
        if epoch_said(x) <= JOINING:
            x.member.notes[self.code] = Revocation()
        elif known.wanted and x.asked["topic_partitions"] is not None and not known.wanted & owned_in(x):
            known.given_up, known.said, known.wanted = known.given_up | known.wanted, x, frozenset()
            yield KEPT

    @asked(FETCH)
    def reads(self, x: Exchange) -> Judgements:
        """Judge a Fetch of partitions that the member gave up."""
        known: Revocation | None = None if x.member is None else x.member.notes.get(self.code)
        if x.member is None or known is None or known.said is None or not self.sent_later(x, known.said):
            return
        names, course = self.world.topic_names, course_of(x.member)
        its_own = frozenset() if course is None else course.assigned  # A topic that was created again has the old name and another id.
        wrong = fetched_of(x, names) & with_names(known.given_up, names) - with_names(its_own, names)
        if wrong:
            yield Broken(
                f"{x.member.name} reads {named(wrong)}, which it said that it owns no more",
                (known.said.seq, x.seq),
                "no Fetch for a partition that is out of the owned list",
            )

    def _overdue(self, member: Member, known: Revocation, x: Exchange) -> Judgements:
        """Judge a member that has not given up its partitions in time, if it sent other requests meanwhile and is still a member."""
        course = course_of(member)
        if member.notes.get(self.code) is not known or known.since is not x or not known.wanted or course is None or course.said is None:
            return
        if course.said is not x and course.outside is None:
            yield Broken(
                f"{member.name} is no longer assigned {named(with_names(known.wanted, self.world.topic_names))} and has not said for "
                f"{course.rebalance_ns // NS_PER_MS} ms, its rebalance timeout, that it owns them no more",
                (*x.rows, course.said.seq),
                "a ConsumerGroupHeartbeat with the shorter list as soon as they are given up",
            )
