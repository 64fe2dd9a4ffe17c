"""A producer cannot continue past the first sequence that it tried in a transaction, as on Kafka 4.3.0 and 3.9.1
(docs/kafka/transactions.md, TX-61)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from cases import for_each
from transaction_world import Pid, TransactionWorld

from groupmock.core.log import producers

Steps = Callable[[TransactionWorld, Pid, int], object]


def tries(*steps: int | bool | str) -> Steps:
    """Return the steps of a second transaction: numbers are sequences to send, and a bool ends the transaction and begins the next."""

    def run(world: TransactionWorld, pid: Pid, version: int) -> list[int]:
        world.add(pid)
        for sequence in 0, 1:
            assert world.write(pid, sequence, version=version) == 0
        world.end(pid)
        world.add(pid)
        seen = []
        for step in steps:
            if isinstance(step, bool):
                world.end(pid, step)
                world.add(pid)
            elif isinstance(step, int):
                seen.append(world.write(pid, step, version=version))
            else:
                seen.append(world.write(pid, int(step), version=version, bits=0))
        return seen

    return run


def unknown(*sequences: int, gap: int = 0) -> Steps:
    """Return steps whose first batch is refused because the partition was not added; with `gap` a second one is refused for its epoch."""

    def run(world: TransactionWorld, pid: Pid, version: int) -> list[int]:
        seen = [world.write(pid, sequences[0], version=version)]
        if gap:
            seen.append(world.write(pid.older(-1), gap, version=version))
        world.add(pid)
        return seen + [world.write(pid, each, version=version) for each in sequences[1:]]

    return run


CASES: Final[dict[str, tuple[Steps, list[int], list[int]]]] = {
    # Each row has steps, the error codes of an old client (Produce v11) and those of a new one (v12).
    "a duplicate, then the next": (tries(1, 2, 2, 1, 0), [0, 45, 45, 0, 0], [0, 45, 45, 0, 0]),
    "a duplicate, an abort": (tries(1, 2, False, 2, 3), [0, 45, 0, 0], [0, 45, 45, 45]),
    "a duplicate, a commit": (tries(1, 2, True, 2), [0, 45, 0], [0, 45, 45]),
    "the next, then a duplicate": (tries(2, 1, 3), [0, 0, 0], [0, 0, 0]),
    "a gap, then the next": (tries(5, 2, 3), [45, 0, 0], [45, 0, 0]),
    "a duplicate, then a plain one": (tries(1, "2"), [0, 45], [0, 45]),
    "not added": (unknown(5, 7, 5, 6), [120, 45, 0, 0], [45, 45, 45, 45]),
    "not added, another epoch": (unknown(5, 7, 5, gap=3), [120, 47, 45, 45], [45, 47, 45, 45]),
}


@for_each("steps, old, new", CASES.values(), ids=CASES)
def test_what_was_tried_first(steps: Steps, old: list[int], new: list[int]) -> None:
    seen = []
    for profile, version in (("kafka-4.3", 11), ("kafka-3.9", 11), ("kafka-4.3", 12)):
        world = TransactionWorld(profile)
        seen.append(steps(world, world.init(), version))
    assert seen == [old, old, new]


def test_before_a_new_clients_first_batch_plain_ones_begin_at_0_too() -> None:
    seen = []
    for version in 11, 12:
        world = TransactionWorld("kafka-4.3")
        pid = world.init()
        world.add(pid)
        seen.append([world.write(pid, 2, version=version), *(world.write(pid, each, version=version, bits=0) for each in (2, 0, 3))])
    assert seen == [[0, 0, 45, 48], [45, 45, 0, 45]]


def test_an_epoch_of_minus_1_is_as_good_as_none() -> None:
    """Kafka 4.3.0 and 3.9.1 accept any sequence after epoch -1, and again any from the next epoch on, whose sequences then count."""
    for profile in "kafka-4.3", "kafka-3.9":
        world = TransactionWorld(profile)
        epochs = ((-1, 7), (-1, 3), (0, 5), (0, 7), (0, 6), (-1, 8))
        assert [world.write(Pid(9, epoch), each, bits=0) for epoch, each in epochs] == [0, 0, 0, 45, 0, 47]


def test_without_a_producer_id_it_is_nobodys_transaction() -> None:
    world = TransactionWorld("kafka-4.3")
    assert [world.write(Pid(-1, -1), -1, version=each, name="nobody") for each in (10, 12)] == [0, 0]
    assert world.topics.require_partition("t", 0).stable() == 2


def test_a_higher_epoch_counts_anew() -> None:
    world = TransactionWorld("kafka-4.3")
    pid = world.init()
    first = world.write(pid, 5, version=11)
    newer = world.init()
    world.add(newer)
    assert [first, *(world.write(newer, each, version=11) for each in (7, 0, 8))] == [120, 0, 45, 0]


def test_tried_sequences_expire() -> None:
    """The time limit is producer.id.expiration.ms, and only a limited number of producers without written records is remembered."""
    world = TransactionWorld("kafka-4.3")
    for pid in range(producers.MOST_TRIED + 1):
        world.write(Pid(10_000 + pid, 0), 5, version=11, name="nobody")
    states = world.topics.require_partition("t", 0).producers
    assert len(states._tried) == producers.MOST_TRIED
    states.expire(2**63)
    assert not states._tried
