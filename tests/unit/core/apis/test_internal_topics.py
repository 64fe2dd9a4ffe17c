"""Kafka's internal topics are created on demand, are treated specially by every API, and their partition leaders are coordinators.
Recorded from Apache Kafka 4.3.0 and 3.9.1 on 2026-11-22, which differ only in the order of Metadata's partitions. Kafka answers the
first look-up with COORDINATOR_NOT_AVAILABLE (15) and creates the topic meanwhile; groupmock creates it at once."""

from __future__ import annotations

from typing import Any, Final

import pytest
from cases import for_each
from log_world import LogWorld, batch, fetch_request

from groupmock.config.profiles import load as profile_named
from groupmock.core.java.hashes import partition_for
from groupmock.core.settings import Quirks
from groupmock.core.steering import NoSuch
from groupmock_codec.messages.k02_list_offsets import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from groupmock_codec.messages.k03_metadata import MetadataRequest, MetadataRequestTopic
from groupmock_codec.messages.k08_offset_commit import OffsetCommitRequest, OffsetCommitRequestPartition, OffsetCommitRequestTopic
from groupmock_codec.messages.k09_offset_fetch import OffsetFetchRequest
from groupmock_codec.messages.k10_find_coordinator import FindCoordinatorRequest
from groupmock_codec.messages.k11_join_group import JoinGroupRequest, JoinGroupRequestProtocol
from groupmock_codec.messages.k12_heartbeat import HeartbeatRequest
from groupmock_codec.messages.k16_list_groups import ListGroupsRequest
from groupmock_codec.messages.k19_create_topics import CreatableReplicaAssignment, CreatableTopic, CreateTopicsRequest
from groupmock_codec.messages.k20_delete_topics import DeleteTopicsRequest
from groupmock_codec.messages.k22_init_producer_id import InitProducerIdRequest
from groupmock_codec.messages.k32_describe_configs import DescribeConfigsRequest, DescribeConfigsResource
from groupmock_codec.messages.k37_create_partitions import CreatePartitionsRequest, CreatePartitionsTopic
from groupmock_codec.messages.k75_describe_topic_partitions import DescribeTopicPartitionsRequest

OFFSETS: Final = "__consumer_offsets"
TRANSACTIONS: Final = "__transaction_state"
EACH_PROFILE: Final = for_each("profile", ["kafka-4.3", "kafka-3.9"])
EACH_TOPIC: Final = for_each(("kind", "name"), [(0, OFFSETS), (1, TRANSACTIONS)])


def world_of(profile: str = "kafka-4.3", **settings: Any) -> LogWorld:
    return LogWorld(quirks=Quirks(**dict.fromkeys(profile_named(profile).quirks, True)), **settings)


def find(world: LogWorld, key: str = "g", kind: int = 0) -> tuple[int, int]:
    """Send FindCoordinator and return error code and node."""
    found = world.ask(10, 3, FindCoordinatorRequest(key=key, key_type=kind))
    return int(found.error_code), found.node_id


def metadata(world: LogWorld, *names: str) -> dict[str, Any]:
    """Return the topics of a Metadata answer by name; without names all topics are requested."""
    wanted = [MetadataRequestTopic(name=name) for name in names] or None
    answer = world.ask(3, 9, MetadataRequest(topics=wanted, allow_auto_topic_creation=False))
    return {row.name: row for row in answer.topics}


def leaders(world: LogWorld, name: str = OFFSETS) -> dict[int, int]:
    return {row.partition_index: row.leader_id for row in metadata(world, name)[name].partitions}


def commit(world: LogWorld, *indexes: int, group: str = "g", topic: str = OFFSETS, node: int = 1) -> dict[int, int]:
    """Commit offsets and return the error codes by partition."""
    partitions = [OffsetCommitRequestPartition(partition_index=index, committed_offset=7) for index in indexes or (0,)]
    asked = OffsetCommitRequest(group_id=group, topics=[OffsetCommitRequestTopic(name=topic, partitions=partitions)])
    return {row.partition_index: row.error_code for row in world.ask(8, 2, asked, node=node).topics[0].partitions}


def committed(world: LogWorld, group: str = "g") -> tuple[int, list[tuple[str, int]]]:
    answer = world.ask(9, 2, OffsetFetchRequest(group_id=group, topics=None))
    return int(answer.error_code), [(topic.name, row.partition_index) for topic in answer.topics for row in topic.partitions]


