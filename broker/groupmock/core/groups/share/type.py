"""ShareGroup implements the interface that every type of group has."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import TYPE_CHECKING, ClassVar

import msgspec

from groupmock_codec import error_codes

from ...turn import Turn
from .. import causes, timing
from ..causes import Why
from ..consumer.group import no_session
from ..type import Base, Committer, States
from . import heartbeat, initializing
from .group import Group, Member
from .states import MAY_FOLLOW

if TYPE_CHECKING:
    from ..consumer.assignors import Target
    from ..offsets.committed import At
    from ..view import GroupView


class StoredGroup(msgspec.Struct, frozen=True):
    """The records of a share group in the log. `topics` are the subscribed topics as they were when the records were written."""

    generation: int
    assignment_epoch: int
    members: tuple[Member, ...]
    targets: Mapping[str, Target]
    topics: Mapping[str, tuple[bytes, int]]
    initialized: Mapping[bytes, frozenset[int]]
    had_states: bool


class ShareGroup(Group):
    """A group whose members share partitions (KIP-932; theory: `states`). It has no committed offsets: how far it is, is stored with the
    share partitions (core/share)."""

    __slots__ = ()
    group_type: ClassVar[str] = "share"
    may_follow: ClassVar[Mapping[str, Collection[str]]] = MAY_FOLLOW
    timers: ClassVar[tuple[str, ...]] = ("session", initializing.TIMER)
    own_timers: ClassVar[tuple[str, ...]] = (initializing.TIMER,)
    follows_topics: ClassVar[bool] = True
    gives_way: ClassVar[bool] = False

    def admit_commit(self, turn: Turn, by: Committer, version: int, at: Collection[At]) -> int:
        """Refuse every OffsetCommit (SG-94; ShareGroup.validateOffsetCommit)."""
        return error_codes.GROUP_ID_NOT_FOUND

    def admit_transactional_commit(self, turn: Turn, by: Committer, version: int, at: Collection[At]) -> int:
        return error_codes.GROUP_ID_NOT_FOUND

    def admit_offset_deletion(self) -> int:
        return error_codes.GROUP_ID_NOT_FOUND

    def offsets_age_from(self) -> Base | None:
        """Return None, because a share group has no offsets that could expire."""
        return None

    def view(self) -> GroupView:
        from .view import view_of

        return view_of(self)

    def fire(self, turn: Turn, timer: str, subject: tuple[str, ...]) -> bool:
        """Handle the end of a member's session, or store the start offsets that a heartbeat has asked for."""
        if self.defers(turn, timer, subject):
            return False
        if timer == initializing.TIMER:
            initializing.finish(turn, self)
            return True
        member = self.members.get(subject[1])
        if member is None:
            return False
        why = causes.session_expired(member.member_id, member.session_timeout_ms, is_new=False)
        self.expel(turn, member, why)
        return True

    def expel(self, turn: Turn, member: Member, why: Why) -> None:
        heartbeat.remove(turn, self, member, why)

    def topic_changed(self, turn: Turn, topic: str) -> None:
        """Forget the start offsets of a deleted topic, and let the next heartbeat look up the topics again if a member subscribes."""
        for topic_id in [each for each in (*self.initialized, *self.initializing) if self.home.topics.name_of(each) is None]:
            self.uninitialize(topic_id)
        if self.subscribed_to(topic):
            self.stale = True
            self.end_leases()

    @property
    def stored(self) -> StoredGroup:
        """Return the group's records as they are in the log now. Every change is a record of its own (ShareGroupMetadata..., ...Member...,
        ...TargetAssignment..., ...CurrentMemberAssignment..., ...StatePartitionMetadata records)."""
        members = tuple(msgspec.structs.replace(member, session=no_session()) for member in self.ordered())
        targets, topics = dict(self.targets), dict(self.topics)
        return StoredGroup(self.generation, self.assignment_epoch, members, targets, topics, dict(self.initialized), self.had_states)

    def store(self, turn: Turn) -> None:
        """Do nothing, because a share group writes every change to the log at once."""

    def restore(self, turn: Turn, stored: StoredGroup | None) -> None:
        """Restore every member from the group's records. The sessions start again (GroupMetadataManager.onLoaded)."""
        if stored is None:
            return
        members = [msgspec.structs.replace(member) for member in stored.members]
        self.refill(stored.generation, stored.assignment_epoch, members, dict(stored.targets), stored.initialized, stored.had_states)
        self.topics, self.stale = dict(stored.topics), True
        for member in self.members.values():
            timing.renew(turn, self, member, member.session_timeout_ms)

    def loaded(self, turn: Turn) -> None:
        """Do nothing, because a share group that exceeds the size limit keeps its members."""

    def keeps_states_in(self, states: Callable[[], States]) -> None:
        self.states = states

    def deleted(self, turn: Turn) -> None:
        """Delete the states of the group's share partitions."""
        self.states().delete(turn, self.group_id)

    def unload(self, turn: Turn, why: Why) -> None:
        """Remove the group from a node that no longer coordinates it. The states of its share partitions stay."""
        self.die(turn, why)
