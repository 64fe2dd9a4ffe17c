"""A simulated consumer of a consumer group (KIP-848), which heartbeats, follows its assignments, reads, and recovers from errors.

What it does when it is refused is what docs/kafka/clients.md says a stock client does. As there, one heartbeat is under way at a time, and
what it was told is followed as a whole: it gives up first, for as long as that takes, then takes the rest, then says what it owns.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import TYPE_CHECKING, Any

from groupmock.rig.classic_member import Partition
from groupmock.rig.consumer_member import ConsumerMember
from groupmock_codec.api_keys import CONSUMER_GROUP_HEARTBEAT, OFFSET_FETCH
from groupmock_codec.error_codes import (
    FENCED_INSTANCE_ID,
    FENCED_MEMBER_EPOCH,
    GROUP_ID_NOT_FOUND,
    GROUP_MAX_SIZE_REACHED,
    STALE_MEMBER_EPOCH,
    UNKNOWN_MEMBER_ID,
    UNRELEASED_INSTANCE_ID,
)
from groupmock_codec.messages.k68_consumer_group_heartbeat import TopicPartitions

from .process import BACKOFF_MS, GIVEN_UP_MS, ignored
from .reader import LOADING, Reader

if TYPE_CHECKING:
    from groupmock_codec.messages.k09_offset_fetch import OffsetFetchRequest

    from .plan import SimulatedClient
    from .world import World

Spot = tuple[bytes, int]
"""A partition as its topic id and its number."""


class GroupConsumer(ConsumerMember, Reader):
    """A simulated consumer process whose member speaks the consumer protocol (KIP-848). `mine` is what it owns by topic ids, `target`
    what it was told last to own. `assignor` is named in every heartbeat; without it, the first of `about.protocols` is named in joining."""

    def __init__(self, world: World, about: SimulatedClient) -> None:
        Reader.__init__(self, world, about)
        ConsumerMember.__init__(
            self, about.group, "", topics=about.topics, rebalance_ms=about.rebalance_ms, instance_id=about.instance, regex=about.regex
        )
        self.revoke_ms = about.revoke_ms
        self.assignor: str | None = None
        self.mine: frozenset[Spot] = frozenset()
        self.target: frozenset[Spot] = frozenset()
        self._names: dict[bytes, str] = {}
        self._beating = self._owes = self._revoking = False
        self._memberships = 0
        self._changes = 0

    # -- a process

    def _born(self) -> None:
        self.forget()
        # From version 1 on the client chooses its member id (KIP-1082), while before that the first answer assigns one.
        self.member_id = f"{self.name}-{self._lives + 1}" if self._version(CONSUMER_GROUP_HEARTBEAT) else ""
        self._lose()

    def leave(self) -> None:
        """Commit, leave the group and end. A static member leaves temporarily."""
        if self.alive and self.stable and self.coordinator is not None and self.world.up(self.coordinator):
            self.commit()
            self._ask(CONSUMER_GROUP_HEARTBEAT, self.leave_request(away=self.instance_id is not None), ignored)
        self.kill(half_open=False)

    def subscribe(self, topics: list[str]) -> None:
        """Subscribe to these topics and send a heartbeat at once."""
        if set(topics) != set(self.topics):
            self.topics = topics
            self._say()

    def match(self, regex: str) -> None:
        """Subscribe also to topics that match this regular expression, which heartbeats of version 0 cannot carry."""
        if regex != self.regex and self._version(CONSUMER_GROUP_HEARTBEAT):
            self.regex = regex
            self._say()

    def reads(self, topic: str) -> bool:
        """Tell whether the consumer subscribes to that topic."""
        return topic in self.topics or re.fullmatch(self.regex, topic) is not None

    @property
    def member(self) -> tuple[str, int, str | None] | None:
        return (self.member_id, self.epoch, self.instance_id) if self.alive and self.stable else None

    @property
    def settled(self) -> bool:
        """Tell whether the member is in the group and owns all partitions of its target assignment."""
        return self.alive and self.stable and not self._owes and self.mine == self.target

    # -- heartbeats

    def _begin(self) -> None:
        self.say_all()
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
        if self.about.full:
            self.say_all()
        assignor = self.about.protocols[0] if self.epoch == 0 and self.about.protocols and not self.assignor else self.assignor
        message = self.heartbeat_request(self._listed() if says else None, server_assignor=assignor)
        self._ask(CONSUMER_GROUP_HEARTBEAT, message, self._here(self._beaten), self.about.session_ms)

    def _listed(self) -> list[TopicPartitions]:
        if not self.epoch:
            return []
        found: dict[bytes, list[int]] = {}
        for topic, index in sorted(self.mine):
            found.setdefault(topic, []).append(index)
        return [TopicPartitions(topic_id=topic, partitions=indexes) for topic, indexes in found.items()]

    def _beaten(self, answer: Any) -> None:
        self._beating = False
        if answer is None:
            self._find()
            return
        joined = not self.epoch
        if (error := self.told(answer)) != 0:
            self._refused(CONSUMER_GROUP_HEARTBEAT, error)
            return
        self.stable = True
        if answer.assignment is not None:
            self.target = frozenset((each.topic_id, index) for each in answer.assignment.topic_partitions for index in each.partitions)
            for topic, _ in self.target - self.mine:
                self._names.setdefault(topic, self.world.core.cluster.topics.name_of(topic) or "")
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

    def _take(self, target: frozenset[Spot]) -> None:
        """Own exactly these partitions, report them in a heartbeat, and then follow a newer target assignment."""
        kept = self.mine & target
        self._own(target)
        stay = {(self._names[topic], index) for topic, index in kept}
        self.positions = {place: offset for place, offset in self.positions.items() if place in stay}
        self._owes = True
        if self.stable:
            self._read_on()
            self._beat()
        self._reconcile()

    def _own(self, spots: frozenset[Spot]) -> None:
        self.mine = spots
        self.owned = frozenset((self._names[topic], index) for topic, index in spots)
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
        """Give up all partitions as lost, and join again with the same member id."""
        self.forget()
        self._lose()
        self._beating = False
        self._place += 1
        if wait_ms:
            self._later(wait_ms, self._beat)
        else:
            self._beat()