def make(world: LogWorld, name: str = OFFSETS, count: int = -1, *assigned: int) -> tuple[int, str | None]:
    given = [CreatableReplicaAssignment(partition_index=index, broker_ids=[node]) for index, node in enumerate(assigned)]
    factor = -1 if given else 1
    topic = CreatableTopic(name=name, num_partitions=count, replication_factor=factor, assignments=given)
    (row,) = world.ask(19, 5, CreateTopicsRequest(topics=[topic], timeout_ms=1000)).topics
    return int(row.error_code), row.error_message


def delete(world: LogWorld, name: str = OFFSETS) -> int:
    return int(world.ask(20, 5, DeleteTopicsRequest(topic_names=[name], timeout_ms=1000)).responses[0].error_code)


def grow(world: LogWorld, name: str, count: int) -> int:
    topic = CreatePartitionsTopic(name=name, count=count, assignments=None)
    return int(world.ask(37, 1, CreatePartitionsRequest(topics=[topic], timeout_ms=1000)).results[0].error_code)


def living_in(partitions: range) -> str:
    """Return a group id that belongs to one of these partitions of fifty."""
    return next(f"g{number}" for number in range(1000) if partition_for(f"g{number}", 50) in partitions)


# -- coming into being -------------------------------------------------------------------------------------------------


@EACH_TOPIC
@EACH_PROFILE
def test_the_first_look_up_makes_the_topic(profile: str, kind: int, name: str) -> None:
    world = world_of(profile)
    before = metadata(world, OFFSETS, TRANSACTIONS)
    assert metadata(world) == {} and [(row.error_code, row.is_internal) for row in before.values()] == [(3, True)] * 2
    assert find(world, kind=kind) == find(world, kind=kind) == (0, 1)
    assert {known: (row.is_internal, len(row.partitions)) for known, row in metadata(world).items()} == {name: (True, 50)}
    assert [note["topic"] for note in world.notes("topic_created")] == [name]


def test_neither_looks_at_auto_creation_nor_do_other_requests_make_them() -> None:
    world = world_of(auto_create_topics_enable=False)
    world.ask(22, 2, InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=1000))
    world.ask(16, 3, ListGroupsRequest())
    assert committed(world) == (0, []) and metadata(world) == {}
    find(world)
    find(world, kind=1)
    assert list(metadata(world)) == [OFFSETS, TRANSACTIONS]


def test_a_group_that_nobody_looked_for_makes_its_topic_too() -> None:
    world = world_of()
    world.topic("t")
    assert commit(world, topic="t") == {0: 0}
    assert len(metadata(world)[OFFSETS].partitions) == 50


@EACH_PROFILE
def test_who_asks_for_them_by_name_makes_them_as_a_look_up_would(profile: str) -> None:
    asked = [MetadataRequestTopic(name=name) for name in (OFFSETS, TRANSACTIONS)]
    world, other = world_of(profile, offsets_topic_num_partitions=7), world_of(profile, offsets_topic_num_partitions=7)
    world.ask(3, 9, MetadataRequest(topics=asked))
    find(other)
    find(other, kind=1)
    assert {name: len(row.partitions) for name, row in metadata(world).items()} == {OFFSETS: 7, TRANSACTIONS: 50}
    assert [set_on(world, name) for name in (OFFSETS, TRANSACTIONS)] == [set_on(other, name) for name in (OFFSETS, TRANSACTIONS)]


def test_a_name_that_collides_keeps_kafka_from_finding_a_coordinator() -> None:
    world = world_of()
    world.topic("__consumer.offsets")
    assert find(world) == (15, -1) and list(metadata(world)) == ["__consumer.offsets"]
    assert world.notes("topic_not_created")[0]["reason"] == "Topic '__consumer_offsets' collides with existing topic: __consumer.offsets"


def test_what_the_dice_give_does_not_hang_on_who_looked_for_a_coordinator() -> None:
    world, other = world_of(), world_of()
    find(world)
    find(world, kind=1)
    ids = [world.topic_id(OFFSETS), world.topic_id(TRANSACTIONS)]
    delete(world)
    find(world)
    assert len({*ids, world.topic_id(OFFSETS)}) == 3, "an id is never used twice"
    assert world.environment.dice.uuid_text() == other.environment.dice.uuid_text()


# -- how they are treated ----------------------------------------------------------------------------------------------


def set_on(world: LogWorld, name: str) -> dict[str, str | None]:
    """Return the configs that are set on the topic itself (source 1)."""
    asked = DescribeConfigsRequest(resources=[DescribeConfigsResource(resource_type=2, resource_name=name, configuration_keys=None)])
    return {row.name: row.value for row in world.ask(32, 1, asked).results[0].configs if row.config_source == 1}


