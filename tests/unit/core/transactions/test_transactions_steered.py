"""Commands abort, fence, expire, hold and release transactional ids, and the memory for clients' transactions is limited."""

from __future__ import annotations

from typing import Final

import pytest
from cases import for_each
from offsets_world import OffsetsWorld
from transaction_world import NOBODY, Pid, TransactionWorld

from groupmock.core.steering import CannotSteer, NoSuch, NotNow
from groupmock.data.transactions import TransactionDetails, transaction_details

DAY_MS: Final = 24 * 3_600_000


def details(world: TransactionWorld, name: str = "x") -> TransactionDetails:
    known = world.cluster.transactions.find(name)
    assert known is not None
    return transaction_details(world.cluster, known, world.turn().wall_ms, [])


def open_one(world: TransactionWorld) -> Pid:
    """Begin a transaction and write a record to partition 0."""
    pid = world.init()
    assert [world.add(pid), world.write(pid)] == [[0], 0]
    return pid


def last_causes(world: TransactionWorld, count: int) -> list[object]:
    return [note["cause"] for note in world.notes("transaction_moved")[-count:]]


def test_an_abort_is_what_a_timeout_does() -> None:
    """The markers have the next epoch, and the producer may call InitProducerId with its old epoch (TX-92)."""
    world = TransactionWorld()
    pid = open_one(world)
    world.command("abort_transaction", transactional_id="x")
    assert [world.state(), world.markers(), world.committed()] == [("CompleteAbort", 1), [(pid.id, 1, False)], 0]
    assert [world.end(pid), world.write(pid, 1), world.init_code("x", pid)] == [90, 47, (0, pid.id, 1)]
    assert last_causes(world, 3) == ["abort_ordered", "markers_written", "producer_went_on"]


def test_a_fence_is_what_a_newer_producer_does() -> None:
    """The abort takes one epoch and the newer producer another, and the old producer is refused for good (TX-21)."""
    world = TransactionWorld()
    pid = open_one(world)
    world.command("fence_transaction", transactional_id="x")
    assert [world.state(), world.markers()] == [("Empty", 2), [(pid.id, 1, False)]]
    assert [world.end(pid), world.add(pid), world.write(pid, 1), world.init_code("x", pid)] == [90, [90], 47, (90, *NOBODY)]
    assert world.finish(pid, commit=False)[0] == 90
    assert last_causes(world, 3) == ["fence_ordered", "markers_written", "fence_ordered"]
    assert world.init() == Pid(pid.id, 3)


def test_a_fence_of_an_idle_id_is_one_epoch() -> None:
    """Fencing an idle id takes one epoch (TX-20), or a new producer id if the epochs are used up (TX-27)."""
    world = TransactionWorld()
    pid = world.init()
    world.command("fence_transaction", transactional_id="x")
    assert [world.state(), world.add(pid)] == [("Empty", 1), [90]]
    known = world.cluster.transactions.find("x")
    assert known is not None
    known.epoch = 32_766
    world.command("fence_transaction", transactional_id="x")
    assert (world.state(), known.producer_id != pid.id) == (("Empty", 0), True)


def test_a_fence_waits_for_markers_that_come_late() -> None:
    world = TransactionWorld(transaction_markers_delay_ms=50)
    pid = open_one(world)
    world.command("fence_transaction", transactional_id="x")
    assert [world.state(), world.init_code()[0]] == [("PrepareAbort", 1), 51]
    world.sleep(50)
    assert [world.state(), world.init_code("x", pid)] == [("Empty", 2), (90, *NOBODY)]


def test_expired_transactional_id_can_be_used_by_anybody() -> None:
    """An idle id is removed after transactional.id.expiration.ms (TX-93)."""
    world = TransactionWorld()
    pid = world.init()
    world.command("expire_transactional_id", transactional_id="x")
    assert [world.add(pid), world.described()[0].error_code, world.listed()] == [[49], 105, []]
    assert last_causes(world, 1) == ["expiry_ordered"]
    after = world.init()
    assert (after.id != pid.id, after.epoch) == (True, 0)


def test_held_markers_keep_readers_behind_the_transaction() -> None:
    """While markers are held, the transaction is decided and answered, the producer's next request gets CONCURRENT_TRANSACTIONS (51),
    and no record is readable (TX-57)."""
    world = TransactionWorld()
    world.command("hold_markers", transactional_id="x")
    world.command("hold_markers", transactional_id="x")
    pid = open_one(world)
    assert [world.end(pid), world.add(pid), world.init_code()[0]] == [0, [51], 51]
    world.sleep(DAY_MS)
    assert [world.state(), world.committed(), world.markers()] == [("PrepareCommit", 0), 0, []]
    assert [(note["cause"], note["reason"]) for note in world.notes("markers_held")] == [
        ("markers_held", "markers of 1 partition are held back until they are released")
    ]
    world.command("release_markers", transactional_id="x")
    assert [world.state(), world.committed(), world.markers()] == [("CompleteCommit", 0), 1, [(pid.id, 0, True)]]
    world.command("release_markers", transactional_id="x")
    assert [world.add(pid), world.end(pid), world.state()] == [[0], 0, ("CompleteCommit", 0)]


def test_a_release_does_not_shorten_a_delay() -> None:
    world = TransactionWorld(transaction_markers_delay_ms=50)
    world.command("hold_markers", transactional_id="x")
    pid = open_one(world)
    world.end(pid)
    world.command("release_markers", transactional_id="x")
    assert world.state()[0] == "PrepareCommit"
    world.sleep(50)
    assert world.state()[0] == "CompleteCommit"


