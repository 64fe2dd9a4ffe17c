"""StreamsGroup implements the interface that every type of group has."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, ClassVar

import msgspec

from ...turn import Turn
from .. import causes, timing
from ..consumer.group import no_session
from ..consumer.states import Progress
from . import heartbeat, membership, readiness, targets
from .group import NOTHING, Group, Member, Target, Tasks
from .states import MAY_FOLLOW

if TYPE_CHECKING:
    from groupmock_codec.messages.k88_streams_group_heartbeat import Topology

    from ..causes import Why
    from ..consumer.assignors import Steps
    from ..offsets.committed import At
    from ..view import GroupView
    from .topology import Configured


class StoredGroup(msgspec.Struct, frozen=True):
    """The records of a streams group in the log. `topics` are the used topics as they were when the records were written."""

    generation: int
    assignment_epoch: int
    members: tuple[Member, ...]
    targets: Mapping[str, Target]
    topology: Topology | None
    required: frozenset[str]
    topics: Mapping[str, tuple[bytes, int]]
    configured: Configured | None
    standbys: int
    wanted_tags: tuple[str, ...]


class StreamsGroup(Group):
    """A group whose members are threads of a Kafka Streams application (KIP-1071; theory: `states`)."""

    __slots__ = ()
    group_type: ClassVar[str] = "streams"
    may_follow: ClassVar[Mapping[str, Collection[str]]] = MAY_FOLLOW
    timers: ClassVar[tuple[str, ...]] = ("session", "revocation", membership.DELAY, readiness.TIMER)
    own_timers: ClassVar[tuple[str, ...]] = (membership.DELAY, readiness.TIMER)
    follows_topics: ClassVar[bool] = True
    away_may_join: ClassVar[bool] = True

    def had_all(self, member: Member, epoch: int, at: Collection[At]) -> bool:
        """True if every partition of a commit is read by a task that the member has active, and had at the commit's epoch (ST-172 to
        ST-175). That is False for topics that the topology does not read."""
        if epoch < 0:
            return False
        had = {**member.assigned.active, **member.revoking.active}
        return all(topic in self.readers and had.get((self.readers[topic], index), epoch + 1) <= epoch for topic, index in at)

    def expel(self, turn: Turn, member: Member, why: Why) -> None:
        membership.remove(turn, self, [member], why)

    def take_all(self, member: Member) -> None:
        self.give(member, Tasks({}, frozenset()), NOTHING)

    def compute_for(self, turn: Turn, member: Member) -> Steps[None]:
        return targets.compute(turn, self, member)

    def advance(self, turn: Turn, member: Member) -> Steps[bool]:
        yield from ()  # A member has few tasks, so that this is one step.
        return membership.advance(turn, self, member, None)

    def subscribed_to(self, topic: str) -> bool:
        """True if the group has members and its topology reads the topic (ST-180)."""
        return bool(self.members) and topic in self.readers

    def view(self) -> GroupView:
        from .view import view_of

        return view_of(self)

    def fire(self, turn: Turn, timer: str, subject: tuple[str, ...]) -> bool:
        """Handle the end of a member's session, of its time to give up tasks, or of the initial rebalance delay, or create the internal
        topics that a heartbeat has asked for."""
        if timer in (membership.DELAY, readiness.TIMER):
            if self.defers(turn, timer, subject):
                return False
            (heartbeat.end_delay if timer == membership.DELAY else readiness.create)(turn, self)
            return True
        member = self.members.get(subject[1])
        if member is None or self.defers(turn, timer, subject):
            return False
        if timer == "session":
            why = causes.session_expired(member.member_id, member.session_timeout_ms, is_new=False)
        else:
            why = causes.revocation_overdue(member.member_id, member.rebalance_timeout_ms)
        membership.remove(turn, self, [member], why)
        return True

    def topic_changed(self, turn: Turn, topic: str) -> None:
        """Let the next heartbeat check the topology again if it uses the topic."""
        if topic in self.required:
            self.stale, self.failed_epoch = True, 0
            self.end_leases()

    @property
    def stored(self) -> StoredGroup:
        """Return the group's records as they are in the log now. Every change is a record of its own (StreamsGroupMetadata...,
        ...Member..., ...Topology..., ...TargetAssignment..., ...CurrentMemberAssignment... records). Reported offsets are not there."""
        blank = {"session": no_session(), "offsets": {}, "end_offsets": {}}
        members = tuple(msgspec.structs.replace(member, **blank) for member in self.ordered())
        epochs, topics = (self.generation, self.assignment_epoch), dict(self.topics)
        settings = (self.standbys, self.wanted_tags)
        return StoredGroup(*epochs, members, dict(self.targets), self.topology, self.required, topics, self.configured, *settings)

    def restore(self, turn: Turn, stored: StoredGroup | None) -> None:
        """Restore every member from the group's records. The timers start again (GroupMetadataManager.onLoaded)."""
        if stored is None:
            return
        if stored.topology is not None and stored.configured is not None:
            self.configure(stored.topology, stored.required, stored.topics, stored.configured)
        self.adjust(stored.standbys, stored.wanted_tags)
        members = [msgspec.structs.replace(member) for member in stored.members]
        self.refill(stored.generation, stored.assignment_epoch, members, dict(stored.targets))
        self.stale = True
        for member in self.members.values():
            timing.renew(turn, self, member, member.session_timeout_ms)
            if member.progress is Progress.UNREVOKED:
                timing.await_revocation(turn, self, member)
