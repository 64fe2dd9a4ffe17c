"""Offsets in transactions: permission, visibility while the transaction is open, and the result (docs/kafka/transactions.md, TX-70 to
TX-78)."""

from __future__ import annotations

from typing import Any, Final

from cases import for_each
from offsets_world import OffsetsWorld
from transaction_world import Pid

from groupmock.core.groups.offsets.committed import Offset
from groupmock.core.groups.offsets.offset_records import transactional_batch
from groupmock.core.java.hashes import partition_for
from groupmock.core.work import at_once
from groupmock_codec.messages.k09_offset_fetch import OffsetFetchRequest
from groupmock_codec.messages.k11_join_group import JoinGroupRequest, JoinGroupRequestProtocol
from groupmock_codec.messages.k13_leave_group import LeaveGroupRequest
from groupmock_codec.messages.k16_list_groups import ListGroupsRequest
from groupmock_codec.messages.k28_txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
)
from groupmock_codec.messages.k42_delete_groups import DeleteGroupsRequest
from groupmock_codec.messages.k47_offset_delete import OffsetDeleteRequest, OffsetDeleteRequestPartition, OffsetDeleteRequestTopic
from groupmock_codec.records import decode_records

UNSTABLE: Final = (88, -1, -1, "")
NONE: Final = (0, -1, -1, "")


# -- what is seen of them: TX-70 to TX-72


def test_pending_offsets_are_invisible_and_88_where_a_stable_one_is_wanted() -> None:
    world = OffsetsWorld()
    world.plain(3)
    pid = world.begin()
    assert [world.txn(pid, 5), world.txn(pid, 6, partition=1)] == [0, 0]
    assert [world.seen(version=each)[:2] for each in (1, 5, 7)] == [(0, 3)] * 3
    assert [world.seen(stable=True), world.seen(1), world.seen(1, stable=True)] == [UNSTABLE, NONE, UNSTABLE]
    assert world.all_seen() == [(0, 88, -1)], "one that is only pending is not listed"
    world.end(pid)
    assert [world.seen(stable=True), world.seen(1, stable=True)] == [(0, 5, -1, "m"), (0, 6, -1, "m")]


@for_each("how", ["abort", "fencing", "timeout"])
def test_an_abort_takes_them_back(how: str) -> None:
    world = OffsetsWorld()
    world.plain(7)
    pid = world.begin()
    world.txn(pid, 5)
    if how == "abort":
        world.end(pid, False)
    elif how == "fencing":
        world.init()
    else:
        world.sleep(100_000)
    assert world.seen(stable=True)[:2] == (0, 7)


def test_the_last_one_counts_and_a_smaller_one_is_taken() -> None:
    world = OffsetsWorld()
    world.plain(9)
    pid = world.begin()
    world.txn(pid, 8)
    world.txn(pid, 2)
    world.end(pid)
    assert world.seen()[:2] == (0, 2)


def test_what_was_written_later_stands_whatever_ends_last() -> None:
    world = OffsetsWorld()
    pid = world.begin()
    world.txn(pid, 5)
    world.plain(7)
    assert [world.seen()[1], world.seen(stable=True)] == [7, UNSTABLE]
    world.end(pid)
    assert world.seen(stable=True)[:2] == (0, 7)
    one, two = world.begin("one"), world.begin("two")
    world.txn(one, 10, name="one")
    world.txn(two, 20, name="two")
    world.end(two, name="two")
    assert [world.seen()[1], world.seen(stable=True)] == [20, UNSTABLE]
    world.end(one, name="one")
    assert world.seen(stable=True)[:2] == (0, 20)
    late = world.begin("one")
    world.txn(late, 30, name="one")
    world.end(late, name="one")
    assert world.seen(stable=True)[:2] == (0, 30), "and the next one counts again"


# -- who may: TX-73 to TX-75


