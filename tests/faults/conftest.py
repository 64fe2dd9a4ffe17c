"""Start one cluster of two nodes for all tests of a module, and prepare requests that a fault can meet."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from fault_world import GROUP_APIS, TOPIC, World, ends

from groupmock import Broker
from groupmock_codec import APIS

STAGES = ("request", "reply")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Choose combinations pairwise: each kind of fault meets every API once, in its oldest and newest version and at both stages in
    turn. All combinations would be 680 tests, and those found nothing more."""
    if "key" not in metafunc.fixturenames:
        return
    turn = sum(map(ord, metafunc.function.__name__))
    cases = []
    for place, key in enumerate(GROUP_APIS):
        versions = ends(key)
        version, stage = versions[(place + turn) % len(versions)], STAGES[(place // 2 + turn // 2) % 2]
        staged = "stage" in metafunc.fixturenames
        cases.append(pytest.param(key, version, *[stage] * staged, id=f"{APIS[key].name}-{version}{f'-{stage}' * staged}"))
    metafunc.parametrize(["key", "version", *["stage"] * ("stage" in metafunc.fixturenames)], cases)


@pytest.fixture(scope="module")
def broker() -> Iterator[Broker]:
    with Broker(topics={TOPIC: 2}, nodes=2, seed=6, settings={"group.initial.rebalance.delay.ms": 0}) as broker:
        yield broker


@pytest.fixture
def world(broker: Broker) -> Iterator[World]:
    """Yield the module's cluster to a test, and then remove the fault rules and close the connections."""
    world = World(broker)
    yield world
    broker.clear_faults()
    world.close()
