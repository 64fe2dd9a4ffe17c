"""An assignor that implements Designs I, II and III for a consumer of stock aiokafka 0.14, without patching aiokafka
(docs/kafka/cooperative-designs.md#member-rules).

    assignor = CooperativeAssignor(design=2, delay_ms=60_000)
    consumer = AIOKafkaConsumer(bootstrap_servers=..., group_id=..., partition_assignment_strategy=[assignor])
    assignor.attach(consumer)
    consumer.subscribe(["orders"], listener=assignor.listener(MyListener()))
    await consumer.start()

aiokafka is eager: in every round it gives each partition a new state and tells its listener that all partitions were revoked and assigned.
The assignor restores positions and pauses of retained partitions before anything else runs. Its listener passes on to yours only the
partitions that moved.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from aiokafka import ConsumerRebalanceListener, TopicPartition
from aiokafka.structs import OffsetAndMetadata

from ..balance import Partition
from ..errors import NotAttached, require
from ..member import AssignmentEffect, Membership, PeerSubscription, counted
from ..policy import DELAY_MS, Rules
from .listener import CooperativeListener
from .partition_state import HeldBack, carry_over

if TYPE_CHECKING:
    from aiokafka import AIOKafkaConsumer


class CooperativeAssignor:
    """An assignor for exactly one AIOKafkaConsumer, which must have no second assignor, because aiokafka would then join twice in every
    round.

    Every member of the group needs the same settings. `delay_ms`: how long a lost partition waits for its process (Designs II, III).
    `max_moves` partitions move at a time, every `move_interval_ms` (III). `first`: "wait" lets the first member of a group wait for others.
    `match`: see policy.Rules. `strict`: raise UnreadableSubscription for a peer whose data cannot be read; aiokafka then ends its
    coordination and reports the text in a KafkaError. Without `strict` the problem is logged, and the peer is assumed to own its last
    assignment. Raises UnsupportedClient when aiokafka is not 0.14.x.
    """

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
        require("aiokafka")
        self.member = Membership(Rules(design, delay_ms, max_moves, move_interval_ms, first, match), strict=strict)
        self.name = self.member.name
        self._consumer: AIOKafkaConsumer | None = None
        self._listener: CooperativeListener | None = None
        self._timer: asyncio.TimerHandle | None = None
        # aiokafka's Assignment of the owned partitions, which has their positions even after aiokafka has replaced it.
        self._held: Any = None
        self._left: Any = None  # The previous Assignment, which still has the partitions that were revoked last.
        self.owned: frozenset[TopicPartition] = frozenset()
        self.lost: frozenset[TopicPartition] = frozenset()
        self.revoked: frozenset[TopicPartition] = frozenset()
        self.added: frozenset[TopicPartition] = frozenset()

    def attach(self, consumer: AIOKafkaConsumer, *, allow_double_join: bool = False) -> None:
        """Bind the assignor to its consumer, before `consumer.start()`. Raises ValueError if it is not that consumer's only assignor.

        `allow_double_join` permits other assignors beside it, although aiokafka then joins once for each of them in every round.
        """
        strategy = list(consumer._partition_assignment_strategy)
        # aiokafka sends one JoinGroup per assignor whenever it joins (aiokafka#1168, docs/kafka/clients.md#assignor-plug-in-of-aiokafka).
        if not any(each is self for each in strategy) or (len(strategy) > 1 and not allow_double_join):
            names = [getattr(each, "name", each) for each in strategy]
            raise ValueError(
                f"partition_assignment_strategy must be this assignor alone, not {names}: aiokafka joins once for each "
                "(allow_double_join=True takes that; RangeOrCooperative needs no second one)"
            )
        if self._consumer is not None and self._consumer is not consumer:
            raise ValueError("an assignor belongs to one consumer")
        self._consumer = consumer

    def listener(self, user: ConsumerRebalanceListener | None = None) -> CooperativeListener:
        """Return the listener to subscribe with in place of `user`, whose callbacks then only see partitions that moved."""
        self._listener = CooperativeListener(self, user)
        return self._listener

    async def commit(self, offsets: Mapping[TopicPartition, int | OffsetAndMetadata]) -> None:
        """Commit offsets of partitions that were just revoked, from within your on_partitions_revoked, where `consumer.commit` refuses."""
        known = {tp: at if isinstance(at, OffsetAndMetadata) else OffsetAndMetadata(at, "") for tp, at in offsets.items()}
        # The previous Assignment is passed, because aiokafka's present one lacks the revoked partitions
        # (docs/kafka/cooperative-designs.md#member-rule-2).
        await self.consumer._coordinator.commit_offsets(self._left, known)

    def positions(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
        """Return the positions in partitions that were just revoked: the offset after the last record delivered."""
        states = {tp: self._left.state_value(tp) for tp in partitions} if self._left is not None else {}
        return {tp: state.position for tp, state in states.items() if state is not None and state.has_valid_position}

    def rejoin(self) -> None:
        """Rejoin the group now, with the owned partitions. Call it from the consumer's own event loop."""
        self._cancel_timer()
        if not self.consumer._closed:
            self.consumer._coordinator.request_rejoin()

    def close(self) -> None:
        """Cancel the timer of a rejoin that the leader has ordered for later. Without this call the timer of a stopped consumer stays
        until it is due, and then does nothing."""
        self._cancel_timer()

    def metadata(self, topics: Iterable[str]) -> bytes:
        """Return the Subscription to join with; called by aiokafka for every attempt to join."""
        # A rejoin planned in the previous round is void, because the new Assignment carries its own delay
        # (docs/kafka/cooperative-designs.md#member-rule-3).
        self._cancel_timer()
        self.forget_if_expelled()
        wanted = set(topics)
        return self.member.subscription(wanted, [_pair(tp) for tp in self.owned if tp.topic in wanted])

    def assign(self, cluster: Any, members: Mapping[str, Any]) -> dict[str, bytes]:
        """Return the Assignment of every member, as the leader of the round. Called by aiokafka in the leader."""
        peers = {member: PeerSubscription(each.subscription, each.user_data) for member, each in members.items()}
        return self.member.assign(counted(cluster, peers.values()), peers, self.consumer._coordinator.member_id)

    def on_assignment(self, assignment: Any) -> None:
        """Apply the new assignment to the consumer; called by aiokafka before it delivers records of the assignment."""
        consumer = self.consumer
        subscription = consumer._subscription.subscription
        topics = subscription.topics
        outcome = self.member.received(
            frozenset(_pair(tp) for tp in self.owned),
            frozenset(_pair(tp) for tp in assignment.partitions()),
            assignment.user_data,
            consumer._coordinator.member_id,
            topics,
            [(topic, number) for topic in topics for number in consumer.partitions_for_topic(topic) or ()],
        )
        before, self._left, self._held = self.owned, self._held, subscription.assignment
        self.owned = frozenset(TopicPartition(*pair) for pair in outcome.held)
        self.added, self.revoked = self.owned - before, before - self.owned
        # Restore the positions before any await, because otherwise records would be delivered twice in the meantime
        # (docs/kafka/cooperative-designs.md#member-rule-0).
        self._restore(self.owned & before)
        self._hold_back(self.added)
        self._plan_rejoin(outcome)

    def _plan_rejoin(self, outcome: AssignmentEffect) -> None:
        if outcome.rejoin:
            self.consumer._coordinator.request_rejoin()
        elif outcome.timeout_ms:
            self._timer = asyncio.get_running_loop().call_later(outcome.timeout_ms / 1000, self.rejoin)

    def _restore(self, retained: Iterable[TopicPartition]) -> None:
        """Restore position, pending reset and pause of retained partitions, because aiokafka would start from the committed offsets."""
        for tp in retained:
            carry_over(self._left.state_value(tp), self._held.state_value(tp))

    def _hold_back(self, added: Iterable[TopicPartition]) -> None:
        """Deliver no records of newly assigned partitions before the user's callback has returned. Without our listener there is no
        callback to wait for."""
        if self._listener is not None and self.consumer._subscription.listener is self._listener:
            for tp in added:
                self._held._tp_state[tp] = HeldBack(self._held)

    def release(self) -> None:
        """Deliver records of the newly assigned partitions that `_hold_back` has held back, except those that the user paused. Called by
        the listener."""
        for tp in self.added:
            state = self._held.state_value(tp) if self._held is not None else None
            if isinstance(state, HeldBack):
                state.let_go()

    def give_up(self) -> frozenset[TopicPartition]:
        """Return the partitions that the member gives up before it joins again, which are none for a cooperative member. Called by the
        listener."""
        return frozenset()

    def forget_if_expelled(self) -> None:
        """Drop all owned partitions if the member has lost its member id, because they belong to other members by now."""
        consumer = self.consumer
        if self.owned and not consumer._coordinator.member_id:
            self.lost, self.owned, self._held = self.lost | self.owned, frozenset(), None

    @property
    def consumer(self) -> AIOKafkaConsumer:
        """Return the consumer passed to `attach`. Raises NotAttached before `attach`."""
        if self._consumer is None:
            raise NotAttached(f"assignor {self.name}: call assignor.attach(consumer) before consumer.start()")
        return self._consumer

    def _cancel_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


def _pair(tp: TopicPartition) -> Partition:
    return tp.topic, tp.partition
