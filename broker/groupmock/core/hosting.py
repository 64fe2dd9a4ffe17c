"""The hosting of an internal topic decides which node leads each partition, and so where its coordinator is.

A coordinator (of groups or transactions) keeps in memory what the log of its partition says. So the node that leads the partition answers,
and a node that takes over has to read that log first. Meanwhile the new node answers COORDINATOR_LOAD_IN_PROGRESS (14) and the old one
NOT_COORDINATOR (16) (docs/kafka/group-protocol.md#load-unload-deletion). In Kafka: CoordinatorRuntime, one per internal topic.

The coordinator is a `Tenant` and is passed in, and so are the topic's name and its partitioner: this module knows neither groups nor
transactions. Partition p starts on the (p mod N)-th of N nodes and moves by unload and load.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Protocol

from groupmock_codec import error_codes

from .log import internal
from .log.placement import NO_LEADER

if TYPE_CHECKING:
    from .environment import Environment
    from .log.topics import Topics
    from .turn import TimerHandler, Turn

Partitioner = Callable[[str], int]
"""A function that maps an id to its partition."""

NONE = error_codes.NONE
COORDINATOR_LOAD_IN_PROGRESS = error_codes.COORDINATOR_LOAD_IN_PROGRESS
NOT_COORDINATOR = error_codes.NOT_COORDINATOR


class Tenant(Protocol):
    """The coordinator whose state is stored in the partitions of one internal topic."""

    def led(self, partitions: Iterable[int], node: int) -> None:
        """Note that the node begins to lead partitions, for which nothing has been loaded yet."""

    def left(self, partition: int, node: int) -> None:
        """Note that the node no longer leads the partition; the partition's state was unloaded before."""

    def stopped(self, node: int) -> None:
        """Forget what the node had in memory, because it has stopped. It led no partition any more."""

    def unload(self, turn: Turn, partition: int, node: int | None) -> None:
        """Unload the partition, which the node is about to lose: refuse parked requests and keep only the log."""

    def load(self, turn: Turn, partition: int, node: int | None) -> None:
        """Restore the state stored in the partition, because the node has read its log."""