def test_without_the_group_in_the_transaction() -> None:
    world = OffsetsWorld()
    pid = world.init()
    assert [world.txn(pid, version=each) for each in range(6)] == [48, 48, 48, 48, 120, 0]
    assert (world.state()[0], [each.topic for each in world.described()[0].topics]) == ("Ongoing", ["__consumer_offsets"])


def test_at_v5_a_refused_member_has_begun_the_transaction_and_an_unknown_topic_has_not() -> None:
    world = OffsetsWorld()
    pid = world.init()
    assert [world.txn(pid, version=5, topic="nowhere"), world.state()[0]] == [3, "Empty"]
    assert [world.txn(pid, version=5, generation_id=4, member_id="x"), world.state()[0]] == [22, "Ongoing"]


def test_the_order_of_errors() -> None:
    world = OffsetsWorld()
    pid = world.init()
    long = {"metadata": "m" * 4097}
    bad = {"generation_id": 4, "member_id": "x", **long}
    older = pid.older(-1)
    found = [
        world.txn(Pid(99, 9), topic="nowhere", group="", **bad),
        world.txn(Pid(99, 9), group="", **bad),
        world.txn(Pid(99, 9), **bad),
        world.txn(older, name="other", **bad),
        world.txn(older, **bad),
        world.txn(pid, **bad),
    ]
    world.offsets(pid)
    found += [world.txn(pid, **bad), world.txn(pid, **long), world.txn(pid, -7, metadata=None)]
    assert found == [3, 24, 49, 49, 47, 48, 22, 12, 0]


def test_with_the_transaction_open_its_id_is_not_looked_at() -> None:
    world = OffsetsWorld()
    world.begin()
    pid = world.begin()
    world.txn(pid)
    assert [world.txn(pid, name="other"), world.txn(pid, name=""), world.txn(pid.older())] == [0, 0, 47]


def test_where_nothing_is_there_the_others_go_on() -> None:
    world = OffsetsWorld()
    pid = world.begin()
    rows = [TxnOffsetCommitRequestPartition(partition_index=each, committed_offset=4) for each in (0, 9, 1)]
    asked = TxnOffsetCommitRequest(
        transactional_id="x",
        group_id="g",
        producer_id=pid.id,
        producer_epoch=pid.epoch,
        topics=[TxnOffsetCommitRequestTopic(name="t", partitions=rows)],
    )
    answer = world.ask(28, 3, asked)
    assert [(row.partition_index, row.error_code) for row in answer.topics[0].partitions] == [(9, 3), (0, 0), (1, 0)]
    assert world.ask(28, 3, TxnOffsetCommitRequest(transactional_id="x", group_id="g", producer_id=pid.id)).topics == []


def test_another_node_does_not_coordinate_the_group() -> None:
    world = OffsetsWorld(nodes=2)
    pid = world.init(node=world.coordinator().node_id)
    other = 2 - partition_for("g", 50) % 2
    assert world.txn(pid, node=other) == 16


MEMBERS: Final[list[tuple[str, str, int, str, str | None, tuple[int, int]]]] = [
    # Each row has group, generation, member id ("me": the real one), instance, and the error codes of Kafka 4.3 and 3.9.
    ("nobody", "no group", -1, "", None, (0, 0)),
    ("an id", "no group", -1, "any", None, (0, 0)),
    ("a generation", "no group", 3, "any", None, (22, 25)),
    ("a generation of nobody", "no group", 0, "", None, (22, 25)),
    ("nobody", "Empty", -1, "", None, (0, 0)),
    ("an id", "Empty", -1, "any", None, (0, 0)),
    ("generation 0", "Empty", 0, "", None, (25, 25)),
    ("nobody", "Stable", -1, "", None, (0, 0)),
    ("itself", "Stable", 1, "me", None, (0, 0)),
    ("of a former generation", "Stable", 0, "me", None, (22, 22)),
    ("of a later one", "Stable", 2, "me", None, (22, 22)),
    ("a stranger", "Stable", 9, "ghost", None, (25, 25)),
    ("without generation", "Stable", -1, "me", None, (22, 22)),
    ("without id", "Stable", 1, "", None, (25, 25)),
    ("an instance of nobody", "Stable", 1, "me", "ghost", (25, 25)),
    ("its instance", "static", 1, "me", "i", (0, 0)),
    ("another's instance", "static", 1, "other", "i", (82, 82)),
    ("an instance without id", "static", -1, "", "i", (82, 82)),
    ("without its instance", "static", 1, "me", None, (0, 0)),
]