@EACH_PROFILE
def test_topic_apis_know_them(profile: str) -> None:
    world = world_of(profile)
    find(world)
    find(world, kind=1)
    by_id = [MetadataRequestTopic(name=None, topic_id=world.topic_id(name)) for name in (OFFSETS, TRANSACTIONS)]
    found = world.ask(3, 12, MetadataRequest(topics=by_id)).topics
    assert [(row.name, row.is_internal, len(row.partitions)) for row in found] == [(OFFSETS, True, 50), (TRANSACTIONS, True, 50)]
    pages = world.ask(75, 0, DescribeTopicPartitionsRequest(topics=[])).topics
    assert [(row.name, row.is_internal, len(row.partitions)) for row in pages] == [(OFFSETS, True, 50), (TRANSACTIONS, True, 50)]
    common = {"cleanup.policy": "compact", "segment.bytes": "104857600"}
    assert set_on(world, OFFSETS) == common | {"compression.type": "producer"}
    own = {"compression.type": "uncompressed", "min.insync.replicas": "1", "unclean.leader.election.enable": "false"}
    assert set_on(world, TRANSACTIONS) == common | own
    assert make(world) == (36, f"Topic '{OFFSETS}' already exists.")
    assert (grow(world, OFFSETS, 52), grow(world, TRANSACTIONS, 52)) == (0, 0)
    assert {name: len(row.partitions) for name, row in metadata(world).items()} == {OFFSETS: 52, TRANSACTIONS: 52}


@EACH_TOPIC
def test_the_data_plane_knows_them(kind: int, name: str) -> None:
    world = world_of()
    find(world, kind=kind)
    assert world.produce(batch(), topic=name, version=7)["error_code"] == 17
    partitions = [ListOffsetsPartition(partition_index=index, timestamp=-1) for index in (0, 49, 50)]
    (found,) = world.ask(2, 5, ListOffsetsRequest(topics=[ListOffsetsTopic(name=name, partitions=partitions)])).topics
    assert {row.partition_index: (row.error_code, row.offset) for row in found.partitions} == {0: (0, 0), 49: (0, 0), 50: (3, -1)}
    (row,) = world.ask(1, 11, fetch_request((name, 0, 0), max_wait_ms=0)).responses[0].partitions
    assert (row.error_code, row.high_watermark, row.records) == (0, 0, b"")


@EACH_PROFILE
def test_offsets_of_them_can_be_committed(profile: str) -> None:
    world = world_of(profile)
    assert commit(world) == {0: 3}
    find(world)
    assert commit(world, 0, 49, 50) == {0: 0, 49: 0, 50: 3}
    assert sorted(committed(world)[1]) == [(OFFSETS, 0), (OFFSETS, 49)]
    assert commit(world, topic=TRANSACTIONS) == {0: 3}


# -- a topic of another size, or none ----------------------------------------------------------------------------------


@EACH_PROFILE
def test_a_group_stays_where_it_is_when_the_topic_grows(profile: str) -> None:
    world = world_of(profile)
    find(world)
    commit(world)
    assert grow(world, OFFSETS, 60) == 0
    assert (find(world), committed(world)) == ((0, 1), (0, [(OFFSETS, 0)]))


@EACH_PROFILE
def test_a_topic_that_somebody_made_smaller_has_no_coordinator_for_the_other_groups(profile: str) -> None:
    world = world_of(profile)
    here, nowhere = living_in(range(3)), living_in(range(3, 50))
    assert make(world, count=3) == (0, None)
    assert (find(world, here), commit(world, group=here)) == ((0, 1), {0: 0})
    assert (find(world, nowhere), commit(world, group=nowhere), committed(world, nowhere)[0]) == ((15, -1), {0: 16}, 16)
    with pytest.raises(NoSuch, match="there are 0 to 2"):
        world.command("move_coordinator", group=nowhere)
    assert grow(world, OFFSETS, 60) == 0
    assert (find(world, nowhere), commit(world, group=nowhere)) == ((0, 1), {0: 0})
    assert committed(world, here) == (0, [(OFFSETS, 0)])


def test_groups_live_where_somebody_put_the_partitions() -> None:
    world = world_of(nodes=3)
    make(world, OFFSETS, -1, *[3] * 25, *[2] * 25)
    assert [find(world, living_in(half)) for half in (range(25), range(25, 50))] == [(0, 3), (0, 2)]
    assert leaders(world) == {index: 3 if index < 25 else 2 for index in range(50)}


