"""ConsumerGroup implements the interface that every type of group has."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, ClassVar

import msgspec

from ...turn import Turn
from .. import causes, timing
from ..causes import Why
from . import membership, subscription, targets
from .group import Group, Member, Resolved, no_session
from .states import MAY_FOLLOW, Progress

if TYPE_CHECKING:
    from ..offsets.committed import At
    from ..view import GroupView
    from .assignors import Steps, Target


class StoredGroup(msgspec.Struct, frozen=True):
    """The records of a consumer group in the log. `topics` are the subscribed topics as they were when the records were written."""

    generation: int
    assignment_epoch: int
    members: tuple[Member, ...]
    targets: Mapping[str, Target]
    topics: Mapping[str, tuple[bytes, int]]
    resolved: Mapping[str, Resolved]


class ConsumerGroup(Group):
    """A group whose coordinator assigns the partitions (KIP-848; theory: `states`)."""

    __slots__ = ()
    group_type: ClassVar[str] = "consumer"
    may_follow: ClassVar[Mapping[str, Collection[str]]] = MAY_FOLLOW
    timers: ClassVar[tuple[str, ...]] = ("session", "revocation", "member_join", "member_sync", "regex")
    own_timers: ClassVar[tuple[str, ...]] = ("regex",)
    follows_topics: ClassVar[bool] = True

    def had_all(self, member: Member, epoch: int, at: Collection[At]) -> bool:
        """True if the member still has every partition of the commit, and had it at the commit's epoch (KIP-1251; CG-135). For no
        partitions that is True at any epoch."""
        had = member.assigned | member.revoking
        ids = {topic: self.home.topics.topic_id(topic) or b"" for topic, _ in at}
        return all(had.get((ids[topic], index), epoch + 1) <= epoch for topic, index in at)

    def view(self) -> GroupView:
        from .view import view_of

        return view_of(self)

    def fire(self, turn: Turn, timer: str, subject: tuple[str, ...]) -> bool:
        """Handle a timer of the group, which ends a session or another time limit of a member, or starts the resolution of regular
        expressions."""
        if timer == "regex":
            if not self.defers(turn, timer, subject):
                turn.begin(lambda turn: subscription.resolve(turn, self, self.home.topics), self)
            return False
        member = self.members.get(subject[1])
        if member is None or (timer == "revocation" and member.progress is not Progress.UNREVOKED):
            return False
        if self.defers(turn, timer, subject):
            return False
        membership.remove(turn, self, [member], self._overdue(timer, subject[1]))
        return True

    def expel(self, turn: Turn, member: Member, why: Why) -> None:
        membership.remove(turn, self, [member], why)

    def take_all(self, member: Member) -> None:
        self.give(member, {}, {})

    def compute_for(self, turn: Turn, member: Member) -> Steps[None]:
        return targets.compute(turn, self, member, None, None, None)

    def advance(self, turn: Turn, member: Member) -> Steps[bool]:
        return membership.advance(turn, self, member, (), resubscribed=False)

    def _overdue(self, timer: str, member_id: str) -> Why:
        member = self.members[member_id]
        if timer == "session":
            return causes.session_expired(member_id, member.session_timeout_ms, is_new=False)
        if timer == "revocation":
            return causes.revocation_overdue(member_id, member.rebalance_timeout_ms)
        if timer == "member_sync":
            return causes.member_sync_overdue(member_id, member.rebalance_timeout_ms)
        return causes.member_join_overdue(member_id, member.rebalance_timeout_ms)

    def topic_changed(self, turn: Turn, topic: str) -> None:
        """Stop repeating heartbeat answers if a member subscribes to the topic, so that the next heartbeat looks up the topics again."""
        if self.subscribed_to(topic):
            self.stale = True
        if self.stale or self.expressions:
            self.end_leases()

    @property
    def stored(self) -> StoredGroup:
        """Return the group's records as they are in the log now. Every change is a record of its own (ConsumerGroupMetadata...,
        ...Member..., ...TargetAssignment..., ...CurrentMemberAssignment..., ...RegularExpression records), so the stored group is the
        present one."""
        members = tuple(msgspec.structs.replace(member, session=no_session(), former_instances=()) for member in self.ordered())
        return StoredGroup(self.generation, self.assignment_epoch, members, dict(self.targets), dict(self.topics), dict(self.resolved))

    def restore(self, turn: Turn, stored: StoredGroup | None) -> None:
        """Restore every member from the group's records. The timers start again (GroupMetadataManager.onLoaded)."""
        if stored is None:
            return
        members = [msgspec.structs.replace(member) for member in stored.members]
        self.refill(stored.generation, stored.assignment_epoch, members, dict(stored.targets))
        self.topics, self.resolved, self.stale = dict(stored.topics), dict(stored.resolved), True
        from ...re2j.matching import compiled  # This import is late, because most clusters have no regular expressions.

        self.matchers = {regex: compiled(regex) for regex in self.expressions}
        for member in self.members.values():
            timing.renew(turn, self, member, member.session_timeout_ms)
            if member.progress is Progress.UNREVOKED:
                timing.await_revocation(turn, self, member)
