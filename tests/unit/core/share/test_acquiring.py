"""Tests of share fetches: each acquires the records that it may (docs/kafka/share-groups.md, SG-170 to SG-190, SG-230 to SG-254)."""

from __future__ import annotations

from collections.abc import Callable

from share_rig import LOCK_MS, ShareRig

from groupmock_codec.acknowledge_types import ACCEPT, REJECT, RELEASE

P0 = ("orders", 0)
P1 = ("orders", 1)


def test_a_fetch_by_batch_is_rounded_up_to_the_end_of_the_batch(share: ShareRig) -> None:
    share.produce(7, 11)
    alice = share.session("alice")
    assert alice.take(P0, max_records=3) == [(0, 6, 1)]
    assert alice.take(max_records=1) == [(7, 17, 1)]


def test_a_fetch_by_record_gets_exactly_its_limit_and_whole_batches_of_bytes(share: ShareRig) -> None:
    share.produce(7, 11)
    dave = share.session("dave")
    answer = dave.fetch(P0, max_records=4, mode=1)
    assert dave.acquired(answer) == {P0: [(0, 3, 1)]}
    log = share.cluster.topics.find("orders", 0)
    assert log is not None
    assert len(answer.responses[0].partitions[0].records) == len(log.read(0, 1, True))
    dave.version = 1  # Version 1 has no acquire mode, so the rest of the batch and the whole next one come.
    assert dave.take(max_records=4) == [(4, 6, 1), (7, 17, 1)]


def test_runs_of_new_records_are_cut_where_a_produced_batch_begins(share: ShareRig) -> None:
    share.produce(4, 4, 4, 4)
    assert share.session("alice").take(P0, batch_size=6) == [(0, 7, 1), (8, 15, 1)]


def test_fetches_without_room_for_records_are_answered_at_once(share: ShareRig) -> None:
    share.produce(3)
    alice = share.session("alice")
    assert alice.take(P0, max_records=0, max_wait_ms=0) == []
    assert alice.send(max_records=0).answer is not None
    assert alice.send(max_bytes=0).answer is not None
    assert alice.take(max_bytes=1) == [(0, 2, 1)]


def test_released_records_come_before_new_ones_with_their_counts(share: ShareRig) -> None:
    share.produce(4, 2)
    alice, bob = share.session("alice"), share.session("bob")
    assert alice.take(P0, max_records=1) == [(0, 3, 1)]
    assert alice.acknowledge({P0: [(0, 3, [ACCEPT, RELEASE, REJECT, ACCEPT])]}) == {P0: (0, None)}
    assert bob.take(P0) == [(1, 1, 2), (4, 5, 1)]


def test_batches_keep_their_borders_when_they_are_released(share: ShareRig) -> None:
    share.produce(3, 3)
    alice, bob = share.session("alice"), share.session("bob")
    assert alice.take(P0, max_records=1) == [(0, 2, 1)]
    assert alice.take(max_records=1) == [(3, 5, 1)]
    assert bob.take(P0) == []
    alice.close()
    assert bob.take() == [(0, 2, 2), (3, 5, 2)]


def test_a_waiting_fetch_is_woken_by_new_records(share: ShareRig) -> None:
    alice, bob = share.session("alice"), share.session("bob")
    first, second = alice.send(P0), bob.send(P0)
    assert first.answer is second.answer is None
    share.produce(3)
    assert alice.acquired(first.answer) == {P0: [(0, 2, 1)]}
    assert second.answer is None
    share.rig.sleep(500)
    assert bob.acquired(second.answer) == {}


def test_a_waiting_fetch_is_woken_when_a_lock_ends_but_not_by_a_release(share: ShareRig) -> None:
    share.produce(2)
    alice, bob = share.session("alice"), share.session("bob")
    alice.fetch(P0)
    waiting = bob.send(P0, max_wait_ms=60_000)
    share.rig.sleep(LOCK_MS - 1)
    assert waiting.answer is None
    share.rig.sleep(1)
    assert bob.acquired(waiting.answer) == {P0: [(0, 1, 2)]}
    waiting = alice.send(max_wait_ms=1000)
    assert bob.acknowledge({P0: [(0, 1, RELEASE)]}) == {P0: (0, None)}
    assert waiting.answer is None
    share.rig.sleep(1000)
    assert alice.acquired(waiting.answer) == {P0: [(0, 1, 3)]}


