"""Scripted members of groups whose coordinator assigns. `VirtualFollower` has what consumer groups (KIP-848) and streams groups (KIP-1071)
have in common, and `VirtualConsumer` behaves like librdkafka with group.protocol=consumer.

A member reports what it owns when that has changed, gives up what is revoked at once, and goes on delivering the rest. After error 25 or
110 it has lost everything and joins again.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, Final

from groupmock.rig.consumer_member import ConsumerMember
from groupmock.rig.epoch_member import JOINING, LEAVING
from groupmock.rig.streams_member import StreamsMember
from groupmock_codec import error_codes
from groupmock_codec.api_keys import CONSUMER_GROUP_HEARTBEAT, OFFSET_FETCH
from groupmock_codec.error_codes import error_name
from groupmock_codec.messages.k09_offset_fetch import OffsetFetchResponse
from groupmock_codec.messages.k68_consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
    TopicPartitions,
)

from ...cooperative.member import listed
from ..play import GROUP
from .assignors import Held
from .member import NOTHING, REBALANCE_TIMEOUT_MS, VirtualMember, ignored

FENCED: Final = (error_codes.UNKNOWN_MEMBER_ID, error_codes.FENCED_MEMBER_EPOCH)


class VirtualFollower(VirtualMember):
    """A scripted member whose `generation` is the member epoch. `_owes` says that the next heartbeat must report what the member owns."""

    ASSIGNORS = ()
    HEARTBEAT: int
    """The API key of the member's heartbeat."""
    _speaker: ConsumerMember | StreamsMember
    _owes = False

    @abstractmethod
    def _new_speaker(self) -> ConsumerMember | StreamsMember:
        """Return the state of a member that is about to join."""

    @abstractmethod
    def _said_now(self, **fields: Any) -> Any:
        """Make the heartbeat that the member sends next. `fields` replace the request's fields."""

    @abstractmethod
    def _given(self, answer: Any) -> Held | None:
        """Return the partitions that an answer assigns, or None if it assigns nothing new."""

    def subscribe(self, topics: Sequence[str]) -> None:
        """Change the subscription by a heartbeat at once."""
        self.topics = list(topics)
        self._beat_now()

    @property
    def eager(self) -> bool:
        """Return False, because the member keeps partitions that are not revoked."""
        return False

    @property
    def at_rest(self) -> bool:
        """Tell whether the member is in the group and the coordinator knows what it owns."""
        return self.stable and not self._owes

    def _leave(self) -> None:
        if self.stable:
            self._ask(self.HEARTBEAT, self._said_now(member_epoch=LEAVING), ignored)

    # -- heartbeats and assignments

    def _join(self) -> None:
        self._speaker = self._new_speaker()
        self.generation, self.stable, self._owes = JOINING, False, False
        self._beat_now()

    def _heartbeat(self) -> None:
        self._after(self.world.sizes.heartbeat_ms, "heartbeat", self._heartbeat)
        if self._link is not None and not self._link.waiting:
            self._beat_now()

    def _beat_now(self) -> None:
        if self._link is not None:
            self._ask(self.HEARTBEAT, self._said_now(), self._told)

    def _told(self, answer: Any) -> None:
        error = self._speaker.told(answer)
        if error in FENCED:
            self._tell("lost", self.owned)
            self.delivery.serve(NOTHING)
            self.owned = NOTHING
            self._join()
        elif error:
            raise RuntimeError(f"{self.name} got error {error_name(error)}: a scripted member has no answer to that")
        else:
            self.generation, self.stable = self._speaker.epoch, True
            given = self._given(answer)
            if given is not None:
                self._follow(given)

    def _follow(self, given: Held) -> None:
        revoked, added = self.owned - given, given - self.owned
        self.owned, self._owes = given, True
        self._tell("revoked", revoked)
        self._tell("assigned", added)
        self.delivery.serve(given - added)
        if revoked:
            self._commit(revoked)
            self._beat_now()
        self._fetch_offsets(added)

    def _fetch_offsets(self, added: Held) -> None:
        if added:
            self._ask(OFFSET_FETCH, self._speaker.offsets_request(sorted(added)), self._fetched)

    def _fetched(self, answer: OffsetFetchResponse) -> None:
        for topic in answer.groups[0].topics:
            for each in topic.partitions:
                self.delivery.positions[topic.name, each.partition_index] = max(each.committed_offset, 0)
        self.delivery.serve(self.owned)

    def _look_at_metadata(self) -> None:
        """Do nothing, because the coordinator watches the topics for its members."""


class VirtualConsumer(VirtualFollower):
    """A scripted member of a consumer group."""

    HEARTBEAT = CONSUMER_GROUP_HEARTBEAT
    _speaker: ConsumerMember

    def _new_speaker(self) -> ConsumerMember:
        self.member_id = self.member_id or f"{self.dice.getrandbits(128):032x}"
        return ConsumerMember(GROUP, self.member_id, rebalance_ms=REBALANCE_TIMEOUT_MS)

    def _said_now(self, **fields: Any) -> ConsumerGroupHeartbeatRequest:
        owned: list[TopicPartitions] | None = None
        if self._owes or self.generation == JOINING:
            ids = self.world.core.cluster.topics  # A real client would get the topic ids from Metadata.
            owned = [TopicPartitions(topic_id=ids.topic_id(each.topic) or b"", partitions=each.partitions) for each in listed(self.owned)]
        self._owes, self._speaker.topics = False, self.topics
        return self._speaker.heartbeat_request(owned, **fields)

    def _given(self, answer: ConsumerGroupHeartbeatResponse) -> Held | None:
        if answer.assignment is None:
            return None
        names = self.world.core.cluster.topics
        parts = answer.assignment.topic_partitions
        return frozenset((names.name_of(each.topic_id) or "", number) for each in parts for number in each.partitions)
