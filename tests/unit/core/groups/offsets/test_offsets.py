"""OffsetCommit, OffsetFetch and OffsetDelete answer like Kafka (docs/kafka/offsets.md; P2-b2, P2-c13)."""

from __future__ import annotations

from typing import Any

from cases import for_each
from core_world import World, subscription

from groupmock.core.settings import Quirks
from groupmock.rig import Ask
from groupmock_codec.messages.k08_offset_commit import OffsetCommitRequest, OffsetCommitRequestPartition, OffsetCommitRequestTopic
from groupmock_codec.messages.k09_offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopic,
    OffsetFetchRequestTopics,
)
from groupmock_codec.messages.k47_offset_delete import OffsetDeleteRequest, OffsetDeleteRequestPartition, OffsetDeleteRequestTopic

TOPICS = {"t1": 4, "t2": 4}
Listed = list[tuple[str, list[int]]]


def commit(
    world: World, *topics: tuple[str, list[int]], version: int = 9, offset: int = 7, **how: Any
) -> list[tuple[str, list[tuple[int, int]]]]:
    """Send OffsetCommit and return the answer as (topic, [(partition, error code)])."""
    elements = [
        OffsetCommitRequestTopic(
            name=name,
            topic_id=world.cluster.topics.topic_id(name) or b"?" * 16,
            partitions=[
                OffsetCommitRequestPartition(partition_index=index, committed_offset=offset + at, **how) for at, index in enumerate(indexes)
            ],
        )
        for name, indexes in topics
    ]
    answer = world.send(OffsetCommitRequest(group_id="g", topics=elements), 8, version).answer
    return [(topic.name, [(one.partition_index, one.error_code) for one in topic.partitions]) for topic in answer.topics]


def fetch(world: World, listed: Listed | None, version: int, group: str = "g", **how: Any) -> Ask:
    if version < 8:
        topics = None if listed is None else [OffsetFetchRequestTopic(name=name, partition_indexes=indexes) for name, indexes in listed]
        return world.send(OffsetFetchRequest(group_id=group, topics=topics), 9, version, **how)
    wanted = None
    if listed is not None:
        ids = world.cluster.topics
        wanted = [OffsetFetchRequestTopics(name=n, topic_id=ids.topic_id(n) or b"?" * 16, partition_indexes=i) for n, i in listed]
    return world.send(OffsetFetchRequest(groups=[OffsetFetchRequestGroup(group_id=group, topics=wanted)]), 9, version, **how)


def fetched(asked: Ask, version: int) -> list[tuple[str, list[tuple[int, int, int, str | None, int]]]]:
    """Return the answer to OffsetFetch as (topic, [(partition, offset, epoch, metadata, error code)])."""
    topics = asked.answer.topics if version < 8 else asked.answer.groups[0].topics
    return [
        (one.name, [(p.partition_index, p.committed_offset, p.committed_leader_epoch, p.metadata, p.error_code) for p in one.partitions])
        for one in topics
    ]


@for_each("version", range(1, 11))
def test_commit_and_fetch_in_every_version(version: int) -> None:
    world = World.make(topics=TOPICS)
    commit(world, ("t1", [0, 2]), version=version, committed_metadata="m", committed_leader_epoch=5)
    assert fetched(fetch(world, [("t1", [0, 1, 2])], version), version) == [
        ("t1", [(0, 7, 5, "m", 0), (1, -1, -1, "", 0), (2, 8, 5, "m", 0)])
    ]
    if version >= 2:
        ((topic, found),) = fetched(fetch(world, None, version), version)
        assert (topic, sorted(found)) == ("t1", [(0, 7, 5, "m", 0), (2, 8, 5, "m", 0)])
    assert (world.group().state, world.group().protocol_type) == ("Empty", None)


@for_each("version", range(1, 11))
def test_an_unknown_group_has_no_offsets_and_is_not_created(version: int) -> None:
    world = World.make(topics=TOPICS)
    assert fetched(fetch(world, [("t1", [3])], version), version) == [("t1", [(3, -1, -1, "", 0)])]
    if version >= 2:
        assert fetched(fetch(world, None, version), version) == []
    assert world.cluster.groups.find("g") is None


def test_the_empty_group_id_is_a_group() -> None:
    world = World.make()
    assert world.commit(group="").answer.topics[0].partitions[0].error_code == 0
    assert world.group("").offsets