def test_a_waiting_fetch_gets_what_was_released_earlier_when_something_else_is_acknowledged(share: ShareRig) -> None:
    share.produce(1, 1, 1)
    alice, bob, carl = share.session("alice"), share.session("bob"), share.session("carl")
    assert bob.take(P0, max_records=1) == [(0, 0, 1)]
    assert carl.take(P0, max_records=2) == [(1, 2, 1)]
    waiting = alice.send(P0, max_wait_ms=60_000)
    bob.acknowledge({P0: [(0, 0, RELEASE)]})
    assert waiting.answer is None
    carl.close()
    assert alice.acquired(waiting.answer) == {P0: [(0, 0, 2)]}  # Kafka looks before it has stored what the session's end releases.
    assert alice.take() == [(1, 2, 2)]


def test_the_least_number_of_bytes_is_waited_for(share: ShareRig) -> None:
    share.produce(1)
    alice = share.session("alice")
    waiting = alice.send(P0, min_bytes=100, max_wait_ms=2000)
    assert waiting.answer is None
    share.produce(1)
    assert alice.acquired(waiting.answer) == {P0: [(0, 1, 1)]}


def test_deliveries_are_throttled_from_half_of_the_limit_on(make_share: Callable[..., ShareRig]) -> None:
    share = make_share(share__delivery__count__limit="5")
    share.produce(8)
    alice, delivered = share.session("alice"), []
    for _ in range(13):
        runs = alice.take(P0)
        delivered.append("+".join(str(first) if first == last else f"{first}-{last}" for first, last, _ in runs))
        assert set(alice.acknowledge({P0: [(first, last, RELEASE) for first, last, _ in runs]}).values()) == {(0, None)}
    assert delivered == ["0-7", "0-7", "0-7", "0-3", "0", "1", "2", "3", "4-7", "4", "5", "6", "7"]
    assert alice.take() == []
    assert share.lag() == 0


def test_each_record_is_delivered_as_often_as_the_limit_says(make_share: Callable[..., ShareRig]) -> None:
    share = make_share(share__delivery__count__limit="3")
    share.produce(6)
    alice, delivered = share.session("alice"), []
    for _ in range(8):
        runs = alice.take(P0)
        delivered += runs
        alice.acknowledge({P0: [(first, last, RELEASE) for first, last, _ in runs]})
    assert delivered == [(0, 5, 1), (0, 5, 2), *((offset, offset, 3) for offset in range(6))]


def test_a_partition_has_at_most_so_many_records_in_flight(make_share: Callable[..., ShareRig]) -> None:
    share = make_share(share__partition__max__record__locks="100")
    share.produce(*[30] * 6)
    alice = share.session("alice")
    assert alice.take(P0, batch_size=30) == [(0, 29, 1), (30, 59, 1), (60, 89, 1), (90, 119, 1)]
    assert alice.take() == []
    alice.acknowledge({P0: [(30, 59, ACCEPT)]})
    assert alice.take() == []  # The record at the front is stuck, and done records behind it count.
    alice.acknowledge({P0: [(40, 41, RELEASE)]})
    alice.acknowledge({P0: [(70, 71, RELEASE)]})
    assert alice.take() == [(70, 71, 2)]
    alice.acknowledge({P0: [(0, 29, REJECT)]})
    assert alice.take(batch_size=30) == [(120, 149, 1), (150, 179, 1)]


def test_the_limit_holds_exactly_for_a_fetch_by_record(make_share: Callable[..., ShareRig]) -> None:
    share = make_share(share__partition__max__record__locks="100")
    share.produce(150)
    assert share.session("alice").take(P0, mode=1) == [(0, 99, 1)]


