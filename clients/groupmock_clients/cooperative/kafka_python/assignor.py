"""Designs I, II and III for stock kafka-python 3.0: one assignor per consumer, nothing patched
(docs/kafka/cooperative-designs.md#member-rules).

    assignor = CooperativeAssignor(design=2, delay_ms=60_000)
    consumer = KafkaConsumer(bootstrap_servers=..., group_id=..., partition_assignment_strategy=[assignor])
    assignor.attach(consumer)
    consumer.subscribe(["orders"], listener=assignor.listener(MyListener()))
    records = consumer.poll(timeout_ms=1000)

kafka-python is cooperative itself (KIP-429): it keeps positions and pauses of what stays, tells its listener only what moved and joins
again when something was revoked. But it tells so after the fact, when `position()` is gone and a blocking commit is impossible:
`positions` and `commit` of the assignor are for that. Poll long: 3.0.12 throws away a join that completes between two polls.
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
        """Tell the assignor whose it is, before the first `poll`. ValueError if it is another's, or not one of that consumer's."""
        if not any(each is self for each in consumer.config["partition_assignment_strategy"]):
            raise ValueError("partition_assignment_strategy must hold this assignor")
        if self._consumer is not None and self._consumer is not consumer:
            raise ValueError("an assignor belongs to one consumer")
        self._consumer = consumer

    def listener(self, user: ConsumerRebalanceListener | AsyncConsumerRebalanceListener | None = None) -> CooperativeListener:
        """What to subscribe with, in place of `user`, so that the same lines do for both libraries."""
        return CooperativeListener(self, user)

    def commit(self, offsets: Mapping[TopicPartition, int | OffsetAndMetadata]) -> Any:
        """Commit from within on_partitions_revoked, where `consumer.commit` cannot block: sent before the next join. Returns the future."""
        known = {tp: at if isinstance(at, OffsetAndMetadata) else OffsetAndMetadata(at, "", -1) for tp, at in offsets.items()}
        # A blocking commit raises RuntimeError inside the callback (docs/kafka/clients.md#assignor-plug-in-of-kafka-python).
        return self.consumer.commit_async(known)

    def positions(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
        """Where the consumer was in partitions that were just revoked: the offset after the last record delivered.

        After a round the consumer has forgotten them, so it is where it was when it joined; when it closes it still knows.
        """
        known = self._positions | _consumed(self.consumer)
        return {tp: known[tp] for tp in partitions if tp in known}

    def rejoin(self) -> None:
        """Join again at the next poll, with what is owned. From any thread."""
        self._cancel_timer()
        if not self.consumer._closed:
            self.consumer._coordinator.request_rejoin()

    def close(self) -> None:
        """Forget a rejoin that was planned. Without it the timer of a closed consumer stays until it is due, and does nothing then."""
        self._cancel_timer()

    # What kafka-python calls, on its IO thread

    def supported_protocols(self) -> list[Any]:
        """kafka-python's: incremental, as of KIP-429; eager while an eager assignor is listed beside this one (a rolling upgrade)."""
        return [RebalanceProtocol.COOPERATIVE, RebalanceProtocol.EAGER]

    def metadata(self, topics: Iterable[str]) -> bytes:
        """kafka-python's: called for every attempt to join. The consumer is asked what it owns: it forgets that when it is expelled."""
        self._cancel_timer()
        # Until this attempt has ended in an assignment: 3.0.12 joins for a change of partitions without setting this, and forgets the join,
        # its assignment and the heartbeats when a poll ends before SyncGroup is answered (Java's rejoinNeededOrPending does not).
        self.consumer._coordinator.request_rejoin()
        subscription = self.consumer._subscription
        wanted = set(topics)
        # The consumer's own word, which an expelled member loses (docs/kafka/cooperative-designs.md#member-rule-1).
        self.owned = frozenset(tp for tp in subscription.assigned_partitions() if tp.topic in wanted)
        # Before the join: the callback comes when the assignment was replaced, and `position()` raises there
        # (docs/kafka/clients.md#assignor-plug-in-of-kafka-python).
        self._positions = _consumed(self.consumer)
        return self.member.subscription(wanted, [_pair(tp) for tp in self.owned])

    def assign(self, cluster: Any, members: Iterable[Any]) -> dict[str, bytes]:
        """kafka-python's: called in the leader."""
        peers = {each.member_id: _peer(each.metadata) for each in members}
        return self.member.assign(counted(cluster, peers.values()), peers, self.consumer._coordinator._generation.member_id)

    def on_assignment(self, assignment: Any, generation: int) -> None:
        """kafka-python's: the consumer has it already; the listener has not been told."""
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
            # It may be set for five minutes (delay_ms): a process that is done must not wait for it.
            self._timer.daemon = True
            self._timer.start()

    @property
    def consumer(self) -> KafkaConsumer:
        """The consumer it was attached to; NotAttached before that."""
        if self._consumer is None:
            raise NotAttached(f"assignor {self.name}: call assignor.attach(consumer) before the first poll")
        return self._consumer

    def _cancel_timer(self) -> None:
        timer, self._timer = self._timer, None  # the timer's own thread and the IO thread may both be here
        if timer is not None:
            timer.cancel()


def _consumed(consumer: KafkaConsumer) -> dict[TopicPartition, int]:
    """The offset after the last record delivered, of what the consumer has now."""
    return {tp: at.offset for tp, at in consumer._subscription.all_consumed_offsets().items()}


def _pair(tp: TopicPartition) -> Partition:
    return tp.topic, tp.partition


def _peer(metadata: Any) -> PeerSubscription:
    # Subscription v0 has no OwnedPartitions (KIP-429): None says so, while empty is a claim of nothing.
    owned = metadata.owned_partitions if metadata.version >= 1 else None
    return PeerSubscription(metadata.topics, metadata.user_data, None if owned is None else flat(owned))
