"""Answers list partitions in Kafka's order, name those that are due, and take turns (SG-189)."""

from __future__ import annotations

from share_rig import GROUP, ShareRig

from groupmock.core.share import answers
from groupmock.core.share.sessions import ShareSession, Slot
from groupmock.core.share.states import RecordStates, RunCount
from groupmock.core.share.stored import Stored
from groupmock_codec.acknowledge_types import RELEASE

P0, P1 = ("orders", 0), ("orders", 1)
TOPIC = bytes.fromhex("390dfab100e2421bb7b862674e6a3a8a")
"""A topic id of Kafka 4.4.0, whose answers listed the partitions of the topic t in the order below."""


def test_partitions_come_in_the_order_of_scala_maps() -> None:
    slots = [(TOPIC, index) for index in range(8)]
    names = dict.fromkeys(slots, "t")
    few, many = answers.in_order(slots[:3], names), answers.in_order(slots, names)
    assert sorted(few) == slots[:3] and sorted(many) == slots
    assert [index for _, index in answers.in_order(slots[::-1], names)] == [index for _, index in many]
    assert [index for _, index in many] != list(range(8))


def test_partitions_that_are_only_acknowledged_follow_the_others() -> None:
    other = bytes(15) + b"\x01"
    before: list[Slot] = [(TOPIC, 3)]
    assert answers.behind([(other, 2), (TOPIC, 5), (TOPIC, 1)], before) == [(TOPIC, 1), (TOPIC, 5), (other, 2)]


def test_a_partition_that_joins_a_session_is_named_once_without_records(share: ShareRig) -> None:
    alice = share.session("alice")
    alice.fetch(P0, max_wait_ms=0)
    answer = alice.fetch(P1, max_wait_ms=0)
    assert [row.partition_index for row in answer.responses[0].partitions] == [1]
    assert alice.fetch(max_wait_ms=0).responses == []


def test_a_fetch_begins_with_another_partition_each_time() -> None:
    session = ShareSession(GROUP, "alice", 1, 1, {(TOPIC, index): "t" for index in range(3)})
    tried = set(session.slots)
    orders = [[index for _, index in session.in_order(epoch, tried)] for epoch in (0, 1, 2, 3)]
    assert orders == [[0, 1, 2], [1, 2, 0], [2, 0, 1], [0, 1, 2]]
    session.gave([(TOPIC, 0)])
    assert [index for _, index in session.in_order(0, tried)] == [1, 2, 0]
    assert [index for _, index in session.in_order(1, tried - {(TOPIC, 2)})] == [0, 1, 2], "those that are not tried take no turns"


def test_a_stored_start_offset_never_goes_back() -> None:
    stored = Stored(1, 8, done=3)
    stored.write(RecordStates(5, RunCount()))
    assert (stored.start_offset, stored.done) == (8, 3)


def test_deliveries_of_a_limit_of_five_are_throttled_from_the_third_on(share: ShareRig) -> None:
    share.produce(8)
    alice = share.session("alice")
    sizes: list[int] = []
    for _ in range(4):
        runs = alice.take(P0) if not sizes else alice.take()
        sizes.append(sum(last - first + 1 for first, last, _ in runs))
        alice.acknowledge({P0: [(first, last, RELEASE) for first, last, _ in runs]})
    assert sizes == [8, 8, 8, 4]
