"""Fetch answers like Apache Kafka 4.3.0 (v0-v3: 3.9.1 and 2.8.2), recorded on 2026-11-21. The log holds eight records in six batches."""

from __future__ import annotations

from typing import Any

from cases import for_each
from log_world import LogWorld, batch, fetch_request, shown

from groupmock.core.effects import Reply
from groupmock_codec.message_sets import read_message_set
from groupmock_codec.messages.k01_fetch import FetchPartition, FetchRequest, FetchTopic
from groupmock_codec.messages.k20_delete_topics import DeleteTopicsRequest
from groupmock_codec.messages.k21_delete_records import DeleteRecordsPartition, DeleteRecordsRequest, DeleteRecordsTopic
from groupmock_codec.records import read_batches

SMALL = 170  # Size of the first five batches in bytes, each with one record of 100 bytes.
LAST = 232  # Size of the sixth batch in bytes, with three records of 50 bytes.
ALL = 5 * SMALL + LAST


def filled(nodes: int = 1, **settings: Any) -> LogWorld:
    world = LogWorld(nodes=nodes, **settings)
    world.topic("t", partitions=2, node=1)
    world.append(*(batch(bytes([place]) * 100) for place in range(5)), batch(*[b"q" * 50] * 3))
    sizes = [len(each.data) for each in world.topics.batches("t", 0)]
    assert (sum(sizes), sizes[-1]) == (ALL, LAST)
    return world


def row(world: LogWorld, offset: int = 0, **how: Any) -> tuple[int, int]:
    """Return error code and number of bytes for partition 0."""
    found = world.fetch(offset, **how)
    return found.error_code, len(found.records or b"")


@for_each("version", [4, 6, 11, 12, 18])
def test_every_batch_from_the_beginning(version: int) -> None:
    world = filled()
    found = shown(world.fetch(version=version))
    assert len(found.pop("records")) == ALL
    assert found.pop("aborted_transactions") is None
    expected = {"high_watermark": 8, "last_stable_offset": 8} | ({"log_start_offset": 0} if version >= 5 else {})
    assert found == expected


def test_read_committed_lists_no_aborted_transactions() -> None:
    assert filled().fetch(isolation_level=1).aborted_transactions == []


def test_an_isolation_level_that_does_not_exist() -> None:
    answer = filled().show(1, 11, fetch_request(("t", 0, 0), isolation_level=7))
    assert (answer["error_code"], answer["responses"][0]["partitions"][0]["error_code"]) == (-1, -1)


# Each row has a label, the offset, fields of the partition, fields of the request, and the expected error code and bytes.
LIMITS: list[tuple[str, int, dict[str, int], dict[str, int], tuple[int, int]]] = [
    ("end of the log", 8, {}, {}, (0, 0)),
    ("beyond the end", 9, {}, {}, (1, 0)),
    ("below the start", -1, {}, {}, (1, 0)),
    ("inside a batch", 6, {}, {}, (0, LAST)),
    ("partition max 1: the first batch comes whole", 0, {"partition_max_bytes": 1}, {}, (0, SMALL)),
    ("partition max 0", 0, {"partition_max_bytes": 0}, {}, (0, SMALL)),
    ("partition max -1", 0, {"partition_max_bytes": -1}, {}, (-1, 0)),
    ("partition max 400: the last batch is cut", 0, {"partition_max_bytes": 400}, {}, (0, 400)),
    ("request max 300", 0, {}, {"max_bytes": 300}, (0, 300)),
    ("request max 0", 0, {}, {"max_bytes": 0}, (0, SMALL)),
    ("request max -1", 0, {}, {"max_bytes": -1}, (-1, 0)),
    ("leader epoch known", 0, {"current_leader_epoch": 0}, {}, (0, ALL)),
    ("leader epoch not yet known", 0, {"current_leader_epoch": 1}, {}, (75, 0)),
    ("no leader epoch", 0, {"current_leader_epoch": -2}, {}, (0, ALL)),
    ("a follower that is none", 0, {}, {"replica_id": 9}, (6, 0)),
    ("a debugging consumer", 0, {}, {"replica_id": -2}, (0, ALL)),
]


@for_each(("offset", "partition", "request_", "expected"), [case[1:] for case in LIMITS], ids=[case[0] for case in LIMITS])
def test_limits_and_fences(offset: int, partition: dict[str, int], request_: dict[str, int], expected: tuple[int, int]) -> None:
    assert row(filled(), offset, partition=partition, **request_) == expected


