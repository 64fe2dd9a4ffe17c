"""A type of group that is no classic one, to see that what speaks of any group knows no more than `GroupType`.

Members tick and expire, the epoch grows when one comes or goes, nobody assigns. It is in no list of types: its one timer is one that
classic groups have, too.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, ClassVar, Self, cast

import msgspec

from groupmock.core.groups import causes, telling
from groupmock.core.groups.causes import Why
from groupmock.core.groups.offsets.committed import At, CommittedOffsets
from groupmock.core.groups.type import DEAD, Base, Committer, GroupType, Home
from groupmock.core.groups.view import GroupView, MemberView, offsets_view
from groupmock.core.turn import Turn
from groupmock_codec import error_codes

SESSION_MS = 10_000


class ToyMember(msgspec.Struct):
    """Who ticks."""

    member_id: str
    client_id: str
    client_host: str
    group_instance_id: str | None = None


class ToyGroup(GroupType):
    """Empty or Ticking."""

    group_type: ClassVar[str] = "toy"
    may_follow: ClassVar[dict[str, tuple[str, ...]]] = {"Empty": ("Ticking", DEAD), "Ticking": ("Empty", DEAD), DEAD: ()}
    timers: ClassVar[tuple[str, ...]] = ("session",)
    follows_topics: ClassVar[bool] = True

    def __init__(self, home: Home, group_id: str, partition: int) -> None:
        self.home, self.group_id, self.partition = home, group_id, partition
        self.epoch = self.generation = 0
        self.state = "Empty"
        self.protocol_type = self.protocol_name = self.leader_id = None
        self.members: dict[str, ToyMember] = {}
        self.static_members: dict[str, str] = {}
        self.offsets = CommittedOffsets()
        self.stored: int | None = None
        self.heard_of: list[str] = []

    @classmethod
    def begin(cls, turn: Turn, home: Home, group_id: str, partition: int) -> Self:
        """Nobody is there."""
        return cls(home, group_id, partition)

    def tick(self, turn: Turn, member_id: str, client_id: str = "me", client_host: str = "/here") -> None:
        """A member is there, or still there."""
        turn.timers.set(("session", self.group_id, member_id), turn.after(SESSION_MS))
        if member_id not in self.members:
            self.members[member_id] = ToyMember(member_id, client_id, client_host)
            why = causes.member_joined(member_id)
            telling.changed(turn, self, member_id, "added", why, self.members[member_id])
            self._step(turn, "Ticking", why)

    def _step(self, turn: Turn, state: str, why: Why) -> None:
        before, self.state = self.state, state
        self.generation += 1
        self.end_leases()
        telling.moved(turn, self, before, why)
        self.store(turn)

    def is_empty(self) -> bool:
        """Nobody ticks."""
        return not self.members

    def admit_commit(self, turn: Turn, by: Committer, version: int, at: Collection[At]) -> int:
        """Members, and anybody while there are none."""
        return error_codes.NONE if by.member_id in self.members or (not by.named and not self.members) else error_codes.UNKNOWN_MEMBER_ID

    def admit_transactional_commit(self, turn: Turn, by: Committer, at: Collection[At]) -> int:
        """The same."""
        return self.admit_commit(turn, by, 0, at)

    def admit_deletion(self) -> int:
        """While nobody ticks."""
        return error_codes.NON_EMPTY_GROUP if self.members else error_codes.NONE

    def admit_offset_deletion(self) -> int:
        """Always."""
        return error_codes.NONE

    def subscribed_to(self, topic: str) -> bool:
        """To all, while somebody ticks."""
        return bool(self.members)

    def offsets_age_from(self) -> Base | None:
        """Since the commit."""
        return None if self.members else lambda offset: offset.commit_ms

    def view(self) -> GroupView:
        """Members have neither subscription nor assignment."""
        all_of_them = self.members.values()
        members = [MemberView(one.member_id, None, one.client_id, one.client_host, SESSION_MS, 0, [], {}, b"") for one in all_of_them]
        return GroupView(self.group_id, cast(Any, self.state), self.generation, None, None, None, members, offsets_view(self.offsets))

    def invariants(self) -> None:
        """It ticks exactly when somebody does."""
        assert (self.state == "Ticking") == bool(self.members), self

    def fire(self, turn: Turn, timer: str, subject: tuple[str, ...]) -> bool:
        """A member has not ticked for too long."""
        member = self.members.pop(subject[1], None)
        if member is None:
            return False
        why = causes.session_expired(member.member_id, SESSION_MS, is_new=False)
        telling.changed(turn, self, member.member_id, "removed", why, member)
        self._step(turn, "Ticking" if self.members else "Empty", why)
        return True

    def topic_changed(self, turn: Turn, topic: str) -> None:
        """Remembered."""
        self.heard_of.append(topic)

    def store(self, turn: Turn) -> None:
        """The generation is all that is kept."""
        self.stored = self.generation

    def restore(self, turn: Turn, stored: int | None) -> None:
        """Nobody is there."""
        self.stored, self.generation = stored, stored or 0

    def loaded(self, turn: Turn) -> None:
        """Members have to tick again."""

    def unload(self, turn: Turn, why: Why) -> None:
        """Nobody waits."""
        self.die(turn, why)

    def die(self, turn: Turn, why: Why) -> None:
        """With its timers."""
        for member_id in self.members:
            turn.timers.cancel(("session", self.group_id, member_id))
        self.members.clear()
        self.offsets.clear()
        before, self.state = self.state, DEAD
        telling.moved(turn, self, before, why)
