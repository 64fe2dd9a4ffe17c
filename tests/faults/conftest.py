"""A cluster of two nodes that every test of a module shares, and a world of occasions on it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from fault_world import TOPIC, World

from groupmock import Broker


@pytest.fixture(scope="module")
def broker() -> Iterator[Broker]:
    with Broker(topics={TOPIC: 2}, nodes=2, seed=6, settings={"group.initial.rebalance.delay.ms": 0}) as broker:
        yield broker


@pytest.fixture
def world(broker: Broker) -> Iterator[World]:
    """Rules and connections end with the test."""
    world = World(broker)
    yield world
    broker.clear_faults()
    world.close()