def member_case(profile: str, state: str, generation: int, member_id: str, instance: str | None) -> int:
    world = OffsetsWorld(profile)
    me = ""
    if state in ("Stable", "static"):
        me = world.member("i" if state == "static" else None)
    elif state == "Empty":
        world.plain(1)
    who = {"generation_id": generation, "member_id": me if member_id == "me" else member_id, "group_instance_id": instance}
    return world.txn(world.begin(), **who)


CALLED: Final = [f"{each[1]}: {each[0]}" for each in MEMBERS]


@for_each("state, generation, member_id, instance, wanted", [each[1:] for each in MEMBERS], ids=CALLED)
def test_which_member_may(state: str, generation: int, member_id: str, instance: str | None, wanted: tuple[int, int]) -> None:
    found = [member_case(profile, state, generation, member_id, instance) for profile in ("groupmock", "kafka-3.9")]
    assert tuple(found) == wanted


IDS_SINCE: Final = 6


def commit_by_id(world: OffsetsWorld, pid: Pid, *topics: tuple[bytes, list[int]], version: int = IDS_SINCE, **by: Any) -> Any:
    """Return the topics of the answer to a TxnOffsetCommit: [(topic id, [(partition, error), ...]), ...]."""
    rows = [
        TxnOffsetCommitRequestTopic(
            topic_id=each, partitions=[TxnOffsetCommitRequestPartition(partition_index=number, committed_offset=5) for number in partitions]
        )
        for each, partitions in topics
    ]
    by = {"transactional_id": "x", "group_id": "g"} | by
    asked = TxnOffsetCommitRequest(producer_id=pid.id, producer_epoch=pid.epoch, topics=rows, **by)
    answer = world.ask(28, version, asked)
    assert {each.name for each in answer.topics} <= {""}
    return [(each.topic_id, [(row.partition_index, row.error_code) for row in each.partitions]) for each in answer.topics]


def test_a_transactional_commit_by_topic_ids_is_answered_as_kafka_4_4_does() -> None:
    """Refused topics come first and are joined by their ids; an unknown topic is named even without partitions."""
    world = OffsetsWorld()
    pid, topic, other, zero = world.begin(), world.topic_id("t"), b"\1" * 16, bytes(16)
    assert commit_by_id(world, pid, (topic, [0])) == [(topic, [(0, 0)])]
    assert commit_by_id(world, pid, (topic, [0]), (topic, [1])) == [(topic, [(0, 0)]), (topic, [(1, 0)])]
    assert commit_by_id(world, pid, (topic, [0, 9]), (other, [0]), (zero, [1]), (other, [1]), (topic, [1])) == [
        (topic, [(9, 3), (0, 0), (1, 0)]),
        (other, [(0, 100), (1, 100)]),
        (zero, [(1, 100)]),
    ]
    assert commit_by_id(world, pid, (other, []), (topic, [])) == [(other, [])]
    assert commit_by_id(world, pid, (other, []), (topic, [0])) == [(other, []), (topic, [(0, 0)])]
    world.end(pid)
    assert world.seen()[:2] == (0, 5)


@for_each("profile, version", [("kafka-3.9", 4), ("kafka-4.3", 5)])
def test_a_transactional_commit_names_an_unknown_topic_without_partitions(profile: str, version: int) -> None:
    world = OffsetsWorld(profile)
    pid, empty = world.begin(), TxnOffsetCommitRequestTopic(name="nowhere", partitions=[])
    known = TxnOffsetCommitRequestTopic(name="t", partitions=[TxnOffsetCommitRequestPartition(partition_index=0)])
    asked = TxnOffsetCommitRequest(transactional_id="x", group_id="g", producer_id=pid.id, producer_epoch=pid.epoch, topics=[known, empty])
    assert [(each.name, len(each.partitions)) for each in world.ask(28, version, asked).topics] == [("nowhere", 0), ("t", 1)]


