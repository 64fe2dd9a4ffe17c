"""An assignor that implements Designs I, II and III for a consumer of stock kafka-python 3.0, without patching kafka-python
(docs/kafka/cooperative-designs.md#member-rules).

    assignor = CooperativeAssignor(design=2, delay_ms=60_000)
    consumer = KafkaConsumer(bootstrap_servers=..., group_id=..., partition_assignment_strategy=[assignor])
    assignor.attach(consumer)
    consumer.subscribe(["orders"], listener=assignor.listener(MyListener()))
    records = consumer.poll(timeout_ms=1000)

kafka-python is cooperative itself (KIP-429): it keeps positions and pauses of retained partitions, tells its listener only which partitions
moved, and rejoins when some were revoked. But it calls the listener after the fact, when `position()` is gone and a blocking commit is
impossible. The assignor's `positions` and `commit` serve that purpose. Use long polls, because 3.0.12 discards a join that completes
between two polls.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from kafka import TopicPartition
from kafka.consumer.subscription_state import AsyncConsumerRebalanceListener, ConsumerRebalanceListener
from kafka.coordinator.assignors.abstract import AbstractPartitionAssignor, RebalanceProtocol
from kafka.structs import OffsetAndMetadata

from ..balance import Partition
from ..errors import NotAttached, require
from ..member import Membership, PeerSubscription, counted, flat
from ..policy import DELAY_MS, Rules
from .listener import CooperativeListener

if TYPE_CHECKING:
    from kafka import KafkaConsumer


class CooperativeAssignor(AbstractPartitionAssignor):  # type: ignore[misc]  # kafka-python ships no types
    """An assignor for exactly one KafkaConsumer. The settings are those of the aiokafka one, and every member needs the same.

    Raises UnsupportedClient when kafka-python is not 3.0.x.
    """

    name = ""

    def __init__(
        self,
        design: Any = 2,
        *,
        delay_ms: int = DELAY_MS,
        max_moves: int = 1,
        move_interval_ms: int = 1000,
        first: Any = "assign",
        match: Any = "any",
        strict: bool = False,
    ) -> None:
        require("kafka-python")
        self.member = Membership(Rules(design, delay_ms, max_moves, move_interval_ms, first, match), strict=strict)
        self.name = self.member.name
        self._consumer: KafkaConsumer | None = None
        self._timer: threading.Timer | None = None
        self._positions: dict[TopicPartition, int] = {}
        self.owned: frozenset[TopicPartition] = frozenset()

    def attach(self, consumer: KafkaConsumer) -> None:
        """Bind the assignor to its consumer, before the first `poll`. Raises ValueError if it belongs to another one, or is not among
        its assignors."""
        if not any(each is self for each in consumer.config["partition_assignment_strategy"]):
            raise ValueError("partition_assignment_strategy must hold this assignor")
        if self._consumer is not None and self._consumer is not consumer:
            raise ValueError("an assignor belongs to one consumer")
        self._consumer = consumer

    def listener(self, user: ConsumerRebalanceListener | AsyncConsumerRebalanceListener | None = None) -> CooperativeListener:
        """Return the listener to subscribe with in place of `user`, so that the same code works with both libraries."""
        return CooperativeListener(self, user)

    def commit(self, offsets: Mapping[TopicPartition, int | OffsetAndMetadata]) -> Any:
        """Commit from within on_partitions_revoked, where `consumer.commit` cannot block. The commit is sent before the next join.
        Returns the future."""
        known = {tp: at if isinstance(at, OffsetAndMetadata) else OffsetAndMetadata(at, "", -1) for tp, at in offsets.items()}
        # A blocking commit raises RuntimeError inside the callback (docs/kafka/clients.md#assignor-plug-in-of-kafka-python).
        return self.consumer.commit_async(known)

    def positions(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
        """Return the positions in partitions that were just revoked: the offset after the last record delivered.

        After a rebalance the consumer has forgotten them, so these are its positions when it joined. A closing consumer still knows them.
        """
        known = self._positions | _consumed(self.consumer)
        return {tp: known[tp] for tp in partitions if tp in known}

    def rejoin(self) -> None:
        """Rejoin the group at the next poll, with the owned partitions. May be called from any thread."""
        self._cancel_timer()
        if not self.consumer._closed:
            self.consumer._coordinator.request_rejoin()

    def close(self) -> None:
        """Cancel the timer of a rejoin that the leader has ordered for later. Without this call the timer of a closed consumer stays
        until it is due, and then does nothing."""
        self._cancel_timer()

    def supported_protocols(self) -> list[Any]:
        """Return the supported protocols: incremental (KIP-429), and eager while an eager assignor is listed as well (a rolling
        upgrade)."""
        return [RebalanceProtocol.COOPERATIVE, RebalanceProtocol.EAGER]

    def metadata(self, topics: Iterable[str]) -> bytes:
        """Return the Subscription to join with; called by kafka-python for every attempt to join. The consumer tells its owned
        partitions, because it forgets them when it is expelled."""
        self._cancel_timer()
        # The request to rejoin stays set until this attempt has ended in an assignment, as Java's rejoinNeededOrPending does. kafka-python
        # 3.0.12 does not set it when partitions have changed. It then forgets the join, the assignment and the heartbeats if a poll ends
        # before SyncGroup is answered.
        self.consumer._coordinator.request_rejoin()
        subscription = self.consumer._subscription
        wanted = set(topics)
        # The consumer's own list of partitions is used, because it is empty once the consumer is expelled
        # (docs/kafka/cooperative-designs.md#member-rule-1).
        self.owned = frozenset(tp for tp in subscription.assigned_partitions() if tp.topic in wanted)
        # Positions are read before the join, because `position()` raises in the callback, which comes after the assignment was replaced
        # (docs/kafka/clients.md#assignor-plug-in-of-kafka-python).
        self._positions = _consumed(self.consumer)
        return self.member.subscription(wanted, [_pair(tp) for tp in self.owned])

    def assign(self, cluster: Any, members: Iterable[Any]) -> dict[str, bytes]:
        """Return the Assignment of every member, as the leader of the round. Called by kafka-python in the leader."""
        peers = {each.member_id: _peer(each.metadata) for each in members}
        return self.member.assign(counted(cluster, peers.values()), peers, self.consumer._coordinator._generation.member_id)

    def on_assignment(self, assignment: Any, generation: int) -> None:
        """Apply the new assignment to the consumer; called by kafka-python before it tells the listener."""
        coordinator = self.consumer._coordinator
        topics = set(self.consumer._subscription.subscription)
        outcome = self.member.received(
            frozenset(_pair(tp) for tp in self.owned),
            frozenset(_pair(tp) for tp in assignment.partitions()),
            assignment.user_data,
            coordinator._generation.member_id,
            topics,
            [(topic, number) for topic in topics for number in coordinator._cluster.partitions_for_topic(topic) or ()],
        )
        self.owned = frozenset(TopicPartition(*pair) for pair in outcome.held)
        if outcome.rejoin:
            coordinator.request_rejoin()
        elif outcome.timeout_ms:
            self._timer = threading.Timer(outcome.timeout_ms / 1000, self.rejoin)
            # The timer thread is a daemon, because it may wait for five minutes (delay_ms) and must not keep a finished process alive.
            self._timer.daemon = True
            self._timer.start()

    @property
    def consumer(self) -> KafkaConsumer:
        """Return the consumer passed to `attach`. Raises NotAttached before `attach`."""
        if self._consumer is None:
            raise NotAttached(f"assignor {self.name}: call assignor.attach(consumer) before the first poll")
        return self._consumer

    def _cancel_timer(self) -> None:
        # The attribute is read and cleared in one statement, because the timer's thread and the IO thread may both run this method.
        timer, self._timer = self._timer, None
        if timer is not None:
            timer.cancel()


def _consumed(consumer: KafkaConsumer) -> dict[TopicPartition, int]:
    """Return for each of the consumer's partitions the offset after the last record delivered."""
    return {tp: at.offset for tp, at in consumer._subscription.all_consumed_offsets().items()}


def _pair(tp: TopicPartition) -> Partition:
    return tp.topic, tp.partition


def _peer(metadata: Any) -> PeerSubscription:
    # Subscription v0 has no OwnedPartitions (KIP-429), so None is passed: an empty list would claim that nothing is owned.
    owned = metadata.owned_partitions if metadata.version >= 1 else None
    return PeerSubscription(metadata.topics, metadata.user_data, None if owned is None else flat(owned))