@for_each("version", [4, 11])
def test_of_a_partition_listed_twice_the_last_counts(version: int) -> None:
    (topic,) = filled().ask(1, version, fetch_request(("t", 0, 0), ("t", 0, 5))).responses
    assert [len(each.records) for each in topic.partitions] == [LAST]


def test_the_broker_has_a_limit_too() -> None:
    assert row(filled(fetch_max_bytes=1024)) == (0, 1024)
    assert row(filled(fetch_answer_max_bytes=1024)) == (0, 1024)


@for_each(("first", "limit", "sizes"), [(4, 100, [SMALL, 0]), (5, 300, [LAST, 0]), (5, 301, [LAST, 69])])
def test_only_the_first_batch_of_an_answer_may_be_too_large(first: int, limit: int, sizes: list[int]) -> None:
    world = filled()
    world.topic("u")
    world.append(batch(), topic="u")
    answer = world.ask(1, 11, fetch_request(("t", 0, first), ("u", 0, 0), max_bytes=limit, isolation_level=1))
    assert [len(topic.partitions[0].records) for topic in answer.responses] == sizes
    assert [topic.partitions[0].aborted_transactions for topic in answer.responses] == [[], None if limit - LAST in range(1, 69) else []]


ABSENT: list[tuple[str, int, str, int, int]] = [
    ("unknown topic", 11, "nope", 0, 3),
    ("impossible name", 11, "a b", 0, 3),
    ("unknown partition", 11, "t", 9, 3),
    ("negative partition", 11, "t", -1, 3),
    ("unknown partition, by id", 18, "t", 9, 3),
]


@for_each(("version", "topic", "partition", "code"), [case[1:] for case in ABSENT], ids=[case[0] for case in ABSENT])
def test_what_is_not_there(version: int, topic: str, partition: int, code: int) -> None:
    world = filled()
    answer = world.show(1, version, fetch_request((topic, partition, 0), version=version, world=world))
    (found,) = answer["responses"][0]["partitions"]
    index = {"partition_index": partition} if partition else {}
    assert found == {**index, "error_code": code, "high_watermark": -1, "records": b""}


@for_each("topic_id", [b"\6" * 16, bytes(16)])
def test_an_unknown_topic_id(topic_id: bytes) -> None:
    request = FetchRequest(topics=[FetchTopic(topic_id=topic_id, partitions=[FetchPartition(partition_max_bytes=9)])])
    assert filled().ask(1, 18, request).responses[0].partitions[0].error_code == 100


def test_the_wrong_node_hints_at_the_leader_from_v16_on() -> None:
    world = filled(nodes=2)
    assert row(world, node=2) == (6, 0)
    answer = world.show(1, 18, fetch_request(("t", 0, 0), version=18, world=world), node=2)
    assert answer["responses"][0]["partitions"][0]["current_leader"] == {"leader_id": 1, "leader_epoch": 0}
    assert answer["node_endpoints"] == [{"node_id": 1, "host": "127.0.0.1", "port": 9092}]


@for_each(("version", "code"), [(10, 6), (11, 0), (18, 0)])
def test_a_follower_serves_consumers_from_v11_on(version: int, code: int) -> None:
    world = LogWorld(nodes=2)
    world.topics.add(world.turn(), "t", [[1, 2]], {})
    world.append(batch())
    assert world.fetch(version=version, node=2).error_code == code


def test_a_moved_leader_fences_the_old_epoch() -> None:
    world = filled(nodes=2)
    world.topics.lead(world.turn(), "t", 0, 2)
    assert row(world, node=2, partition={"current_leader_epoch": 0}) == (74, 0)
    assert row(world, node=1) == (6, 0)
    assert row(world, node=2, partition={"current_leader_epoch": 1}) == (0, ALL)


DIVERGENCE: list[tuple[int, int, int, dict[str, int] | None]] = [
    # Each row has the last fetched epoch, the offset, the expected error code and the diverging epoch.
    (0, 0, 0, None),
    (1, 3, 1, None),
    (0, 20, 0, {"epoch": 0, "end_offset": 8}),
    (-2, 0, 0, None),
]