def test_all_partitions_of_a_fetch_share_its_limit_of_records(share: ShareRig) -> None:
    share.produce(5)
    share.produce(5, partition=1)
    alice = share.session("alice")
    assert alice.acquired(alice.fetch(P0, P1, max_records=3, mode=1)) == {P0: [(0, 2, 1)]}
    assert len(alice.take(max_records=20, mode=1)) == 2


def test_groups_do_not_share_their_records(share: ShareRig) -> None:
    share.produce(2)
    share.configure({"share.auto.offset.reset": "earliest"}, group="others")
    share.initialize([0], group="others")
    assert share.session("alice").take(P0) == [(0, 1, 1)]
    assert share.session("alice", group="others").take(P0) == [(0, 1, 1)]


def test_a_group_without_an_offset_begins_where_its_config_says(make_share: Callable[..., ShareRig]) -> None:
    share = make_share(share__auto__offset__reset="latest")
    share.produce(2)
    alice = share.session("alice")
    assert alice.take(P0) == []
    share.produce(2)
    assert alice.take() == [(2, 3, 1)]


def test_records_not_older_than_a_duration_are_the_first(make_share: Callable[..., ShareRig]) -> None:
    share = make_share(share__auto__offset__reset="by_duration:PT1M")
    for _ in range(3):
        stamp = share.rig.turn().wall_ms
        from groupmock_codec.records import NewRecord, encode_batch

        share.rig.command("produce", topic="orders", partitions=[0], batches=encode_batch([NewRecord(value=b"v", timestamp=stamp)]))
        share.rig.sleep(40_000)
    assert share.session("alice").take(P0) == [(2, 2, 1)]


def test_a_waiting_fetch_gets_earlier_releases_when_another_partition_is_acknowledged(share: ShareRig) -> None:
    """SharePartitionManager.acknowledge of Kafka 4.4.0 tries the waiting fetches of each partition before it has stored anything."""
    share.produce(2)
    share.produce(2, partition=1)
    alice, bob = share.session("alice"), share.session("bob")
    bob.fetch(P0, P1)
    alice.fetch(P0, P1, max_wait_ms=0)
    waiting = alice.send(max_wait_ms=1000)
    bob.acknowledge({P0: [(0, 0, RELEASE)], P1: [(0, 0, ACCEPT)]})
    assert waiting.answer is None
    bob.acknowledge({P1: [(7, 8, ACCEPT)]})  # This is refused, and tries the fetch nevertheless.
    assert alice.acquired(waiting.answer) == {P0: [(0, 0, 2)]}


def test_only_the_first_partition_gives_a_batch_beyond_its_share_of_the_bytes(share: ShareRig) -> None:
    share.produce(5, 5)
    share.produce(5, 5, partition=1)
    alice = share.session("alice")
    assert alice.acquired(alice.fetch(P0, P1, max_bytes=2)) == {P0: [(0, 4, 1)]}


def test_partitions_whose_place_in_the_log_is_known_are_read_apart(share: ShareRig) -> None:
    share.produce(5)
    share.produce(5, partition=1)
    ben = share.session("ben")
    ben.fetch(P1, min_bytes=1000, max_bytes=1000, max_wait_ms=500)  # It learns the place, and gets the batch when its wait is over.
    share.rig.sleep(500)
    ben.acknowledge({P1: [(0, 4, RELEASE)]})
    alice = share.session("alice")
    assert alice.acquired(alice.fetch(P0, P1, max_bytes=2)) == {P0: [(0, 4, 1)], P1: [(0, 4, 2)]}


def test_bytes_go_on_to_the_limit_behind_the_last_batch_that_was_read(share: ShareRig) -> None:
    share.produce(1, 1, 1)
    alice = share.session("alice")
    answer = alice.fetch(P0, max_bytes=100)
    assert alice.acquired(answer) == {P0: [(0, 0, 1)]}
    assert len(answer.responses[0].partitions[0].records) == 100
