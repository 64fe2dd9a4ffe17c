"""The partitions of an internal topic and their coordinators, each of which is in one partition and moves with its leader.

A coordinator (of groups or transactions) keeps in memory what the log of its partition says. So the node that leads the partition is the
one that answers, and a node that takes over has to read that log first: meanwhile the new one answers 14 and the old one 16
(docs/kafka/group-protocol.md#load-unload-deletion). In Kafka: CoordinatorRuntime, one per internal topic.

The coordinator is a `Tenant` and is passed in, and so are the topic's name and its partitioner: this module knows neither groups nor
transactions. Partition p starts on the (p mod N)-th of N nodes and moves by unload and load.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Protocol

from groupmock_codec import error_codes

from .log import internal
from .log.placement import NO_LEADER
from .log.refusal import TopicRefused

if TYPE_CHECKING:
    from .environment import Environment
    from .log.topics import Topics
    from .turn import TimerHandler, Turn

Partitioner = Callable[[str], int]
"""Maps an id to its partition."""

NONE = error_codes.NONE
COORDINATOR_LOAD_IN_PROGRESS = error_codes.COORDINATOR_LOAD_IN_PROGRESS
NOT_COORDINATOR = error_codes.NOT_COORDINATOR


class Tenant(Protocol):
    """The coordinator in the partitions of one internal topic."""

    def led(self, partitions: Iterable[int], node: int) -> None:
        """The node begins to lead partitions in which nothing lives yet."""

    def left(self, partition: int, node: int) -> None:
        """The node leads the partition no more; what lived there is unloaded."""

    def stopped(self, node: int) -> None:
        """The node's memory is lost; it led no partition any more."""

    def unload(self, turn: Turn, partition: int, node: int | None) -> None:
        """Unload the partition, which the node is about to lose: parked requests are answered, and only the log stays."""

    def load(self, turn: Turn, partition: int, node: int | None) -> None:
        """Restore what lives in the partition, because the node has read its log."""