class Hosting:
    """Decides which node leads each partition of one internal topic, and tells the topic its leaders; the topic is created when a
    client first looks up a coordinator. `places` is the number of partitions over which ids are spread. `timer` names the timer that ends
    loading, whose subject is the partition."""

    def __init__(
        self, environment: Environment, topics: Topics, topic: str, partitioner: Partitioner, places: int, timer: str, tenant: Tenant
    ) -> None:
        self.topic = topic
        self.places = places
        """The number of partitions over which ids are spread, as it was configured at the start."""
        self.topics = topics
        self.partition_of = partitioner
        """Returns the partition in which an id is stored."""
        self._timer = timer
        self._tenant = tenant
        self._leaders: list[int | None] = [None] * places
        self.answering = [NO_LEADER] * places
        """The node that answers for each partition: its leader after reading the log, or NO_LEADER."""
        self._topic_deleted = False
        topics.hosted_by(topic, self)
        topics.when_deleted(self._deleted)
        nodes = [node.node_id for node in environment.identity.nodes]
        self._begin({partition: nodes[partition % len(nodes)] for partition in range(places)})

    def node_of(self, name: str) -> int | None:
        """Return the node that coordinates the id, or None if no node does."""
        return self._leaders[self.partition_of(name)]

    def leader_of(self, partition: int) -> int | None:
        """Return the node that leads the partition, or None if no node does."""
        return self._leaders[partition]

    def led_by(self, node: int | None) -> list[int]:
        """Return the partitions that the node leads, or for None those without a leader."""
        return [partition for partition, leader in enumerate(self._leaders[: self.hosted]) if leader == node]

    @property
    def hosted(self) -> int:
        """Return how many of the `places` partitions exist: fewer if the topic was created with fewer partitions, and 0 if it was
        deleted. Kafka reads the number for the hash when a node starts and keeps it (seen on 4.3.0, 3.9.1, 2.8.2)."""
        made = self.topics.partitions(self.topic)
        if made is None:
            return 0 if self._topic_deleted else self.places
        return min(made, self.places)

    def gate(self, partition: int, node: int) -> int:
        """Return the error with which the node refuses to answer: COORDINATOR_LOAD_IN_PROGRESS (14), NOT_COORDINATOR (16), or 0 for none
        (SERVER-48)."""
        if self.answering[partition] == node:
            return NONE
        return COORDINATOR_LOAD_IN_PROGRESS if self._leaders[partition] == node else NOT_COORDINATOR

    def loading(self, node: int) -> bool:
        """True if the node is loading any partition."""
        return any(leader == node != answers for leader, answers in zip(self._leaders, self.answering, strict=True))

    def largest_batch(self, partition: int) -> int:
        """Return the size limit of a batch in the partition, by the configs of its leader, or of the controller if it has no leader."""
        node = self._leaders[partition]
        return self.topics.record_limit(self.topic, self.topics.controller() if node is None else node)

    def make_topic(self, turn: Turn) -> bool:
        """Create the topic if it does not exist, and return whether it exists now. Kafka cannot create it if the
        name of another topic collides."""
        return internal.try_make(turn, self.topics, self.topic)

    def _deleted(self, turn: Turn, name: str) -> None:
        """Leave the ids without a coordinator (16) until the next look-up creates the topic again, without records (seen on 4.3.0,
        3.9.1, 2.8.2)."""
        if name != self.topic:
            return
        self._topic_deleted = True
        for partition, leader in enumerate(self._leaders):
            if leader is not None:
                self.unload(turn, partition)

    def elected(self, turn: Turn, first: int, leaders: Sequence[int]) -> None:
        """Adopt the leaders of created partitions, from partition `first` on. A leader of -1 means that a partition has none. The number
        of partitions with coordinators does not change. Further partitions have no coordinators, and missing ones cannot have any."""
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
        """Start partitions with an empty log, which no node led before."""
        for node in dict.fromkeys(leaders.values()):
            led = [partition for partition, leader in leaders.items() if leader == node]
            self._tenant.led(led, node)
            for partition in led:
                self._leaders[partition] = self.answering[partition] = node

    def unload(self, turn: Turn, partition: int) -> None:
        """Unload the partition from its leader, but keep its log (SERVER-49)."""
        self._release(turn, partition)
        self._lead(turn, partition, None)

    def load(self, turn: Turn, partition: int, node: int, loading_ms: int) -> None:
        """Make the node the leader of the partition, whose log it reads for `loading_ms` (SERVER-48)."""
        if self._leaders[partition] is not None:
            self._release(turn, partition)
        self._lead(turn, partition, node)
        if loading_ms > 0:
            turn.timers.set((self._timer, str(partition)), turn.after(loading_ms))
        else:
            # A timer of 0 ms would fire after the requests that have arrived, which would then get COORDINATOR_LOAD_IN_PROGRESS (14).
            self._finish_load(turn, partition)

    def stopped(self, node: int) -> None:
        """Forget a stopped node with all that it had in memory. It leads no partition any more."""
        self._tenant.stopped(node)

    def timer_handlers(self) -> dict[str, TimerHandler]:
        """Return the handler of the loading timer, by timer name."""
        return {self._timer: self._on_load}

    def _release(self, turn: Turn, partition: int) -> None:
        if self.answering[partition] == NO_LEADER:
            # The partition was still being loaded and has no state in memory, so no request is answered, and the log stays as it is.
            turn.timers.cancel((self._timer, str(partition)))
        else:
            self._tenant.unload(turn, partition, self._leaders[partition])

    def _lead(self, turn: Turn, partition: int, node: int | None) -> None:
        """Change the leader of a partition, which has no state in memory at this moment. Only this method does."""
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
