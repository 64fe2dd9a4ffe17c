"""The classic group as a group type: its answers to the calls that every type of group has."""

from __future__ import annotations

from collections.abc import Collection, Mapping
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
    """A group whose members elect a protocol and whose leader assigns (KIP-62 and before; theory: `states`)."""

    __slots__ = ()
    group_type: ClassVar[str] = "classic"
    may_follow: ClassVar[Mapping[str, Collection[str]]] = {str(state): after for state, after in MAY_FOLLOW.items()}
    timers: ClassVar[tuple[str, ...]] = tuple(FIRES)
    follows_topics: ClassVar[bool] = False  # the leader's client sees a change in its metadata and joins again (SERVER-18)

    @classmethod
    def begin(cls, turn: Turn, home: Home, group_id: str, partition: int) -> Self:
        """Return a new Empty group with generation 0."""
        # A join phase fails with a name that is listed twice (P1-b6) and with a malformed Subscription (P1-b5): both have one quirk
        quirks = turn.quirks
        return cls(home, group_id, partition, turn.wall_ms, quirks.malformed_subscription_hangs, quirks.scala_member_order)

    def is_empty(self) -> bool:
        """True in state Empty, in which ids may be reserved."""
        return self.state is EMPTY

    def admit_commit(self, turn: Turn, by: Committer, version: int, at: Collection[At]) -> int:
        """Check ids, generation and state, whatever the partitions are. An accepted commit renews the session."""
        return admission.commit(turn, self, by)

    def admit_transactional_commit(self, turn: Turn, by: Committer, at: Collection[At]) -> int:
        """Check ids and generation if they are given, whatever the partitions are."""
        return admission.transactional_commit(turn, self, by)

    def admit_deletion(self) -> int:
        """Return the error of DeleteGroups, which only an empty group allows."""
        return admission.deletion(self)

    def admit_offset_deletion(self) -> int:
        """Return the error of OffsetDelete, which a group of another protocol type with members refuses."""
        return admission.offset_deletion(self)

    def offsets_age_from(self) -> Base | None:
        """Return the function for the time since which an offset cannot be used."""
        return admission.offsets_age_from(self)

    def unread_names(self) -> int:
        """Return how many names are still to be read: the subscriptions of a generation are read at their first use."""
        return self.subscribed.unread if self.protocol_type == "consumer" else 0

    def described(self, turn: Turn) -> DescribedGroup:
        from .described import describe  # imported here, because a server that only listens does not need it

        return describe(turn, self)

    def view(self) -> GroupView:
        from .view import view_of

        return view_of(self)

    def silent(self, now: int) -> dict[str, int | None]:
        """Return for each member how long it was silent. A session begins anew with every sign of life."""
        return {member.member_id: sessions.silence(member, now) for member in self.members.values()}

    def fire(self, turn: Turn, timer: str, subject: tuple[str, ...]) -> bool:
        return FIRES[timer](turn, self, subject)

    def topic_changed(self, turn: Turn, topic: str) -> None:
        """Do nothing, because a classic group's leader watches the topics."""

    def store(self, turn: Turn) -> None:
        storage.store(turn, self)

    def restore(self, turn: Turn, stored: StoredGroup | None) -> None:
        """Restore the group from its record, as Stable with its members or as Empty."""
        storage.restore(turn, self, stored)

    def loaded(self, turn: Turn) -> None:
        """Rebalance if the group has more members than the node allows; some of them then find no room."""
        # No member is selected: the last ones to join again are refused 81 (docs/kafka/group-protocol.md#group-size-limit)
        if self.state is STABLE and len(self.members) > turn.settings.group_max_size:
            rebalance.prepare(turn, self, causes.GROUP_TOO_LARGE)

    def unload(self, turn: Turn, why: Why) -> None:
        """Unload the group and answer parked requests with 16 (NOT_COORDINATOR)."""
        storage.unload(turn, self)
        self.die(turn, why)

    def die(self, turn: Turn, why: Why) -> None:
        """Move to Dead and forget the reserved ids and the offsets."""
        for member_id in self.pending_joins:
            turn.timers.cancel(("session", self.group_id, member_id))
        self.pending_joins.clear()
        self.offsets.clear()
        turn.group_moved(self, self.move(DEAD, turn.wall_ms), why)