@for_each(("epoch", "offset", "code", "diverging"), DIVERGENCE)
def test_divergence(epoch: int, offset: int, code: int, diverging: dict[str, int] | None) -> None:
    found = shown(filled().fetch(offset, version=12, partition={"last_fetched_epoch": epoch}))
    assert (found.get("error_code", 0), found.get("diverging_epoch")) == (code, diverging)


def test_an_epoch_that_wrote_nothing_diverges_at_any_offset() -> None:
    world = filled(nodes=2)
    world.topics.lead(world.turn(), "t", 0, 2)
    world.topics.lead(world.turn(), "t", 0, 1)
    found = shown(world.fetch(3, version=12, isolation_level=1, partition={"last_fetched_epoch": 1}))
    assert (found["diverging_epoch"], found["records"], found["aborted_transactions"]) == ({"epoch": 0, "end_offset": 8}, b"", None)


def test_divergence_after_a_new_leader_wrote() -> None:
    world = filled(nodes=2)
    world.topics.lead(world.turn(), "t", 0, 2)
    world.append(batch())
    found = shown(world.fetch(9, version=12, node=2, partition={"last_fetched_epoch": 0}))
    assert found["diverging_epoch"] == {"epoch": 0, "end_offset": 8}


# -- old versions


@for_each("version", [0, 1, 2, 3])
@for_each("compression", ["none", "gzip"])
def test_old_versions_get_message_sets(version: int, compression: str) -> None:
    world = LogWorld()
    world.topic()
    world.append(batch(b"a", b"b", timestamp=1000, compression=compression), batch(b"c", timestamp=2000))
    found = world.fetch(version=version)
    records = read_message_set(found.records)
    stamps = [-1, -1, -1] if version < 2 else [1000, 1001, 2000]
    assert [(record.offset, record.value, record.timestamp) for record in records] == [
        (offset, value, stamp) for offset, value, stamp in zip(range(3), (b"a", b"b", b"c"), stamps, strict=True)
    ]


def test_old_versions_cannot_get_other_compressions() -> None:
    world = LogWorld()
    world.topic()
    data = bytearray(batch())
    data[22] = 3  # The attributes of this batch say lz4, and the log does not inspect batches that the server itself appends.
    world.append(bytes(data))
    assert row(world, version=2) == (76, 0)
    assert row(world, version=4) == (0, len(data))


def test_v0_to_v2_have_no_minimum() -> None:
    world = filled()
    assert row(world, version=2, partition={"partition_max_bytes": 100}) == (0, 0)
    assert row(world, version=3, partition={"partition_max_bytes": 100})[1] > 100


# -- long poll


def waiting(world: LogWorld, offset: int = 8, wait: int = 300, **how: Any) -> int:
    return world.send(1, 11, fetch_request(("t", 0, offset), max_wait_ms=wait, **{"min_bytes": 1, **how}))


def test_a_fetch_waits_for_its_time() -> None:
    world = filled()
    ticket = waiting(world)
    world.sleep(299)
    assert world.outcome(ticket) == "parked"
    world.sleep(1)
    assert world.answers[ticket].responses[0].partitions[0].records == b""
    assert world.environment.timers.armed("fetch") == []


def test_an_append_wakes_it() -> None:
    world = filled()
    ticket = waiting(world)
    world.append(batch(), partition=1)
    assert world.outcome(ticket) == "parked"
    world.append(batch(b"new"))
    (found,) = read_batches(world.answers[ticket].responses[0].partitions[0].records)
    assert found.base_offset == 8
    world.sleep(1000)
    assert len(world.topics.fetches) == 0


AT_ONCE: list[tuple[str, list[tuple[str, int, int]], dict[str, int], bool]] = [
    ("enough already", [("t", 0, 0)], {"min_bytes": ALL}, True),
    ("one byte short", [("t", 0, 0)], {"min_bytes": ALL + 1}, False),
    ("min bytes 0", [("t", 0, 8)], {"min_bytes": 0}, True),
    ("no wait", [("t", 0, 8)], {"max_wait_ms": 0}, True),
    ("negative wait", [("t", 0, 8)], {"max_wait_ms": -5}, True),
    ("no topics", [], {}, True),
    ("only unknown ones", [("nope", 0, 0)], {}, True),
    ("an unknown topic beside a known one", [("t", 0, 8), ("nope", 0, 0)], {}, False),
    ("an unknown partition beside a known one", [("t", 0, 8), ("t", 9, 0)], {}, False),
    ("out of range beside a known one", [("t", 0, 8), ("t", 1, 5)], {}, True),
    ("more than max bytes is never asked for", [("t", 0, 0)], {"min_bytes": 10_000, "max_bytes": 500}, True),
    ("more than the partition's max bytes is", [("t", 0, 0)], {"min_bytes": 10_000}, False),
]