@EACH_PROFILE
def test_groups_go_with_the_topic(profile: str) -> None:
    """Parked requests get NOT_COORDINATOR (16), and so does every request until the topic is created again without the groups."""
    world = world_of(profile, group_initial_rebalance_delay_ms=3000)
    find(world)
    protocols = [JoinGroupRequestProtocol(name="range", metadata=bytes(10))]
    join = JoinGroupRequest(group_id="g", session_timeout_ms=10_000, protocol_type="consumer", protocols=protocols)
    waiting = world.send(11, 3, join, connection=2)
    commit(world, group="other")
    assert world.outcome(waiting) == "parked"
    assert delete(world) == 0
    assert world.answers[waiting].error_code == 16
    beat = HeartbeatRequest(group_id="g", generation_id=1, member_id="m")
    assert (world.ask(12, 0, beat).error_code, commit(world), committed(world)[0]) == (16, {0: 3}, 16)
    listed = world.ask(16, 3, ListGroupsRequest())
    assert (listed.error_code, listed.groups, metadata(world)) == (0, [], {})
    assert find(world) == (0, 1)
    assert (world.ask(12, 0, beat).error_code, committed(world, "other"), list(metadata(world))) == (25, (0, []), [OFFSETS])


def test_a_node_that_starts_finds_no_coordinator_in_a_deleted_topic() -> None:
    world = world_of(nodes=2)
    find(world)
    delete(world)
    world.command("stop_node", node=2)
    world.command("start_node", node=2)
    assert world.cluster.groups.hosting.led_by(2) == [] and committed(world)[0] == 16
    find(world)
    assert len(world.cluster.groups.hosting.led_by(2)) == 25


# -- who leads ---------------------------------------------------------------------------------------------------------


def coordinated(world: LogWorld, name: str = OFFSETS) -> dict[int, int]:
    """Return partition -> node of FindCoordinator for a hundred ids that cover the partitions."""
    kind = 0 if name == OFFSETS else 1
    return {partition_for(key, 50): find(world, key, kind)[1] for key in (f"g{number}" for number in range(100))}


def agree(world: LogWorld, name: str = OFFSETS) -> None:
    told, found = leaders(world, name), coordinated(world, name)
    assert len(found) > 30 and {index: told[index] for index in found} == found


@for_each("name", [OFFSETS, TRANSACTIONS])
def test_metadata_names_the_coordinators_as_leaders(name: str) -> None:
    world = world_of(nodes=5)
    find(world, kind=0 if name == OFFSETS else 1)
    assert leaders(world, name) == {index: 1 + index % 5 for index in range(50)}
    assert all(len(set(row.replica_nodes)) == 3 for row in metadata(world, name)[name].partitions)
    agree(world, name)
    world.command("stop_node", node=2)
    agree(world, name)
    world.command("stop_node", node=3)
    world.command("start_node", node=2)
    agree(world, name)
    assert 3 not in leaders(world, name).values()


def test_a_coordinator_that_moves_is_another_leader_with_another_epoch() -> None:
    world = world_of(nodes=3)
    find(world)
    index = partition_for("g", 50)
    before = leaders(world)[index]
    world.command("move_coordinator", group="g", node=before % 3 + 1)
    row = next(each for each in metadata(world, OFFSETS)[OFFSETS].partitions if each.partition_index == index)
    assert (row.leader_id, row.leader_epoch, row.error_code, find(world)) == (before % 3 + 1, 1, 0, (0, before % 3 + 1))
    world.command("unload_coordinator", group="g")
    row = next(each for each in metadata(world, OFFSETS)[OFFSETS].partitions if each.partition_index == index)
    assert (row.leader_id, row.leader_epoch, row.error_code, find(world)) == (-1, 2, 5, (15, -1))


def test_a_leader_that_moves_takes_the_groups_along() -> None:
    world = world_of(nodes=2)
    index, before = partition_for("g", 50), find(world)[1]
    commit(world, node=before)
    world.command("move_leader", topic=OFFSETS, partition=index, node=3 - before)
    assert (leaders(world)[index], find(world)) == (3 - before, (0, 3 - before))
    assert commit(world, node=before) == {0: 16} and commit(world, node=3 - before) == {0: 0}


def test_a_coordinator_that_was_taken_away_before_the_topic_came_stays_away() -> None:
    world = world_of()
    world.command("unload_coordinator", group="g")
    assert find(world) == (15, -1) and leaders(world)[partition_for("g", 50)] == -1


@for_each("name", [OFFSETS, TRANSACTIONS])
def test_a_topic_that_comes_while_a_node_is_down_is_led_by_the_others(name: str) -> None:
    world = world_of(nodes=3)
    world.command("stop_node", node=2)
    find(world, kind=0 if name == OFFSETS else 1)
    assert set(leaders(world, name).values()) == {1, 3}
    agree(world, name)
