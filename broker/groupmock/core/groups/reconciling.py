"""Groups whose members own what they were assigned until they give it up, so that each member moves towards its target step by step
(KIP-848, KIP-1071). `consumer.states` explains the epochs and steps."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Collection
from typing import TYPE_CHECKING, ClassVar, Final, Protocol, TypeVar

from groupmock_codec import error_codes, group_states

from ..effects import SessionMember
from . import causes, timing
from .consumer.states import JOINING, Progress
from .modern import ModernGroup, settle
from .offsets.commits import TRANSACTIONAL_MEMBER_EPOCH_SINCE
from .refused import Refused
from .type import NOBODY, Base, Committer

if TYPE_CHECKING:
    from ..turn import Turn
    from .causes import Why
    from .consumer.assignors import Steps
    from .offsets.committed import At

MEMBER_EPOCH_SINCE: Final = 9
"""The first version of OffsetCommit and OffsetFetch whose generation field may contain a member epoch (KIP-848)."""


class Owner(SessionMember, Protocol):
    """A member with an epoch and a progress towards its target, for both of which see `consumer.states`."""

    member_id: str
    epoch: int
    previous_epoch: int
    progress: Progress
    rebalance_timeout_ms: int

    @property
    def gives_way(self) -> bool:
        """True if a member with another id may take the member's instance id now."""


class Sent(Protocol):
    """The fields of a heartbeat that say who sent it."""

    @property
    def group_id(self) -> str: ...

    @property
    def member_id(self) -> str: ...

    @property
    def epoch(self) -> int: ...

    @property
    def group_instance_id(self) -> str | None: ...


R = TypeVar("R", bound=Owner)
T = TypeVar("T")
B = TypeVar("B", bound=Sent)


