"""A scripted member of a consumer group (KIP-848) that behaves like librdkafka with group.protocol=consumer.

It reports its owned partitions when they have changed, gives up revoked ones at once, and goes on delivering the rest. After error 25 or
110 it has lost everything and joins again.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from groupmock.rig.consumer_member import JOINING, LEAVING, ConsumerMember
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
from .member import NOTHING, REBALANCE_TIMEOUT_MS, VirtualMember

FENCED: Final = (error_codes.UNKNOWN_MEMBER_ID, error_codes.FENCED_MEMBER_EPOCH)


class VirtualFollower(VirtualMember):
    """A scripted member whose `generation` is the member epoch. `_owes` says that the next heartbeat must report the owned partitions."""

    _consumer: ConsumerMember
    _owes = False

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
        """Tell whether the member is in the group and the coordinator knows its owned partitions."""
        return self.stable and not self._owes

    def stop(self) -> None:
        """Commit, leave, and end the process."""
        if self._link is not None and self.stable:
            self.delivery.serve(NOTHING)
            self._commit(self.owned)
            self._ask(CONSUMER_GROUP_HEARTBEAT, self._said_now(member_epoch=LEAVING), lambda answer: None)
        self._end()
        self.world.tell(self.name, "stopped", {})

    # -- heartbeats and assignments

    def _join(self) -> None:
        self.member_id = self.member_id or f"{self.dice.getrandbits(128):032x}"
        self._consumer = ConsumerMember(GROUP, self.member_id, rebalance_ms=REBALANCE_TIMEOUT_MS)
        self.generation, self.stable, self._owes = JOINING, False, False
        self._beat_now()

    def _heartbeat(self) -> None:
        self._after(self.world.sizes.heartbeat_ms, "heartbeat", self._heartbeat)
        if self._link is not None and not self._link.waiting:
            self._beat_now()

    def _beat_now(self) -> None:
        if self._link is not None:
            self._ask(CONSUMER_GROUP_HEARTBEAT, self._said_now(), self._told)

    def _said_now(self, **fields: Any) -> ConsumerGroupHeartbeatRequest:
        owned: list[TopicPartitions] | None = None
        if self._owes or self.generation == JOINING:
            ids = self.world.core.cluster.topics  # A real client would get the topic ids from Metadata.
            owned = [TopicPartitions(topic_id=ids.topic_id(each.topic) or b"", partitions=each.partitions) for each in listed(self.owned)]
        self._owes, self._consumer.topics = False, self.topics
        return self._consumer.heartbeat_request(owned, **fields)

    def _told(self, answer: ConsumerGroupHeartbeatResponse) -> None:
        error = self._consumer.told(answer)
        if error in FENCED:
            self._tell("lost", self.owned)
            self.delivery.serve(NOTHING)
            self.owned = NOTHING
            self._join()
        elif error:
            raise RuntimeError(f"{self.name} got error {error_name(error)}: a scripted member has no answer to that")
        else:
            self.generation, self.stable = self._consumer.epoch, True
            if answer.assignment is not None:
                names = self.world.core.cluster.topics
                parts = answer.assignment.topic_partitions
                self._follow(frozenset((names.name_of(each.topic_id) or "", number) for each in parts for number in each.partitions))

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
            self._ask(OFFSET_FETCH, self._consumer.offsets_request(sorted(added)), self._fetched)

    def _fetched(self, answer: OffsetFetchResponse) -> None:
        for topic in answer.groups[0].topics:
            for each in topic.partitions:
                self.delivery.positions[topic.name, each.partition_index] = max(each.committed_offset, 0)
        self.delivery.serve(self.owned)

    def _look_at_metadata(self) -> None:
        """Do nothing, because in a consumer group the coordinator watches the topics for its members."""