@for_each(("version", "generation", "code"), [(9, 0, 69), (10, 5, 69), (8, 0, 22), (2, 3, 22), (9, -1, 0), (9, -7, 0)])
def test_commit_to_an_unknown_group(version: int, generation: int, code: int) -> None:
    world = World.make()
    topic_id = world.cluster.topics.topic_id("orders") or b""
    topic = OffsetCommitRequestTopic(name="orders", topic_id=topic_id, partitions=[OffsetCommitRequestPartition()])
    message = OffsetCommitRequest(group_id="g", generation_id_or_member_epoch=generation, topics=[topic])
    assert world.send(message, 8, version).answer.topics[0].partitions[0].error_code == code
    assert (world.cluster.groups.find("g") is None) is (code != 0)


def test_3_9_answers_22_in_v9_too() -> None:
    world = World.make(quirks=Quirks(commit_to_unknown_group_is_illegal_generation=True))
    assert world.commit("x", 3).answer.topics[0].partitions[0].error_code == 22


# Kafka 4.3 and 3.9 answer an accepted partition once and in the order of their hash maps (tools/fidelity compares random requests with
# brokers).
ORDERS = [
    (
        [("t2", [2, 0]), ("nope", [0]), ("t1", [1, 77, 0])],
        [("nope", [(0, 3)]), ("t1", [(77, 3), (1, 0), (0, 0)]), ("t2", [(2, 0), (0, 0)])],
        [("nope", [(0, 3)]), ("t1", [(77, 3), (1, 0), (0, 0)]), ("t2", [(0, 0), (2, 0)])],
    ),
    (
        [("t2", [2]), ("t1", [0, 0]), ("t2", [1])],
        [("t2", [(2, 0)]), ("t1", [(0, 0), (0, 0)]), ("t2", [(1, 0)])],
        [("t2", [(2, 0), (1, 0)]), ("t1", [(0, 0)])],
    ),
    ([("t1", []), ("t2", [0])], [("t2", [(0, 0)])], [("t2", [(0, 0)])]),
]
V39 = Quirks(duplicates_answered_once=True)


@for_each(("asked", "v43", "v39"), ORDERS)
def test_order_of_a_commit_answer(asked: Listed, v43: object, v39: object) -> None:
    found = [commit(World.make(topics=TOPICS, quirks=quirks), *asked) for quirks in (Quirks(), V39)]
    assert found == [v43, v39]


def test_of_a_partition_listed_twice_the_last_value_wins() -> None:
    world = World.make(topics=TOPICS)
    commit(world, ("t1", [0, 0]))
    assert world.group().offsets["t1", 0].offset == 8


@for_each(("quirks", "indexes"), [(Quirks(), [0, 1, 0]), (V39, [0, 1])])
def test_a_partition_fetched_twice(quirks: Quirks, indexes: list[int]) -> None:
    world = World.make(topics=TOPICS, quirks=quirks)
    ((_, found),) = fetched(fetch(world, [("t1", [0, 1, 0])], 7), 7)
    assert [one[0] for one in found] == indexes


def test_unknown_topic_ids_are_100_and_come_last_in_a_fetch() -> None:
    world = World.make(topics=TOPICS)
    assert commit(world, ("nope", [0]), ("t1", [9]), ("t1", [0]), version=10) == [("", [(0, 100)]), ("t1", [(9, 3), (0, 0)])]
    answer = fetched(fetch(world, [("nope", [1]), ("t1", [0])], 10), 10)
    assert answer == [("t1", [(0, 8 - 1, -1, "", 0)]), ("", [(1, -1, -1, "", 100)])]


@for_each("asked", [[], [("nope", [0])]])
def test_with_nothing_to_commit_the_group_is_not_consulted(asked: Listed) -> None:
    world = World.make(topics=TOPICS)
    world.stable(1)
    assert commit(world, *asked) == [(name, [(index, 3) for index in indexes]) for name, indexes in asked]


@for_each(("metadata", "code"), [("x" * 4096, 0), ("x" * 4097, 12), ("ä" * 4096, 0), ("\U0001f600" * 2048, 0), ("\U0001f600" * 2049, 12)])
def test_metadata_is_measured_in_utf16_units(metadata: str, code: int) -> None:
    world = World.make(topics=TOPICS)
    assert commit(world, ("t1", [0]), committed_metadata=metadata) == [("t1", [(0, code)])]
    assert (("t1", 0) in world.group().offsets) is (code == 0)