class ReconcilingGroup(ModernGroup[R, T]):
    """A group whose members own what they were assigned. `restless` has the members that have not reached the target."""

    __slots__ = ()
    restless: set[str]
    away_may_join: ClassVar[bool] = False
    """True if a static member that is away may join without its instance id."""

    def present(self) -> str:
        """Return the state that follows from the group's epochs and members (ConsumerGroup.maybeUpdateGroupState)."""
        if not self.members:
            return group_states.EMPTY
        if self.generation > self.assignment_epoch:
            return group_states.ASSIGNING
        return group_states.RECONCILING if self.restless else group_states.STABLE

    def at_rest(self, member: R) -> bool:
        """True if the member has reached its target assignment."""
        return member.epoch == self.assignment_epoch and member.progress is Progress.STABLE

    def watch(self, member: R) -> None:
        """Add the member to `restless`, the members that have not reached their target assignment, or remove it, because its epoch or
        progress may have changed."""
        (self.restless.discard if self.at_rest(member) else self.restless.add)(member.member_id)

    def assign(self, targets: dict[str, T], now: int, assignor: str) -> None:
        """Store the target assignment that was computed for the present group epoch. No member has reached it yet."""
        assert self.assignment_epoch < self.generation
        self.targets, self.assignment_epoch, self.computed_at, self.protocol_name = targets, self.generation, now, assignor
        self.restless.update(self.members)
        self.epoch += 1

    def speaks_classic(self, member: R) -> bool:
        """True if the member uses the classic protocol, whose errors are others."""
        return False

    @abstractmethod
    def take_all(self, member: R) -> None:
        """Take from a member all that it was assigned and has to give up."""

    @abstractmethod
    def compute_for(self, turn: Turn, member: R) -> Steps[None]:
        """Compute a target assignment, as a heartbeat of the member would."""

    @abstractmethod
    def advance(self, turn: Turn, member: R) -> Steps[bool]:
        """Do the member's step towards its target, as a heartbeat would that says the member owns nothing."""

    def fence(self, turn: Turn, member: R) -> None:
        """Fence the process of a member, whose epoch becomes invalid (CG-22). The member is removed and added again, so that all that it
        had is free. A new target is computed at once, because with the old target the member would keep the epoch that its process knows
        (CG-106)."""
        timing.revoked(turn, self, member)
        self.take_all(member)
        self.targets.pop(member.member_id, None)
        member.epoch, member.previous_epoch, member.progress = JOINING, -1, Progress.STABLE
        self.bump()

        def computing(turn: Turn) -> Steps[None]:
            yield from self.compute_for(turn, member)
            why = causes.member_fenced(member.member_id, self.assignment_epoch)
            turn.member_changed(self, member.member_id, "fenced", why, member)
            yield from self.advance(turn, member)
            timing.renew(turn, self, member, member.session_timeout_ms)
            settle(turn, self, why, bumped=True)

        turn.begin(computing, self)

    @abstractmethod
    def had_all(self, member: R, epoch: int, at: Collection[At]) -> bool:
        """True if the member has every partition of a commit, and had it at the commit's epoch, which is older than the member's (KIP-1251;
        CG-135)."""

    def admit_commit(self, turn: Turn, by: Committer, version: int, at: Collection[At]) -> int:
        """Return the error with which the group refuses an OffsetCommit, or 0. The commit does not renew the session, and the instance
        id is not checked (CG-83, CG-133, ST-170 to ST-179)."""
        member = self.members.get(by.member_id)
        if member is not None and version < MEMBER_EPOCH_SINCE and not self.speaks_classic(member):
            return error_codes.UNSUPPORTED_VERSION
        return self._admit(member, by, at)

    def admit_transactional_commit(self, turn: Turn, by: Committer, version: int, at: Collection[At]) -> int:
        """Return the error with which the group refuses a TxnOffsetCommit, or 0 (CG-140; TX-76, ST-185)."""
        if by == NOBODY:
            return error_codes.NONE
        error = self._admit(self.members.get(by.member_id), by, at)
        stale = error == error_codes.STALE_MEMBER_EPOCH and version < TRANSACTIONAL_MEMBER_EPOCH_SINCE
        return error_codes.ILLEGAL_GENERATION if stale else error

    def _admit(self, member: R | None, by: Committer, at: Collection[At]) -> int:
        if by.generation < 0 and not self.members:
            return error_codes.NONE
        if member is None:
            return error_codes.UNKNOWN_MEMBER_ID
        if by.generation == member.epoch or (by.generation < member.epoch and self.had_all(member, by.generation, at)):
            return error_codes.NONE
        return error_codes.ILLEGAL_GENERATION if self.speaks_classic(member) else error_codes.STALE_MEMBER_EPOCH

    def admit_fetch(self, member_id: str | None, epoch: int) -> int:
        """Return the error with which the group refuses an OffsetFetch, or 0; member id and epoch are checked if they are given (CG-136,
        CG-137)."""
        if member_id is None:
            return error_codes.NONE if epoch < 0 else error_codes.UNKNOWN_SERVER_ERROR
        member = self.members.get(member_id)
        if member is None:
            return error_codes.UNKNOWN_MEMBER_ID
        wrong = error_codes.ILLEGAL_GENERATION if self.speaks_classic(member) else error_codes.STALE_MEMBER_EPOCH
        return error_codes.NONE if epoch == member.epoch else wrong

    def admit_offset_deletion(self) -> int:
        """Return no error, because OffsetDelete checks the subscriptions topic by topic."""
        return error_codes.NONE

    def offsets_age_from(self) -> Base | None:
        """Return the function that gives the time since which an offset is unused: the time of its commit, if no member subscribes to
        the topic (ConsumerGroup.offsetExpirationCondition)."""
        return lambda offset: offset.commit_ms

    def progress_of(self, member_id: str) -> str | None:
        """Return the progress of a member towards its target, whatever protocol the member uses."""
        member = self.members.get(member_id)
        return None if member is None else str(member.progress)

    def store(self, turn: Turn) -> None:
        """Do nothing, because such a group writes every change to the log at once."""

    def loaded(self, turn: Turn) -> None:
        """Do nothing, because such a group that exceeds the size limit keeps its members (CG-99)."""

    def unload(self, turn: Turn, why: Why) -> None:
        """Remove the group from a node that no longer coordinates it. No request is parked in it."""
        self.die(turn, why)


