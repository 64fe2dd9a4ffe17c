"""A simulated reader of a group whose coordinator assigns (KIP-848, KIP-1071). It follows what it is told, reads, and recovers from errors.

What it does when it is refused is what docs/kafka/clients.md says a stock client does. As there, one heartbeat is under way at a time, and
what it was told is followed as a whole: it gives up first, for as long as that takes, then takes the rest, then says what it owns.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING, Any, ClassVar

from groupmock.rig.classic_member import Partition
from groupmock_codec.api_keys import OFFSET_FETCH
from groupmock_codec.error_codes import (
    FENCED_INSTANCE_ID,
    FENCED_MEMBER_EPOCH,
    GROUP_ID_NOT_FOUND,
    GROUP_MAX_SIZE_REACHED,
    STALE_MEMBER_EPOCH,
    UNKNOWN_MEMBER_ID,
    UNRELEASED_INSTANCE_ID,
)

from .process import BACKOFF_MS, GIVEN_UP_MS, ignored
from .reader import LOADING, Reader

if TYPE_CHECKING:
    from groupmock_codec.declare import Message
    from groupmock_codec.messages.k09_offset_fetch import OffsetFetchRequest

    from .plan import SimulatedClient
    from .world import World


class Follower(Reader):
    """A simulated process with one member of a group whose coordinator assigns. `mine` is what it owns, in the words of its protocol, and
    `target` what it was told last to own."""

    KEY: ClassVar[int]
    """The API key of its heartbeats."""
    epoch: int
    instance_id: str | None

    def __init__(self, world: World, about: SimulatedClient) -> None:
        super().__init__(world, about)
        self.revoke_ms = about.revoke_ms
        self.mine: frozenset[Any] = frozenset()
        self.target: frozenset[Any] = frozenset()
        self._beating = self._owes = self._revoking = False
        self._memberships = 0
        self._changes = 0

    # -- what a protocol adds

    @abstractmethod
    def forget(self) -> None: ...

    @abstractmethod
    def told(self, answer: Any) -> int: ...

    @abstractmethod
    def leave_request(self, away: bool = False) -> Message: ...

    @abstractmethod
    def offsets_request(self, partitions: Iterable[Partition]) -> OffsetFetchRequest: ...

    @abstractmethod
    def _heartbeat(self, says: bool) -> Message:
        """Make the next heartbeat, which says what the member owns if `says`."""

    @abstractmethod
    def _assigned(self, answer: Any) -> frozenset[Any] | None:
        """Return what an answer assigns, or None if it assigns nothing new."""

    @abstractmethod
    def _partitions_of(self, owned: Iterable[Any]) -> frozenset[Partition]:
        """Return the partitions of what a member owns."""

    # -- a process

    def leave(self) -> None:
        """Commit, leave the group and end. A static member leaves temporarily."""
        if self.alive and self.stable and self.coordinator is not None and self.world.up(self.coordinator):
            self.commit()
            self._ask(self.KEY, self.leave_request(away=self.instance_id is not None), ignored)
        self.kill(half_open=False)

    @property
    def member(self) -> tuple[str, int, str | None] | None:
        return (self.member_id, self.epoch, self.instance_id) if self.alive and self.stable else None

    @property
    def settled(self) -> bool:
        """Tell whether the member is in the group and owns all of its target assignment."""
        return self.alive and self.stable and not self._owes and self.mine == self.target

    # -- heartbeats

    def _begin(self) -> None:
        self._owes = True
        self._beat()

    def _unfound(self) -> None:
        super()._unfound()
        self._beating = False

    def _say(self) -> None:
        if self.alive and self.stable:
            self._beat()

    def _beat(self) -> None:
        if self._beating:
            return
        self._beating = True
        says, self._owes = self._owes or self.about.full, False
        self._ask(self.KEY, self._heartbeat(says), self._here(self._beaten), self.about.session_ms)

    def _beaten(self, answer: Any) -> None:
        if answer is None:
            self._find()
            return
        self._beating = False
        joined = not self.epoch
        if (error := self.told(answer)) != 0:
            self._refused(self.KEY, error)
            return
        self.stable = True
        target = self._assigned(answer)
        if target is not None:
            self.target = target
        elif joined:
            self.world.bench.found("answers", f"{self.name} joined and is told no assignment")
        self._reconcile()
        if self._owes:
            self._beat()

    # -- following what it is told

    def _reconcile(self) -> None:
        if self._revoking or self.mine == self.target:
            return
        target = self.target
        if self.mine <= target:
            self._take(target)
            return
        self.commit()
        self._revoking = True
        membership = self._memberships

        def revoked() -> None:
            if self.alive and self._memberships == membership:
                self._revoking = False
                self._take(target)

        self.world.later(self.revoke_ms, revoked)

    def _take(self, target: frozenset[Any]) -> None:
        """Own exactly this, report it in a heartbeat, and then follow a newer target assignment."""
        stay = self._partitions_of(self.mine & target)
        self._own(target)
        self.positions = {place: offset for place, offset in self.positions.items() if place in stay}
        self._owes = True
        if self.stable:
            self._read_on()
            self._beat()
        self._reconcile()

    def _own(self, found: frozenset[Any]) -> None:
        self.mine = found
        self.owned = self._partitions_of(found)
        self._changes += 1

    def _lose(self) -> None:
        self._own(frozenset())
        self.target = frozenset()
        self.positions = {}
        self.stable = self._owes = self._revoking = False
        self._memberships += 1

    # -- reading

    def _read_on(self) -> None:
        """Fetch the committed offsets of owned partitions that have no position yet."""
        counts = self.world.counts()
        missing = frozenset(place for place in self.owned - self.positions.keys() if place[1] < counts.get(place[0], 0))
        if missing:
            self._fetch_offsets(missing)

    def _fetch_offsets(self, missing: frozenset[Partition]) -> None:
        changes = self._changes

        def came(answer: Any) -> None:
            # The answer is outdated if the ownership has changed, because other members may have committed these partitions since.
            if self._changes == changes:
                self._offsets(answer, missing)

        self._ask(OFFSET_FETCH, self._offsets_request(sorted(missing)), self._here(came))

    def _offsets_request(self, partitions: Collection[Partition]) -> OffsetFetchRequest:
        return self.offsets_request(partitions)

    def _read_from(self) -> None:
        """Do nothing when positions are known, because the next poll fetches."""

    def _owners(self, place: Partition) -> set[str]:
        return {self.member_id}

    def _poll(self) -> None:
        if not self.stable or self.coordinator is None:
            return
        self._beat()
        self._polls += 1
        if self.stable:
            self._read_on()
        self._work()

    # -- what it makes of errors

    def _refused(self, key: int, code: int) -> None:
        if code in LOADING:
            self._lost_coordinator()
        elif code in (UNKNOWN_MEMBER_ID, FENCED_MEMBER_EPOCH, GROUP_ID_NOT_FOUND):
            self._rejoin(0)
        elif code in (FENCED_INSTANCE_ID, UNRELEASED_INSTANCE_ID, GROUP_MAX_SIZE_REACHED):
            self._rejoin(GIVEN_UP_MS)
        elif code != STALE_MEMBER_EPOCH:  # A stale member epoch needs no action, because the next heartbeat corrects it.
            self._unexpected(key, code)
            self._later(BACKOFF_MS, self._find)

    def _rejoin(self, wait_ms: int) -> None:
        """Give up everything as lost, and join again with the same member id."""
        self.forget()
        self._lose()
        self._beating = False
        self._place += 1
        if wait_ms:
            self._later(wait_ms, self._beat)
        else:
            self._beat()