def test_one_too_long_metadata_does_not_spoil_the_others() -> None:
    world = World.make(topics=TOPICS, offset_metadata_max_bytes=2)
    partitions = [OffsetCommitRequestPartition(partition_index=at, committed_metadata="x" * at) for at in range(4)]
    topic = OffsetCommitRequestTopic(name="t1", partitions=partitions)
    answer = world.send(OffsetCommitRequest(group_id="g", topics=[topic]), 8, 9).answer
    assert [one.error_code for one in answer.topics[0].partitions] == [0, 0, 0, 12]
    assert len(world.group().offsets) == 3


def test_null_metadata_is_kept_as_empty_and_offsets_may_be_anything() -> None:
    world = World.make(topics=TOPICS)
    commit(world, ("t1", [0]), committed_metadata=None, offset=-1)
    commit(world, ("t1", [1]), offset=9)
    commit(world, ("t1", [1]), offset=3)
    offsets = world.group().offsets
    assert (offsets["t1", 0].metadata, offsets["t1", 0].offset, offsets["t1", 1].offset) == ("", -1, 3)


@for_each(
    ("quirks", "code"),
    [(Quirks(group_record_limit=True), -1), (Quirks(group_record_limit=True, large_commit_invalid_size=True), 28), (Quirks(), 0)],
)
def test_a_commit_larger_than_a_batch(quirks: Quirks, code: int) -> None:
    world = World.make(topics=TOPICS, quirks=quirks, message_max_bytes=3000)
    assert commit(world, ("t1", [0, 1]), committed_metadata="x" * 2000) == [("t1", [(0, code), (1, code)])]
    assert bool(world.group().offsets) is (code == 0)


def test_version_0_is_refused_as_a_whole() -> None:
    world = World.make(topics=TOPICS)
    assert commit(world, ("t1", [0]), ("nope", [0]), version=0) == [("t1", [(0, 35)]), ("nope", [(0, 35)])]
    ((topic, told),) = fetched(fetch(world, [("t1", [0, 1])], 0), 0)
    assert (topic, sorted(told)) == ("t1", [(0, -1, -1, "", 35), (1, -1, -1, "", 35)])
    assert world.cluster.groups.find("g") is None


def test_several_groups_each_with_its_own_answer_in_request_order() -> None:
    world = World.make(nodes=2)
    here, there = "g", "my-group"
    assert world.cluster.groups.hosting.node_of(here) != world.cluster.groups.hosting.node_of(there)
    groups = [OffsetFetchRequestGroup(group_id=one, topics=None) for one in (there, here, there)]
    node = world.cluster.groups.hosting.node_of(here) or 0
    answer = world.send(OffsetFetchRequest(groups=groups), 9, 9, node=node).answer
    assert [(one.group_id, one.error_code) for one in answer.groups] == [(there, 16), (here, 0), (there, 16)]


@for_each(
    ("version", "quirks", "where"),
    [
        (1, Quirks(), "partition"),
        (1, Quirks(fetch_v1_hides_group_errors=True), "nowhere"),
        (2, Quirks(), "top"),
        (7, Quirks(), "top"),
        (8, Quirks(), "group"),
    ],
)
def test_where_a_group_error_of_a_fetch_is(version: int, quirks: Quirks, where: str) -> None:
    world = World.make(nodes=2, quirks=quirks)
    node = 3 - (world.cluster.groups.hosting.node_of("g") or 0)
    answer = fetch(world, [("orders", [0])], version, node=node).answer
    told = {
        "partition": [one.error_code for topic in answer.topics for one in topic.partitions] == [16],
        "nowhere": answer.topics == [] and answer.error_code == 0,
        "top": answer.error_code == 16 and answer.topics == [],
        "group": [(one.error_code, one.topics) for one in answer.groups] == [(16, [])],
    }
    assert told[where]


@for_each(("quirks", "mute"), [(Quirks(), False), (Quirks(fetch_without_groups_hangs=True), True)])
def test_a_fetch_without_groups(quirks: Quirks, mute: bool) -> None:
    asked = World.make(quirks=quirks).send(OffsetFetchRequest(), 9, 9)
    assert (asked.reason is not None) is mute
    assert asked.answer is None or asked.answer.groups == []


# -- OffsetDelete ------------------------------------------------------------------------------------------------------


