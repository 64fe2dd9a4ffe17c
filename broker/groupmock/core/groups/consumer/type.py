"""The consumer group as a type: where each question that is asked of any group is answered."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Self

from ...turn import Turn
from .. import causes, codes, telling
from ..causes import Why
from ..type import Base, Committer, Home
from . import admission, membership, storage, subscription, timing
from .group import Group
from .states import MAY_FOLLOW, Progress, State

if TYPE_CHECKING:
    from ..offsets.committed import At
    from ..view import GroupView


class ConsumerGroup(Group):
    """A group to whose members the coordinator assigns (KIP-848; theory: `states`)."""

    __slots__ = ()
    group_type: ClassVar[str] = "consumer"
    may_follow: ClassVar[Mapping[str, Collection[str]]] = MAY_FOLLOW
    timers: ClassVar[tuple[str, ...]] = ("session", "revocation", "member_join", "member_sync", "regex")
    follows_topics: ClassVar[bool] = True

    @classmethod
    def begin(cls, turn: Turn, home: Home, group_id: str, partition: int) -> Self:
        """Empty, at epoch 1."""
        return cls(home, group_id, partition)

    def is_empty(self) -> bool:
        """Without members."""
        return not self.members

    def admit_commit(self, turn: Turn, by: Committer, version: int, at: Collection[At]) -> int:
        """Ids, version, epoch."""
        return admission.commit(turn, self, by, version, at)

    def admit_transactional_commit(self, turn: Turn, by: Committer, at: Collection[At]) -> int:
        """Ids and epoch, where they are given."""
        return admission.transactional_commit(self, by, at)

    def admit_fetch(self, member_id: str | None, epoch: int) -> int:
        """Ids and epoch, where they are given."""
        return admission.fetch(self, member_id, epoch)

    def admit_deletion(self) -> int:
        """Without members only."""
        return codes.NON_EMPTY_GROUP if self.members else codes.NONE

    def admit_offset_deletion(self) -> int:
        """Topic by topic."""
        return codes.NONE

    def offsets_age_from(self) -> Base | None:
        """Since the commit, of topics that nobody subscribes to (ConsumerGroup.offsetExpirationCondition)."""
        return lambda offset: offset.commit_ms

    def view(self) -> GroupView:
        """A copy."""
        from .view import view_of

        return view_of(self)

    def silent(self, now: int) -> dict[str, int | None]:
        """By its session."""
        return {member.member_id: timing.silence(member, now) for member in self.members.values()}

    def progress_of(self, member_id: str) -> str | None:
        """Of whoever is in it, whatever protocol it speaks."""
        member = self.members.get(member_id)
        return None if member is None else str(member.progress)

    def fire(self, turn: Turn, timer: str, subject: tuple[str, ...]) -> bool:
        """Somebody was not heard, or gave nothing up in time, or expressions are to be resolved."""
        if timer == "regex":
            if not self._is_deferred(turn, timer, subject):
                turn.begin(lambda turn: subscription.resolve(turn, self, self.home.topics), self)
            return False  # the work tells it, if it changed anything
        member = self.members.get(subject[1])
        if member is None or (timer == "revocation" and member.progress is not Progress.UNREVOKED):
            return False
        if self._is_deferred(turn, timer, subject):
            return False
        membership.remove(turn, self, [member], self._overdue(timer, subject[1]))
        return True

    def _is_deferred(self, turn: Turn, timer: str, subject: tuple[str, ...]) -> bool:
        """Does it wait for the release of the group? Then it is dead until that: no lease may move it."""
        deferred = turn.environment.holds.defers((timer, *subject), self.group_id, self.state)
        if deferred:
            self.end_leases()
        return deferred

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
        """A heartbeat that would have been answered alike is not: it looks at the topics first."""
        if self.subscribed_to(topic):
            self.stale = True
        if self.stale or self.expressions:
            self.end_leases()

    @property
    def stored(self) -> Any:
        """All of it."""
        return storage.stored(self)

    def store(self, turn: Turn) -> None:
        """Every change is in the log the moment it happens."""

    def restore(self, turn: Turn, stored: Any) -> None:
        """Where its records left it."""
        if stored is not None:
            storage.restore(turn, self, stored)

    def loaded(self, turn: Turn) -> None:
        """Nothing: a group that is too large keeps whom it has (CG-99)."""

    def unload(self, turn: Turn, why: Why) -> None:
        """Nobody waits for an answer."""
        self.die(turn, why)

    def die(self, turn: Turn, why: Why) -> None:
        """Its timers stop."""
        for member_id in list(self.members):
            timing.stop(turn, self, member_id)
        turn.timers.cancel(("regex", self.group_id))
        self.offsets.clear()
        self.members = {}
        telling.moved(turn, self, self.move(State.DEAD), why)
