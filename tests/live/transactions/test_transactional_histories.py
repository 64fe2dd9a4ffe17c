"""Stock clients consume, transform and produce exactly once through random histories of faults, kills, pauses, duplicates and zombies.

The histories run on groupmock and on Apache Kafka; each ready plan for producers is played too. docs/proof/transactions.md has the recorded
results. GROUPMOCK_HISTORIES is the number per client (50; on Apache Kafka 15), GROUPMOCK_FIRST_SEED the first seed (1). Members' logs, and
journals of runs that were not exact, stay under build/transactions.
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
"""Audit rules that protect against duplicates, so a client that breaks one of them causes its own failure. CLIENT-45 is not among them,
because a program may be fenced in another way, as the one with aiokafka is."""
STALLS: Final = ("aiokafka", "aiokafka-one-id", "confluent-kafka")
"""Clients that sometimes get stuck after all faults have ended and must be restarted (docs/proof/transactions.md)."""
AT_ONCE: Final = 3
FOLDER: Final = ROOT / "build" / "transactions"
SETTINGS: Final = {
    "group.initial.rebalance.delay.ms": 100, "group.min.session.timeout.ms": 100,
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": CLEANUP_MS,
}  # fmt: skip


def not_exact(histories: Iterable[History], bootstrap: str | None = None) -> list[Played]:
    """Return the histories that were not exact although the members kept the rules, or in which a reliable client got stuck."""
    return [
        each
        for each in play_all(histories, FOLDER, AT_ONCE, bootstrap)
        if (each.wrong and not EXCUSES & each.broke.keys()) or (each.stalls and each.history.client not in STALLS)
    ]


def of_seeds(client: str, count: int, draw: Callable[[str, int], History] = drawn) -> list[History]:
    return [draw(client, seed) for seed in range(FIRST, FIRST + count)]


@pytest.fixture(scope="module")
def bootstrap() -> Iterator[str]:
    """Yield the address of an Apache Kafka."""
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
    """With one transactional id per member and commits without group metadata, neither the id nor the group fences a zombie (KIP-447)."""
    found = not_exact(of_seeds(ONE_ID, ZOMBIES, of_zombies))
    assert found != []
    assert all("CLIENT-45" in each.broke for each in found), [each.broke for each in found]