@for_each(
    "by, wanted",
    [
        ({}, 0),
        ({"member_id": "m"}, 0),
        ({"generation_id": -2}, 0),
        ({"generation_id": 0, "member_id": "m"}, 69),
        ({"generation_id": 3}, 69),
        ({"generation_id": 3, "group_id": ""}, 24),
    ],
)
def test_an_unknown_group_is_said_to_be_unknown_since_version_6(by: dict[str, Any], wanted: int) -> None:
    world = OffsetsWorld()
    pid = world.begin()
    assert commit_by_id(world, pid, (world.topic_id("t"), [0]), **by)[0][1] == [(0, wanted)]


def test_a_refusal_by_the_producer_comes_before_one_by_the_group() -> None:
    world = OffsetsWorld()
    pid, topic = world.init(), world.topic_id("t")
    stale = {"generation_id": 3, "member_id": "m"}
    assert commit_by_id(world, Pid(99, 0), (topic, [0]), **stale)[0][1] == [(0, 49)]
    assert commit_by_id(world, pid.older(-1), (topic, [0]), **stale)[0][1] == [(0, 47)]
    assert commit_by_id(world, pid, (b"\1" * 16, [0]), (topic, [0]), **stale) == [(b"\1" * 16, [(0, 100)]), (topic, [(0, 69)])]


def test_while_the_group_rebalances() -> None:
    """TxnOffsetCommit ignores PreparingRebalance and CompletingRebalance, and its versions 0 to 2 have no member."""
    world = OffsetsWorld()
    me, pid = world.member(), world.begin()
    protocols = [JoinGroupRequestProtocol(name="range", metadata=b"")]
    asked = JoinGroupRequest(
        group_id="g", session_timeout_ms=10_000, rebalance_timeout_ms=10_000, protocol_type="consumer", protocols=protocols
    )
    world.send(11, 3, asked, connection=None)
    preparing = (world.group_state()[0], world.txn(pid, generation_id=1, member_id=me))
    asked = JoinGroupRequest(**{**{name: getattr(asked, name) for name in asked.__struct_fields__}, "member_id": me})
    world.send(11, 3, asked, connection=None)
    completing = world.group_state()[0], [world.txn(pid, generation_id=each, member_id=me) for each in (2, 1)]
    assert (preparing, completing) == (("PreparingRebalance", 0), ("CompletingRebalance", [0, 22]))
    assert [world.txn(pid, version=each) for each in range(3)] == [0, 0, 0]


def test_after_a_leave() -> None:
    world = OffsetsWorld()
    me = world.member()
    world.ask(13, 1, LeaveGroupRequest(group_id="g", member_id=me))
    assert world.txn(world.begin(), generation_id=1, member_id=me) == 25


# -- groups and offsets that go: TX-77


def test_a_group_of_pending_offsets_alone_is_there() -> None:
    world = OffsetsWorld()
    world.txn(world.begin())
    listed = world.ask(16, 4, ListGroupsRequest()).groups
    assert (world.group_state(), [each.group_id for each in listed]) == (("Empty", ""), ["g"])


def test_a_deleted_group_takes_them_along() -> None:
    world = OffsetsWorld()
    pid = world.begin()
    world.txn(pid)
    assert world.ask(42, 1, DeleteGroupsRequest(groups_names=["g"])).results[0].error_code == 0
    assert (world.end(pid), world.seen(), world.group_state()[0]) == (0, NONE, "Dead")


