"""ClassicGroup implements the interface that every type of group has."""

from __future__ import annotations

from collections.abc import Collection, Generator, Mapping
from typing import TYPE_CHECKING, ClassVar, Self

from ...turn import Turn
from .. import causes
from ..causes import Why
from ..type import Base, Committer, Home
from . import admission, rebalance, sessions, storage
from .group import Group, StoredGroup
from .states import DEAD, EMPTY, MAY_FOLLOW, STABLE
from .timing import FIRES

if TYPE_CHECKING:
    from groupmock_codec.messages.k15_describe_groups import DescribedGroup

    from ..offsets.committed import At
    from ..view import GroupView


class ClassicGroup(Group):
    """A group whose members vote for a protocol and whose leader assigns the partitions (KIP-62 and before; theory: `states`)."""

    __slots__ = ()
    group_type: ClassVar[str] = "classic"
    may_follow: ClassVar[Mapping[str, Collection[str]]] = {str(state): after for state, after in MAY_FOLLOW.items()}
    timers: ClassVar[tuple[str, ...]] = tuple(FIRES)
    # A change of topics starts nothing: the leader's client notices it in its metadata and joins again (SERVER-18).
    follows_topics: ClassVar[bool] = False

    @classmethod
    def begin(cls, turn: Turn, home: Home, group_id: str, partition: int) -> Self:
        """Return a new Empty group with generation 0."""
        quirks = turn.quirks
        return cls(home, group_id, partition, turn.wall_ms, quirks.doubled_protocol_hangs, quirks.scala_member_order)

    def is_empty(self) -> bool:
        """True if the group is in state Empty, in which member ids may be reserved."""
        return self.state is EMPTY

    def admit_commit(self, turn: Turn, by: Committer, version: int, at: Collection[At]) -> int:
        """Return the error with which the group refuses an OffsetCommit, or 0; it depends on ids, generation and state, and not on the
        partitions. An accepted commit renews the session."""
        return admission.commit(turn, self, by)

    def admit_transactional_commit(self, turn: Turn, by: Committer, version: int, at: Collection[At]) -> int:
        """Return the error with which the group refuses a TxnOffsetCommit, or 0; it depends on ids and generation, if they are given,
        and not on the partitions."""
        return admission.transactional_commit(turn, self, by)

    def admit_deletion(self) -> int:
        return admission.deletion(self)

    def admit_offset_deletion(self) -> int:
        return admission.offset_deletion(self)

    def offsets_age_from(self) -> Base | None:
        return admission.offsets_age_from(self)

    def unread_names(self) -> int:
        """Return how many topic names are still to be read, because the subscriptions of a generation are read at their first use."""
        return self.subscribed.unread if self.protocol_type == "consumer" else 0

    def described(self, turn: Turn) -> Generator[None, None, DescribedGroup]:
        from .described import describe  # This import is late, because a server that only listens does not need it.

        return describe(turn, self)

    def view(self) -> GroupView:
        from .view import view_of

        return view_of(self)

    def silent(self, now: int) -> dict[str, int | None]:
        """Return for each member the ns since its session was renewed."""
        return {member.member_id: sessions.silence(member, now) for member in self.members.values()}

    def fire(self, turn: Turn, timer: str, subject: tuple[str, ...]) -> bool:
        return FIRES[timer](turn, self, subject)

    def topic_changed(self, turn: Turn, topic: str) -> None:
        """Do nothing, because the leader of a classic group watches the topics."""

    def store(self, turn: Turn) -> None:
        storage.store(turn, self)

    def restore(self, turn: Turn, stored: StoredGroup | None) -> None:
        storage.restore(turn, self, stored)

    def loaded(self, turn: Turn) -> None:
        """Rebalance if the group has more members than the node allows, so that some of them are refused when they rejoin."""
        # No member is singled out when the group is too large: the last members to rejoin are refused with GROUP_MAX_SIZE_REACHED (81)
        # (docs/kafka/group-protocol.md#group-size-limit).
        if self.state is STABLE and len(self.members) > turn.settings.group_max_size:
            rebalance.prepare(turn, self, causes.GROUP_TOO_LARGE)

    def unload(self, turn: Turn, why: Why) -> None:
        """Unload the group and refuse its parked requests with NOT_COORDINATOR (16)."""
        storage.unload(turn, self)
        self.die(turn, why)

    def die(self, turn: Turn, why: Why) -> None:
        for member_id in self.pending_joins:
            turn.timers.cancel(("session", self.group_id, member_id))
        self.pending_joins.clear()
        self.offsets.clear()
        turn.group_moved(self, self.move(DEAD, turn.wall_ms), why)