class Hosting:
    """The partitions of one internal topic, whose leaders are decided here. The topic, which the first look-up of a coordinator creates,
    is told. `places` is the number of partitions over which ids are spread. `timer` names the timer that ends loading; its subject is
    the partition."""

    def __init__(
        self, environment: Environment, topics: Topics, topic: str, partitioner: Partitioner, places: int, timer: str, tenant: Tenant
    ) -> None:
        self.topic = topic
        self.places = places
        """The number of partitions over which ids are spread: as many as were configured at the start."""
        self.topics = topics
        self.partition_of = partitioner
        """Returns the partition that an id lives in."""
        self._timer = timer
        self._tenant = tenant
        self._leaders: list[int | None] = [None] * places
        self.answering = [NO_LEADER] * places
        """The node that answers for each partition: its leader, once it has read the log, or NO_LEADER."""
        self._topic_deleted = False
        topics.hosted_by(topic, self)
        topics.when_deleted(self._deleted)
        nodes = [node.node_id for node in environment.identity.nodes]
        self._begin({partition: nodes[partition % len(nodes)] for partition in range(places)})

    def node_of(self, name: str) -> int | None:
        """Return the node that coordinates an id, or None while none does."""
        return self._leaders[self.partition_of(name)]

    def leader_of(self, partition: int) -> int | None:
        """Return the node that leads a partition, or None."""
        return self._leaders[partition]

    def led_by(self, node: int | None) -> list[int]:
        """Return the partitions that a node leads; for None, those without a leader."""
        return [partition for partition, leader in enumerate(self._leaders[: self.hosted]) if leader == node]

    @property
    def hosted(self) -> int:
        """Return how many of the places exist: all, unless a smaller topic was created, or the topic deleted. Kafka reads the number for
        the hash when a node starts and keeps it (seen on 4.3.0, 3.9.1, 2.8.2)."""
        made = self.topics.partitions(self.topic)
        if made is None:
            return 0 if self._topic_deleted else self.places
        return min(made, self.places)

    def gate(self, partition: int, node: int) -> int:
        """Return 14 while the node loads the partition, 16 if another node leads it, else 0 (SERVER-48)."""
        if self.answering[partition] == node:
            return NONE
        return COORDINATOR_LOAD_IN_PROGRESS if self._leaders[partition] == node else NOT_COORDINATOR

    def loading(self, node: int) -> bool:
        """Return whether the node is loading any partition."""
        return any(leader == node != answers for leader, answers in zip(self._leaders, self.answering, strict=True))

    def largest_batch(self, partition: int) -> int:
        """Return the bytes that the partition's leader may write at once, or the controller if nobody leads the partition."""
        node = self._leaders[partition]
        return self.topics.record_limit(self.topic, self.topics.controller() if node is None else node)

    def make_topic(self, turn: Turn) -> bool:
        """Create the topic unless it exists. Return whether it exists: a topic whose name collides keeps Kafka from creating it."""
        try:
            internal.make(turn, self.topics, self.topic)
        except TopicRefused as refused:
            turn.note("topic_not_created", topic=self.topic, reason=refused.message)
            return False
        return True

    def _deleted(self, turn: Turn, name: str) -> None:
        """Leave the ids without a coordinator (16) until the next look-up creates the topic anew, empty: seen on 4.3.0, 3.9.1, 2.8.2."""
        if name != self.topic:
            return
        self._topic_deleted = True
        for partition, leader in enumerate(self._leaders):
            if leader is not None:
                self.unload(turn, partition)

    def elected(self, turn: Turn, first: int, leaders: Sequence[int]) -> None:
        """Follow the leaders (-1: none) of the topic's partitions from `first` on, which were created. The number of places stays:
        nothing lives in partitions beyond it, and nothing can live in missing ones."""
        self._topic_deleted = False
        wanted = {first + step: leader for step, leader in enumerate(leaders) if first + step < self.places}
        wanted.update(dict.fromkeys(range(first + len(leaders), self.places), NO_LEADER))
        for partition, leader in wanted.items():
            before = self._leaders[partition]
            if before is not None and leader == NO_LEADER:
                self.unload(turn, partition)
            elif before is not None and leader != before:
                self.load(turn, partition, leader, 0)
        self._begin({partition: leader for partition, leader in wanted.items() if self._leaders[partition] is None and leader != NO_LEADER})

    def _begin(self, leaders: Mapping[int, int]) -> None:
        """Begin partitions with an empty log, which no node led before."""
        for node in dict.fromkeys(leaders.values()):
            led = [partition for partition, leader in leaders.items() if leader == node]
            self._tenant.led(led, node)
            for partition in led:
                self._leaders[partition] = self.answering[partition] = node

    def unload(self, turn: Turn, partition: int) -> None:
        """Unload the partition from its leader; the log stays (SERVER-49)."""
        self._release(turn, partition)
        self._lead(turn, partition, None)

    def load(self, turn: Turn, partition: int, node: int, loading_ms: int) -> None:
        """Let the node take over the partition and replay its log for `loading_ms` (SERVER-48)."""
        if self._leaders[partition] is not None:
            self._release(turn, partition)
        self._lead(turn, partition, node)
        if loading_ms > 0:
            turn.timers.set((self._timer, str(partition)), turn.after(loading_ms))
        else:
            # A timer of 0 ms would fire after the requests that have arrived, and these would be answered 14
            self._finish_load(turn, partition)

    def stopped(self, node: int) -> None:
        """Forget a node that is gone with all it had in memory. It leads no partition any more."""
        self._tenant.stopped(node)

    def timer_handlers(self) -> dict[str, TimerHandler]:
        """Return the handlers by timer name."""
        return {self._timer: self._on_load}

    def _release(self, turn: Turn, partition: int) -> None:
        if self.answering[partition] == NO_LEADER:
            # What was still being read is not in memory: no request is answered, and the log stays as it was
            turn.timers.cancel((self._timer, str(partition)))
        else:
            self._tenant.unload(turn, partition, self._leaders[partition])

    def _lead(self, turn: Turn, partition: int, node: int | None) -> None:
        """Change the leader of a partition. Only this method does, and nothing lives in the partition at that moment."""
        before, self._leaders[partition], self.answering[partition] = self._leaders[partition], node, NO_LEADER
        if before is not None:
            self._tenant.left(partition, before)
        if node is not None:
            self._tenant.led([partition], node)
        self.topics.hosted(turn, self.topic, partition, node)

    def _on_load(self, subject: tuple[str, ...], turn: Turn) -> bool:
        self._finish_load(turn, int(subject[0]))
        return True

    def _finish_load(self, turn: Turn, partition: int) -> None:
        leader = self._leaders[partition]
        self.answering[partition] = NO_LEADER if leader is None else leader
        self._tenant.load(turn, partition, leader)