@for_each(("wanted", "how", "at_once"), [case[1:] for case in AT_ONCE], ids=[case[0] for case in AT_ONCE])
def test_what_is_answered_at_once(wanted: list[tuple[str, int, int]], how: dict[str, int], at_once: bool) -> None:
    world = filled()
    ticket = world.send(1, 11, fetch_request(*wanted, **{"max_wait_ms": 300, "min_bytes": 1, **how}))
    assert world.outcome(ticket) == ("answered" if at_once else "parked")


def test_min_bytes_are_counted_over_partitions_and_appends() -> None:
    world = filled()
    ticket = world.send(1, 11, fetch_request(("t", 0, 8), ("t", 1, 0), max_wait_ms=300, min_bytes=130))
    world.append(batch())
    assert world.outcome(ticket) == "parked"
    world.append(batch(), partition=1)
    assert [len(each.records) for each in world.answers[ticket].responses[0].partitions] == [69, 69]


@for_each(("limit", "min_bytes", "outcome"), [(0, 1, "parked"), (68, 69, "parked"), (69, 69, "answered"), (68, 68, "answered")])
def test_what_comes_counts_up_to_the_partitions_limit(limit: int, min_bytes: int, outcome: str) -> None:
    """For min_bytes only the part of a batch up to the partition's limit counts, although the answer then contains the whole batch
    (2.8.2, recorded on 2026-11-21)."""
    world = filled()
    asked = fetch_request(("t", 0, 8), partition={"partition_max_bytes": limit}, max_wait_ms=300, min_bytes=min_bytes, max_bytes=1 << 20)
    ticket = world.send(1, 11, asked)
    world.append(batch())
    assert world.outcome(ticket) == outcome
    world.sleep(300)
    assert len(world.answers[ticket].responses[0].partitions[0].records) == 69


def test_a_closed_connection_takes_its_fetch_along() -> None:
    world = filled()
    ticket = waiting(world)
    world.hang_up()
    assert (len(world.topics.fetches), world.environment.timers.armed("fetch")) == (0, [])
    world.append(batch())
    assert world.outcome(ticket) == "lost"


def test_deleting_a_topic_ends_the_wait() -> None:
    world = filled()
    world.topic("u")
    ticket = world.send(1, 11, fetch_request(("t", 0, 8), ("u", 0, 0), max_wait_ms=300, min_bytes=1))
    assert world.ask(20, 3, DeleteTopicsRequest(topic_names=["u"])).responses[0].error_code == 0
    rows = [shown(topic.partitions[0]) for topic in world.answers[ticket].responses]
    assert rows[1] == {"error_code": 3, "high_watermark": -1, "aborted_transactions": None, "records": b""}


def answer_of(reply: Reply) -> Any:
    return reply.message


def test_moving_the_leader_ends_the_wait() -> None:
    world = filled(nodes=2)
    ticket = waiting(world)
    turn = world.turn()
    world.topics.lead(turn, "t", 0, 2)
    assert [answer_of(effect).responses[0].partitions[0].error_code for effect in turn.out if isinstance(effect, Reply)] == [6]
    assert ticket not in world.answers and len(world.topics.fetches) == 0


@for_each("woken_by", ["append", "time"])
def test_deleted_records_make_a_waiting_fetch_out_of_range_when_it_looks_again(woken_by: str) -> None:
    world = filled()
    ticket = waiting(world, offset=7, min_bytes=10_000, max_bytes=20_000)
    deletion = DeleteRecordsTopic(name="t", partitions=[DeleteRecordsPartition(partition_index=0, offset=8)])
    world.ask(21, 1, DeleteRecordsRequest(topics=[deletion]))
    assert world.outcome(ticket) == "parked"
    if woken_by == "append":
        world.append(batch())
    else:
        world.sleep(300)
    assert world.answers[ticket].responses[0].partitions[0].error_code == 1