def test_deleted_offsets_do_not_come_back() -> None:
    world = OffsetsWorld()
    world.plain(1)
    pid = world.begin()
    world.txn(pid)
    topics = [OffsetDeleteRequestTopic(name="t", partitions=[OffsetDeleteRequestPartition(partition_index=0)])]
    assert world.ask(47, 0, OffsetDeleteRequest(group_id="g", topics=topics)).topics[0].partitions[0].error_code == 0
    world.end(pid)
    assert world.seen() == NONE


def test_they_survive_members_retention_and_a_move() -> None:
    world = OffsetsWorld(nodes=2, offsets_retention_minutes=1, offsets_retention_check_interval_ms=1000)
    world.command("move_leader", topic="__transaction_state", partition=0, node=1) if "__transaction_state" in world.topics else None
    node = world.coordinator().node_id
    pid = world.init(node=node, timeout=900_000)
    leader = world.cluster.groups.hosting.node_of("g") or 1
    world.offsets(pid, node=node)
    world.txn(pid, node=leader)
    world.sleep(120_000)
    world.command("move_coordinator", group="g", node=3 - leader)
    world.end(pid, node=node)
    group = world.cluster.groups.find("g")
    assert group is not None and group.offsets["t", 0].offset == 5


def test_a_deleted_topic_takes_them_along() -> None:
    world = OffsetsWorld()
    pid = world.begin()
    world.txn(pid)
    world.command("delete_topic", name="t")
    world.end(pid)
    world.topic("t", 2)
    assert world.seen(stable=True) == NONE


def test_the_older_coordinator_keeps_a_group_until_its_transactions_end() -> None:
    """Deleting any topic also deletes Empty groups without offsets, unless a transaction has pending offsets for them."""
    seen = []
    for profile in "kafka-4.3", "kafka-3.9":
        world = OffsetsWorld(profile)
        pid = world.begin()
        world.txn(pid)
        topics = [OffsetDeleteRequestTopic(name="t", partitions=[OffsetDeleteRequestPartition(partition_index=0)])]
        world.ask(47, 0, OffsetDeleteRequest(group_id="g", topics=topics))
        states = [world.group_state()[0]]
        for ends in False, True:
            if ends:
                world.end(pid)
            world.topic("other")
            world.command("delete_topic", name="other")
            states.append(world.group_state()[0])
        seen.append(states)
    assert seen == [["Empty"] * 3, ["Empty", "Empty", "Dead"]]


def test_offsets_of_one_transaction_are_listed_as_they_waited() -> None:
    """Two topics share a slot in Kafka 4.3's tables, and each copy into another table reverses their order."""
    world = OffsetsWorld()
    same = ["Aa", "BB"]
    for name in same:
        world.topic(name)
    pid = world.begin()
    for name in same:
        world.txn(pid, topic=name)
    world.end(pid)
    answer = world.ask(9, 7, OffsetFetchRequest(group_id="g", topics=None))
    assert [topic.name for topic in answer.topics] == same


def test_what_adds_on_the_way_is_checked_whatever_is_set() -> None:
    """Kafka verifies a Produce that adds its partition even if verification is switched off (TX-95)."""
    world = OffsetsWorld("kafka-4.3", transaction_partition_verification_enable=False)
    nobody = [Pid(70 + each, 0) for each in range(4)]
    assert [world.write(nobody[0], version=11), world.write(nobody[1], version=12, name="nobody")] == [0, 49]
    assert [world.txn(nobody[2], version=4), world.txn(nobody[3], version=5, name="nobody")] == [0, 49]


# -- the epochs of 3.9: TX-69, TX-71


def test_amid_a_transaction_3_9_asks_nobody_about_other_epochs() -> None:
    seen = []
    for profile in "kafka-4.3", "kafka-3.9":
        world = OffsetsWorld(profile)
        pid = world.begin()
        world.add(pid)
        world.write(pid)
        seen.append([world.write(pid.older(-1), 1), world.txn(pid), world.txn(pid.older(-1))])
    assert seen == [[47, 0, 47], [45, 0, 0]]