def test_markers_stay_held_where_the_coordinator_moves() -> None:
    world = TransactionWorld()
    world.command("hold_markers", transactional_id="x")
    world.end(open_one(world))
    hosting = world.cluster.transactions.hosting
    partition = hosting.partition_of("x")
    hosting.load(world.turn(), partition, 1, 0)
    assert world.state()[0] == "PrepareCommit"
    hosting.unload(world.turn(), partition)
    world.command("release_markers", transactional_id="x")
    hosting.load(world.turn(), partition, 1, 0)
    assert world.state()[0] == "CompleteCommit"


def test_held_markers_keep_the_abort_of_a_fence_too() -> None:
    world = TransactionWorld()
    open_one(world)
    world.command("hold_markers", transactional_id="x")
    world.command("fence_transaction", transactional_id="x")
    assert world.state() == ("PrepareAbort", 1)
    world.command("release_markers", transactional_id="x")
    assert world.state() == ("Empty", 2)


REFUSED: Final[dict[str, tuple[str, str, type[CannotSteer], str]]] = {
    "nobody to abort": ("abort_transaction", "nope", NoSuch, "no transactional id 'nope': there are idle, open, ending"),
    "nobody to release": ("release_markers", "nope", NoSuch, "no transactional id 'nope'"),
    "nothing to abort": ("abort_transaction", "idle", NotNow, "is Empty: there is a transaction to abort in Ongoing only"),
    "aborted already": ("abort_transaction", "ending", NotNow, "is PrepareCommit: there is a transaction to abort in Ongoing only"),
    "markers under way": ("fence_transaction", "ending", NotNow, "is PrepareCommit: it can be fenced once its markers are written"),
    "open": ("expire_transactional_id", "open", NotNow, "is Ongoing: it can expire once its transaction is over"),
    "ending": ("expire_transactional_id", "ending", NotNow, "is PrepareCommit: it can expire once its transaction is over"),
}


@for_each(("command", "name", "kind", "text"), REFUSED.values(), ids=REFUSED)
def test_what_cannot_be_done_to_an_id_is_said_in_a_sentence(command: str, name: str, kind: type[CannotSteer], text: str) -> None:
    world = TransactionWorld()
    world.command("hold_markers", transactional_id="ending")
    world.init("idle")
    world.add(world.init("open"), name="open")
    ending = world.init("ending")
    world.add(ending, name="ending")
    world.end(ending, name="ending")
    with pytest.raises(kind, match=text):
        world.command(command, transactional_id=name)
    assert [world.state(each)[0] for each in ("idle", "open", "ending")] == ["Empty", "Ongoing", "PrepareCommit"]


def test_an_id_in_a_line_and_in_full() -> None:
    world = OffsetsWorld()
    world.init("other")
    pid = world.begin()
    world.add(pid, 1, 0)
    world.txn(pid)
    world.sleep(250)
    told = details(world)
    row = told.transaction
    assert (row.transactional_id, row.state, row.producer_id, row.epoch, row.coordinator) == ("x", "Ongoing", pid.id, 0, 1)
    assert (row.timeout_ms, row.partitions, row.open_ms, row.held) == (60_000, 3, 250, False)
    assert row.started_ms is not None
    assert (told.partitions["t"], told.groups) == ([0, 1], ["g"])
    world.end(pid)
    told = details(world)
    assert (told.transaction.state, told.transaction.open_ms, told.partitions, told.groups) == ("CompleteCommit", None, {}, [])
    assert (details(world, "other").transaction.started_ms, details(world, "other").transaction.partitions) == (None, 0)


# -- bounds


def test_only_so_many_ids_are_remembered() -> None:
    """Ids whose coordinator is on a stopped node count as well, and an expired id makes room."""
    world = TransactionWorld(cluster_max_transactional_ids=2)
    world.init("a")
    world.init("b")
    world.cluster.transactions.hosting.unload(world.turn(), world.cluster.transactions.hosting.partition_of("a"))
    assert [world.init_code("c"), world.init_code("b")[0]] == [(53, *NOBODY), 0]
    assert world.notes("transactional_id_refused") == [{"transactional_id": "c", "reason": "groupmock.cluster.max.transactional.ids is 2"}]
    world.command("expire_transactional_id", transactional_id="b")
    assert world.init_code("c")[0] == 0


def test_only_so_many_partitions_are_in_a_transaction() -> None:
    """A request that exceeds the limit adds no partition, but may name partitions that are already in the transaction, which continues."""
    world = TransactionWorld(transaction_max_partitions=2)
    pid = world.init()
    assert [world.add(pid, 0), world.offsets(pid), world.add(pid, 0, 1), world.add(pid, 0)] == [[0], 0, [44, 44], [0]]
    assert world.write(pid, partition=1, version=12) == 44
    assert [each.topic for each in world.described()[0].topics] == ["t", "__consumer_offsets"]
    assert [note["transactional_id"] for note in world.notes("partitions_refused")] == ["x", "x"]
    assert [world.end(pid), world.add(pid, 0, 1), world.end(pid)] == [0, [0, 0], 0]


def test_only_so_many_partitions_are_in_all_transactions_together() -> None:
    """A transaction that ends makes room, whether by its producer, by a timeout or with its topic."""
    world = TransactionWorld(cluster_max_transaction_partitions=2)
    x, y = world.init(), world.init("y")
    assert [world.add(x, 0), world.add(y, 0, 1, name="y"), world.add(y, 1, name="y")] == [[0], [44, 44], [0]]
    assert [world.end(x), world.add(x, 0, 1), world.add(x, 0)] == [0, [44, 44], [0]]
    world.sleep(100_000)
    assert world.add(world.init("z"), 0, 1, name="z") == [0, 0]
    world.command("delete_topic", name="t")
    world.sleep(100_000)
    assert world.cluster.transactions._markers.partitions == 0
