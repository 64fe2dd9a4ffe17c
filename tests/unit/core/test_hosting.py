"""Coordinators are placed on nodes independently of groups, which a second kind of coordinator shows."""

from __future__ import annotations

from collections.abc import Iterable

from core_world import World

from groupmock.core.hosting import Hosting
from groupmock.core.log.names import TRANSACTION_TOPIC
from groupmock.core.turn import Turn

PLACES = 4
TIMER = "load"


class Diary:
    """A second kind of coordinator that records its calls."""

    def __init__(self) -> None:
        self.told: list[tuple[object, ...]] = []

    def led(self, partitions: Iterable[int], node: int) -> None:
        self.told.append(("led", *partitions, "on", node))

    def left(self, partition: int, node: int) -> None:
        self.told.append(("left", partition, node))

    def stopped(self, node: int) -> None:
        self.told.append(("stopped", node))

    def unload(self, turn: Turn, partition: int, node: int | None) -> None:
        self.told.append(("unload", partition, node))

    def load(self, turn: Turn, partition: int, node: int | None) -> None:
        self.told.append(("load", partition, node))

    def take(self) -> list[tuple[object, ...]]:
        """Return the calls since the previous `take`."""
        told, self.told = self.told, []
        return told


def hosting() -> tuple[World, Hosting, Diary]:
    world, diary = World.make(nodes=2, real_topics=True), Diary()
    made = Hosting(world.environment, world.cluster.topics, TRANSACTION_TOPIC, lambda name: len(name) % PLACES, PLACES, TIMER, diary)
    return world, made, diary


def test_partitions_begin_in_a_ring_and_ids_are_placed_by_the_partitioner() -> None:
    _, hosts, diary = hosting()
    assert diary.take() == [("led", 0, 2, "on", 1), ("led", 1, 3, "on", 2)]
    assert (hosts.partition_of("abc"), hosts.node_of("abc"), hosts.leader_of(3)) == (3, 2, 2)
    assert (hosts.gate(3, 2), hosts.gate(3, 1)) == (0, 16)


def test_a_partition_that_moves_is_loaded_and_its_topic_follows() -> None:
    world, hosts, diary = hosting()
    turn = world.turn()
    assert hosts.make_topic(turn)
    diary.take()
    hosts.load(turn, 3, 1, 1000)
    assert diary.take() == [("unload", 3, 2), ("left", 3, 2), ("led", 3, "on", 1)]
    assert (hosts.gate(3, 1), hosts.gate(3, 2), hosts.loading(1)) == (14, 16, True)
    assert world.cluster.topics.leader_of(TRANSACTION_TOPIC, 3) == 1
    assert hosts.timer_handlers()[TIMER](("3",), turn)
    assert (diary.take(), hosts.gate(3, 1), hosts.loading(1)) == ([("load", 3, 1)], 0, False)


def test_a_partition_that_moves_on_while_it_loads_had_nothing_to_unload() -> None:
    world, hosts, diary = hosting()
    turn = world.turn()
    hosts.load(turn, 3, 1, 1000)
    diary.take()
    hosts.unload(turn, 3)
    assert (diary.take(), hosts.node_of("abc"), hosts.gate(3, 1)) == ([("left", 3, 1)], None, 16)
    assert (TIMER, "3") not in turn.timers


def test_a_deleted_topic_has_no_coordinators_until_it_is_made_anew() -> None:
    world, hosts, diary = hosting()
    turn = world.turn()
    hosts.make_topic(turn)
    diary.take()
    world.cluster.topics.delete(turn, TRANSACTION_TOPIC)
    unloaded = [told[1:] for told in diary.take() if told[0] == "unload"]
    assert unloaded == [(0, 1), (1, 2), (2, 1), (3, 2)]
    assert (hosts.hosted, hosts.led_by(1), hosts.node_of("abc")) == (0, [], None)
    assert hosts.make_topic(turn)
    assert (hosts.hosted, hosts.led_by(1), hosts.led_by(2)) == (PLACES, [0, 2], [1, 3])
