"""Stock clients that consume, transform and produce exactly once, through random histories of faults, kills, pauses, twins and zombies, on
groupmock and on Apache Kafka; and through each ready plan for producers. docs/proof/transactions.md has what was recorded.

GROUPMOCK_HISTORIES: how many per client (50; on Apache Kafka 15); GROUPMOCK_FIRST_SEED: from which seed on (1). Members' logs, and journals
of what was not exact, stay under build/transactions.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from typing import Final

import pytest
from transaction_histories import CLIENTS, ONE_ID, PLANS, History, drawn, of_plan, of_zombies
from transaction_play import CLEANUP_MS, Played, play_all, played

from tools.oracle import kafka
from tools.runs import ROOT

COUNT: Final = int(os.environ.get("GROUPMOCK_HISTORIES", "50"))
ON_KAFKA: Final = int(os.environ.get("GROUPMOCK_HISTORIES", "15"))
FIRST: Final = int(os.environ.get("GROUPMOCK_FIRST_SEED", "1"))
ZOMBIES: Final = 8
EXCUSES: Final = {"CLIENT-69", "CLIENT-70"}
"""Who breaks one of these has itself to blame. Not CLIENT-45: a program may have another way to be told off, as that with aiokafka has."""
STALLS: Final = ("aiokafka", "aiokafka-one-id", "confluent-kafka")
"""Findings about these clients (docs/proof/transactions.md): they get stuck now and then although nothing is broken any more, and have to
be restarted."""
AT_ONCE: Final = 3
FOLDER: Final = ROOT / "build" / "transactions"
SETTINGS: Final = {
    "group.initial.rebalance.delay.ms": 100, "group.min.session.timeout.ms": 100,
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": CLEANUP_MS,
}  # fmt: skip


def not_exact(histories: Iterable[History], bootstrap: str | None = None) -> list[Played]:
    """Those that were not exact although the members kept the rules, or in which somebody was stuck who never is."""
    return [
        each
        for each in play_all(histories, FOLDER, AT_ONCE, bootstrap)
        if (each.wrong and not EXCUSES & each.broke.keys()) or (each.stalls and each.history.client not in STALLS)
    ]


def of_seeds(client: str, count: int, draw: Callable[[str, int], History] = drawn) -> list[History]:
    return [draw(client, seed) for seed in range(FIRST, FIRST + count)]


@pytest.fixture(scope="module")
def bootstrap() -> Iterator[str]:
    """Where an Apache Kafka listens."""
    with kafka(settings=SETTINGS) as found:
        yield found


@pytest.mark.parametrize("client", CLIENTS)
def test_what_was_put_in_is_read_once_at_the_other_end(client: str) -> None:
    assert [str(each) for each in not_exact(of_seeds(client, COUNT))] == []


@pytest.mark.parametrize("client", CLIENTS)
def test_the_same_programs_on_kafka(client: str, bootstrap: str) -> None:
    assert [str(each) for each in not_exact(of_seeds(client, ON_KAFKA), bootstrap)] == []


@pytest.mark.parametrize("plan", PLANS)
@pytest.mark.parametrize("client", CLIENTS)
def test_a_ready_plan_costs_nobody_a_record(client: str, plan: str) -> None:
    done = played(of_plan(client, plan), FOLDER)
    assert (done.wrong, sum(done.fired.values())) == ([], 1)


@pytest.mark.parametrize("client", CLIENTS)
def test_no_zombie_commits_beside_who_has_its_partitions(client: str) -> None:
    assert [str(each) for each in not_exact(of_seeds(client, ZOMBIES, of_zombies))] == []


def test_who_keeps_no_rule_of_fencing_is_found() -> None:
    """One transactional id per member, offsets without the group's metadata: neither id nor group tells a zombie off (KIP-447)."""
    found = not_exact(of_seeds(ONE_ID, ZOMBIES, of_zombies))
    assert found != []
    assert all("CLIENT-45" in each.broke for each in found), [each.broke for each in found]