def check_room(kind: str, size: int, members: Collection[str], instances: Collection[str], beat: Sent, most: int) -> None:
    """Refuse the heartbeat of a new member if the group with `size` members is full. `members` are the ids that may send heartbeats all the
    same, and `instances` the instance ids that may come back with any member id. `kind` is the group's type in Kafka's text. Raises Refused
    (CG-99, ST-150)."""
    if size >= most and beat.member_id not in members and beat.group_instance_id not in instances:
        raise Refused(error_codes.GROUP_MAX_SIZE_REACHED, f"The {kind} group has reached its maximum capacity of {most} members.")


def sender(group: ReconcilingGroup[R, T], beat: B, owns_no_more: Callable[[B, R], bool]) -> R | None:
    """Return the member that sent the heartbeat, or None for a new member that joins. Raises Refused, also if the member may not send this
    epoch. `owns_no_more` says whether the member names what it owns, and was assigned all of it.

    A static member that omits its instance id is served like a dynamic one, and stays static (CG-91, ST-118)."""
    if beat.group_instance_id is not None:
        member = _of_instance(group, beat, beat.group_instance_id)
    else:
        member = group.members.get(beat.member_id)
        if member is None and beat.epoch != JOINING:
            raise Refused(error_codes.UNKNOWN_MEMBER_ID, f"Member {beat.member_id} is not a member of group {beat.group_id}.")
    if member is not None and beat.epoch >= 0:
        _check_epoch(group, member, beat, owns_no_more)
    return member


def _of_instance(group: ReconcilingGroup[R, T], beat: Sent, instance: str) -> R | None:
    holder = group.static_members.get(instance)
    if beat.epoch != JOINING:
        if holder is None:
            raise Refused(error_codes.UNKNOWN_MEMBER_ID, f"Instance id {instance} is unknown.")
        if holder != beat.member_id:
            text = f"Static member {beat.member_id} with instance id {instance} was fenced by member {holder}."
            raise Refused(error_codes.FENCED_INSTANCE_ID, text)
        return group.members[holder]
    known = None if holder is None else group.members[holder]
    if known is not None and not known.gives_way:
        text = (
            f"Static member {beat.member_id} with instance id {instance} cannot join the group "
            f"because the instance id is owned by {holder} member."
        )
        raise Refused(error_codes.UNRELEASED_INSTANCE_ID, text)
    # A static member that is away, or uses the classic protocol, is replaced by any member id, even by its own (CG-93, CG-188).
    return group.members.get(beat.member_id) if known is None else None


def _check_epoch(group: ReconcilingGroup[R, T], member: R, beat: B, owns_no_more: Callable[[B, R], bool]) -> None:
    """Check the member epoch of a heartbeat. A higher one is refused. A lower one is accepted from a member that lost an answer, which
    its owned partitions show (CG-40), and 0 always, because it is a new beginning (CG-39)."""
    rejoins = group.away_may_join and beat.epoch == JOINING
    if beat.epoch > member.epoch and not rejoins:
        raise _fenced(group.group_type, "greater", member, beat)
    if 0 < beat.epoch < member.epoch and (beat.epoch != member.previous_epoch or not owns_no_more(beat, member)):
        raise _fenced(group.group_type, "smaller", member, beat)


def _fenced(kind: str, how: str, member: Owner, beat: Sent) -> Refused:
    text = (
        f"The {kind} group member has a {how} member epoch ({beat.epoch}) than the one known by the group coordinator ({member.epoch}). "
        "The member must abandon all its partitions and rejoin."
    )
    return Refused(error_codes.FENCED_MEMBER_EPOCH, text)