def test_what_the_log_of_offsets_refuses_takes_along_what_was_pending_on_3_9() -> None:
    seen = []
    for profile in "kafka-4.3", "kafka-3.9":
        world = OffsetsWorld(profile)
        older = world.init()
        pid = world.begin()
        seen.append([world.txn(pid, 10), world.txn(pid, 11, partition=1), world.txn(older, 20), world.end(pid)])
        seen.append([world.seen()[1], world.seen(1)[1]])
    assert seen == [[0, 0, 47, 0], [10, 11], [0, 0, 47, 0], [-1, 11]]


def test_a_transaction_whose_marker_is_refused_never_ends() -> None:
    world = OffsetsWorld("kafka-3.9")
    pid = world.begin()
    world.add(pid)
    assert [world.write(pid), world.txn(pid), world.txn(pid.older(-1)), world.end(pid), world.end(pid)] == [0, 0, 0, 0, 51]
    row = world.described()[0]
    assert (row.transaction_state, [each.topic for each in row.topics]) == ("PrepareCommit", ["__consumer_offsets"])
    assert (world.markers(), world.init_code()) == ([(pid.id, 0, True)], (51, -1, -1))
    for command in "hold_markers", "release_markers":
        world.command(command, transactional_id="x")
    assert world.state()[0] == "PrepareCommit"


# -- the log: TX-78


def test_they_stand_in_the_log_of_offsets_before_the_marker() -> None:
    world = OffsetsWorld()
    pid = world.begin()
    world.txn(pid)
    place = partition_for("g", 50)
    log = world.topics.require_partition("__consumer_offsets", place)
    ends = [(log.stable(), log.end)]
    world.end(pid)
    first = next(log.batches())
    ends.append((log.stable(), log.end))
    assert (ends, first.transactional, first.producer_id, world.markers(place, "__consumer_offsets")) == (
        [(0, 1), (2, 2)], True, pid.id, [(pid.id, 0, True)],
    )  # fmt: skip
    key, value = decode_records(first)[0][2:4]
    assert (key, value and value[:14]) == (b"\x00\x01\x00\x01g\x00\x01t" + bytes(4), b"\x00\x04" + (5).to_bytes(8) + b"\xff" * 4)


def test_offsets_in_the_log_have_the_bytes_of_their_release() -> None:
    """The bytes equal those of Kafka 4.3.0 and 3.9.1 with metadata `m` and leader epoch 3; the sequence is always 0 (TX-78)."""
    head, offset = (5).to_bytes(8) + (3).to_bytes(4), Offset(5, 3, "m", 7, None)
    for old, version, metadata, tags in ((False, 4, b"\x02m", b"\x00"), (True, 3, b"\x00\x01m", b"")):
        written = at_once(transactional_batch("g", [(("t", 0), offset)], 9, 2, 7, old))
        value = decode_records(written)[0].value
        assert value == version.to_bytes(2) + head + metadata + (7).to_bytes(8) + tags
        assert (written.base_sequence, written.producer_id, written.producer_epoch) == (0, 9, 2)
    world = OffsetsWorld()
    pid = world.begin()
    world.txn(pid)
    world.txn(pid)
    state = world.topics.require_partition("__consumer_offsets", partition_for("g", 50)).producers.all()[pid.id]
    assert (state.last_sequence, len(state.batches)) == (0, 2)


def test_what_becomes_of_them_is_told() -> None:
    world = OffsetsWorld()
    for commit in True, False:
        pid = world.begin()
        world.txn(pid)
        world.end(pid, commit)
    assert [(note["group"], note["offsets"], note["cause"]) for note in world.notes("offsets_of_transaction")] == [
        ("g", 1, "transaction_committed"),
        ("g", 0, "transaction_aborted"),
    ]


def test_an_epoch_that_the_partition_knows_to_be_over_is_47_before_the_coordinator_is_asked() -> None:
    world = OffsetsWorld()
    old = world.begin()
    world.txn(old)
    world.init()
    assert [world.txn(old, name=""), world.txn(Pid(99, 0), name="")] == [47, 42], "of the other one the partition knows nothing"


# -- the old coordinator


