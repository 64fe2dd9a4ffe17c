"""The levels of transaction.version change what they change on Apache Kafka 4.3.0 (docs/kafka/transactions.md, TX-01 to TX-03, TX-23,
TX-24)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import pytest
from cases import for_each
from transaction_world import NOBODY, Pid, TransactionWorld

from groupmock.core.java.hashes import partition_for
from groupmock.core.steering.register import NotNow
from groupmock.rig.making import make_core
from groupmock_codec.messages.k18_api_versions import ApiVersionsRequest
from groupmock_codec.messages.k24_add_partitions_to_txn import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnTopic,
    AddPartitionsToTxnTransaction,
)
from groupmock_codec.messages.k57_update_features import FeatureUpdateKey, UpdateFeaturesRequest

FEATURE: Final = "transaction.version"


def told(world: TransactionWorld, version: int) -> tuple[list[tuple[int, int]], list[tuple[int, int]]]:
    """Return the supported and finalized levels of the feature in ApiVersions."""
    answer = world.ask(18, version, ApiVersionsRequest(client_software_name="a", client_software_version="1"))
    return (
        [(each.min_version, each.max_version) for each in answer.supported_features if each.name == FEATURE],
        [(each.min_version_level, each.max_version_level) for each in answer.finalized_features if each.name == FEATURE],
    )


@for_each(
    "profile, level, v3, v4",
    [
        ("groupmock", 2, ([], [(2, 2)]), ([(0, 2)], [(2, 2)])),
        ("kafka-4.3", 2, ([], [(2, 2)]), ([(0, 2)], [(2, 2)])),
        ("kafka-4.3", 1, ([], [(1, 1)]), ([(0, 2)], [(1, 1)])),
        ("kafka-4.3", 0, ([], []), ([(0, 2)], [])),
        ("kafka-3.9", None, ([], []), ([], [])),
    ],
)
def test_clients_are_told_the_level(profile: str, level: int | None, v3: object, v4: object) -> None:
    """ApiVersions v3 leaves out a supported feature whose lowest level is 0 (TX-01)."""
    world = TransactionWorld(profile)
    if level is not None:
        world.at_level(level)
    assert (told(world, 3), told(world, 4)) == (v3, v4)


@for_each("level", range(3))
def test_a_cluster_may_begin_at_another_level(level: int) -> None:
    environment = make_core("kafka-4.3", {"groupmock.transaction.version": level}).environment
    assert environment.levels.get(FEATURE) == level


def aborted_by_coming_again(world: TransactionWorld) -> object:
    pid = world.init()
    world.add(pid)
    return [world.init_code("x", pid)[0], world.state(), world.init_code("x", pid), world.init_code()]


def aborted_by_time(world: TransactionWorld) -> object:
    pid = world.init(timeout=600)
    world.add(pid)
    world.sleep(10_001)
    return [world.init_code("x", pid), world.finish(pid), world.finish(pid, False)]


def ended(world: TransactionWorld) -> object:
    """End a transaction as a new client, which an old client could have begun, and return the answer."""
    pid = world.init()
    world.add(pid)
    return [world.write(pid), world.finish(pid), world.finish(pid)]


def written(version: int) -> Callable[[TransactionWorld], object]:
    def steps(world: TransactionWorld) -> object:
        pid = world.init()
        return [world.write(pid, version=version), world.state()[0]]

    return steps


GOES_ON: Final = [51, ("CompleteAbort", 1), (0, 0, 1), (0, 0, 2)]
FENCED: Final = [51, ("CompleteAbort", 1), (90, *NOBODY), (0, 0, 2)]
LEVELS: Final[dict[str, tuple[Callable[[TransactionWorld], object], object, object, object]]] = {
    "TX-23": (aborted_by_coming_again, GOES_ON, FENCED, FENCED),
    "TX-24": (aborted_by_time, [(0, 0, 1), (90, *NOBODY), (90, *NOBODY)], [(90, *NOBODY), (48, *NOBODY), (0, 0, 1)], "as 1"),
    "EndTxn v5": (ended, [0, (0, 0, 1), (0, 0, 1)], "as 2", [0, (35, *NOBODY), (51, *NOBODY)]),
    "EndTxn v5 of nothing": (lambda world: world.finish(world.init(), False), (0, 0, 1), "as 2", (35, *NOBODY)),
    "Produce v11": (written(11), [120, "Empty"], "as 2", "as 2"),
    "Produce v12": (written(12), [0, "Ongoing"], "as 2", [35, "Empty"]),
    "Produce v13": (written(13), [0, "Ongoing"], "as 2", [35, "Empty"]),
}


@for_each("name", LEVELS)
def test_what_the_levels_change(name: str) -> None:
    steps, two, one, zero = LEVELS[name]
    one = two if one == "as 2" else one
    zero = {"as 2": two, "as 1": one}.get(zero, zero) if isinstance(zero, str) else zero
    assert [steps(TransactionWorld("kafka-4.3").at_level(level)) for level in (2, 1, 0)] == [two, one, zero]


def stuck(**how: Any) -> tuple[TransactionWorld, Pid]:
    """Return a transaction with partition 0 that hangs because a new client's write to another partition could not be logged."""
    world = TransactionWorld("kafka-4.3", **how).at_level(0)
    pid = world.init(timeout=600)
    world.add(pid)
    assert [world.write(pid, version=11), world.write(pid, partition=1, version=12)] == [0, 35]
    return world, pid


def test_at_level_0_an_id_whose_change_was_not_logged_hangs() -> None:
    """Kafka 4.3.0 answers CONCURRENT_TRANSACTIONS (51) to everybody, even with a wrong producer id, and neither the timeout nor level 2
    ends the transaction. Writes to added partitions succeed."""
    world, pid = stuck(transactional_id_expiration_ms=1)
    world.sleep(3_600_000)
    codes = [world.init_code()[0], world.add(pid), world.add(Pid(99, 0)), world.end(pid), world.write(pid, partition=1, version=11)]
    assert (codes, world.state()) == ([51, [51], [51], 51, 120], ("Ongoing", 0))
    assert [world.verify(pid), world.verify(pid, 1), world.write(pid, 1, version=12)] == [0, 120, 0]
    with pytest.raises(NotNow, match="hangs in a change that could not be logged"):
        world.command("abort_transaction", transactional_id="x")
    raised = UpdateFeaturesRequest(feature_updates=[FeatureUpdateKey(feature=FEATURE, max_version_level=2)])
    assert [world.ask(57, 2, raised).error_code, world.init_code()[0]] == [0, 51]


def test_another_coordinator_knows_what_was_logged() -> None:
    world, pid = stuck()
    where, partition = world.cluster.transactions.hosting, partition_for("x", 50)
    where.unload(world.turn(), partition)
    where.load(world.turn(), partition, 1, 0)
    assert [world.add(pid), world.end(pid)] == [[0], 0]


def test_at_level_0_the_whole_answer_to_a_broker_fails() -> None:
    """AddPartitionsToTxn v4 fails as a whole, including the transactions that would succeed."""
    world = TransactionWorld("kafka-4.3").at_level(0)
    pid, topics = world.init(), [AddPartitionsToTxnTopic(name="t", partitions=[0])]
    wanted = [
        AddPartitionsToTxnTransaction(transactional_id=name, producer_id=pid.id, producer_epoch=pid.epoch, topics=topics)
        for name in ("nobody", "x")
    ]
    answer = world.ask(24, 4, AddPartitionsToTxnRequest(transactions=wanted))
    assert (answer.error_code, answer.results_by_transaction) == (35, [])