def delete(world: World, *topics: tuple[str, list[int]], group: str = "g") -> Any:
    elements = [
        OffsetDeleteRequestTopic(name=name, partitions=[OffsetDeleteRequestPartition(partition_index=one) for one in indexes])
        for name, indexes in topics
    ]
    return world.send(OffsetDeleteRequest(group_id=group, topics=elements), 47).answer


def told(answer: Any) -> list[tuple[str, list[tuple[int, int]]]]:
    return [(topic.name, [(one.partition_index, one.error_code) for one in topic.partitions]) for topic in answer.topics]


def test_delete_refuses_empty_and_unknown_groups() -> None:
    world = World.make(topics=TOPICS)
    for group, code in (("", 24), ("g", 69)):
        answer = delete(world, ("t1", [0]), group=group)
        assert (answer.error_code, answer.topics) == (code, [])


def test_delete_of_offsets_in_an_empty_group() -> None:
    world = World.make(topics=TOPICS)
    commit(world, ("t1", [0, 1]))
    assert told(delete(world, ("t1", [0, 2]), ("nope", [0]), ("t2", [9]))) == [
        ("nope", [(0, 3)]),
        ("t2", [(9, 3)]),
        ("t1", [(0, 0), (2, 0)]),
    ]
    assert list(world.group().offsets) == [("t1", 1)]


V43, V39 = Quirks(), Quirks(duplicates_answered_once=True)
Told = list[tuple[str, list[tuple[int, int]]]]
WITHOUT_PARTITIONS: list[tuple[list[tuple[str, list[int]]], Told]] = [
    ([("nope", [])], [("nope", [])]),
    ([("t1", [])], []),
    ([("t1", [1]), ("nope", [])], [("nope", []), ("t1", [(1, 0)])]),
    ([("nope", []), ("nope", [1])], [("nope", [(1, 3)])]),
    ([("nope", []), ("nope", [])], [("nope", [])]),
    ([("a", [0]), ("t1", [5]), ("nope", [])], [("a", [(0, 3)]), ("nope", []), ("t1", [(5, 0)])]),
    ([("t1", [6]), ("nope", []), ("t1", [7])], [("nope", []), ("t1", [(6, 0), (7, 0)])]),
    ([("t1", [70]), ("nope", []), ("also", [])], [("t1", [(70, 3)]), ("nope", []), ("also", [])]),
]


@for_each(("asked", "wanted"), WITHOUT_PARTITIONS)
def test_delete_names_unknown_topics_without_partitions(asked: list[tuple[str, list[int]]], wanted: Told) -> None:
    """Kafka 4.3.0 and 3.9.1 name an unknown topic in the answer to OffsetDelete, without its partitions."""
    for quirks in (V43, V39):
        world = World.make(topics={"t1": 10}, quirks=quirks)
        commit(world, ("t1", [0]))
        assert told(delete(world, *asked)) == wanted


@for_each(("quirks", "lives"), [(Quirks(), True), (Quirks(last_offset_deletes_group=True), False)])
def test_delete_of_the_last_offset(quirks: Quirks, lives: bool) -> None:
    world = World.make(topics=TOPICS, quirks=quirks)
    commit(world, ("t1", [0]))
    delete(world, ("t1", [0]))
    assert (world.cluster.groups.find("g") is not None) is lives


@for_each(("metadata", "code"), [(subscription("t1"), 86), (subscription("t2"), 0), (b"\0", 86), (b"range0", 86)])
def test_subscribed_topics_are_kept(metadata: bytes, code: int) -> None:
    world = World.make(topics=TOPICS)
    world.stable(1, protocols=[("range", metadata)])
    assert told(delete(world, ("t1", [0]))) == [("t1", [(0, code)])]


def test_a_group_of_another_type_is_refused_until_it_is_empty() -> None:
    world = World.make(topics=TOPICS)
    ids = world.stable(1, protocol_type="connect")
    assert delete(world, ("t1", [0])).error_code == 68
    world.leave(*ids)
    assert delete(world, ("t1", [0])).error_code == 0


def test_subscriptions_are_those_of_the_generation_not_of_a_later_join() -> None:
    world = World.make(topics=TOPICS)
    _leader, follower = world.stable(2, protocols=[("range", subscription("t1"))])
    world.join(follower, protocols=[("range", subscription("t2"))])
    assert told(delete(world, ("t1", [0]), ("t2", [0]))) == [("t1", [(0, 86)]), ("t2", [(0, 0)])]