@for_each(("profile", "left", "committed"), [("kafka-3.9", NONE, -1), ("kafka-4.3", UNSTABLE, 5)])
def test_a_refused_commit_takes_what_was_pending_along_before_4(profile: str, left: tuple[int, int, int, str], committed: int) -> None:
    world = OffsetsWorld(profile)
    world.init()
    pid = world.begin()
    assert [world.txn(pid, 5), world.txn(pid, 6, partition=1), world.txn(pid.older(), 7)] == [0, 0, 47]
    assert [world.seen(stable=True), world.seen(1, stable=True)] == [left, UNSTABLE]
    world.end(pid)
    assert [world.seen(stable=True)[1], world.seen(1, stable=True)[1]] == [committed, 6]


@for_each(("profile", "state"), [("kafka-3.9", "Dead"), ("kafka-4.3", "Empty")])
def test_a_topic_that_is_deleted_takes_groups_without_offsets_along(profile: str, state: str) -> None:
    """The deletion of any topic deletes groups without offsets, but groups with pending offsets stay."""
    world = OffsetsWorld(profile)
    world.topic("other")
    me = world.member()
    world.ask(13, 1, LeaveGroupRequest(group_id="g", member_id=me))
    pid = world.begin()
    world.txn(pid)
    world.command("delete_topic", name="other")
    assert world.group_state()[0] == "Empty"
    world.end(pid, False)
    world.topic("other")
    world.command("delete_topic", name="other")
    assert world.group_state()[0] == state


def test_a_group_that_was_added_has_its_marker_although_nobody_committed() -> None:
    """The marker tells the partition of the group that the producer's epoch has ended."""
    world = OffsetsWorld("kafka-3.9")
    pid = world.begin()
    world.sleep(100_000)
    assert [world.txn(pid), world.markers(partition_for("g", 50), "__consumer_offsets")] == [47, [(pid.id, pid.epoch + 1, False)]]


def test_a_transaction_keeps_the_group_whose_pending_offsets_are_deleted() -> None:
    """On the old coordinator OffsetDelete of the last offset deletes an Empty group, unless a transaction is open."""
    world = OffsetsWorld("kafka-3.9")
    pid = world.init(timeout=900_000)
    world.offsets(pid)
    world.txn(pid)
    topics = [OffsetDeleteRequestTopic(name="t", partitions=[OffsetDeleteRequestPartition(partition_index=0)])]
    assert world.ask(47, 0, OffsetDeleteRequest(group_id="g", topics=topics)).topics[0].partitions[0].error_code == 0
    world.sleep(700_000)
    assert (world.group_state()[0], world.seen(stable=True)) == ("Empty", NONE), "not even the sweep takes it"
    world.end(pid)
    assert world.ask(47, 0, OffsetDeleteRequest(group_id="g", topics=topics)).error_code == 0
    assert world.group_state()[0] == "Dead"


Rows = list[tuple[str, list[int]]]


@for_each(
    ("topics", "rows"),
    [
        ([("nope", [])], [("nope", [])]),
        ([("t", [])], []),
        ([("t", [0]), ("nope", []), ("t", [])], [("nope", []), ("t", [0])]),
    ],
)
def test_an_unknown_topic_without_partitions_is_named_in_the_answer(topics: Rows, rows: Rows) -> None:
    world = OffsetsWorld()
    pid = world.begin()
    listed = [
        TxnOffsetCommitRequestTopic(
            name=name, partitions=[TxnOffsetCommitRequestPartition(partition_index=index, committed_offset=1) for index in indexes]
        )
        for name, indexes in topics
    ]
    asked = TxnOffsetCommitRequest(
        transactional_id="x", group_id="g", producer_id=pid.id, producer_epoch=pid.epoch, topics=listed
    )
    answer = world.ask(28, 4, asked)
    assert [(topic.name, [row.partition_index for row in topic.partitions]) for topic in answer.topics] == rows
    assert {row.error_code for topic in answer.topics for row in topic.partitions} <= {0}
