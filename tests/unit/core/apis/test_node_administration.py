"""Administrators' requests change leaders and replicas on several nodes, feature levels and quotas, within limits."""

from __future__ import annotations

import itertools

from cases import for_each
from log_world import LogWorld

from groupmock.core import quotas
from groupmock.core.identity import Feature
from groupmock_codec.messages.k18_api_versions import ApiVersionsRequest
from groupmock_codec.messages.k34_alter_replica_log_dirs import AlterReplicaLogDir, AlterReplicaLogDirsRequest, AlterReplicaLogDirTopic
from groupmock_codec.messages.k35_describe_log_dirs import DescribeLogDirsRequest
from groupmock_codec.messages.k43_elect_leaders import ElectLeadersRequest, TopicPartitions
from groupmock_codec.messages.k45_alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    ReassignablePartition,
    ReassignableTopic,
)
from groupmock_codec.messages.k57_update_features import FeatureUpdateKey, UpdateFeaturesRequest


def reassign(world: LogWorld, replicas: list[int], **how: bool) -> int:
    """Send AlterPartitionReassignments for the partition of `t` and return its error code."""
    rows = [ReassignablePartition(partition_index=0, replicas=replicas)]
    asked = AlterPartitionReassignmentsRequest(topics=[ReassignableTopic(name="t", partitions=rows)], **how)
    code: int = world.ask(45, 1, asked).responses[0].partitions[0].error_code
    return code


def elect(world: LogWorld, kind: int = 0) -> int:
    """Send ElectLeaders for the partition of `t` and return its error code."""
    asked = ElectLeadersRequest(election_type=kind, topic_partitions=[TopicPartitions(topic="t", partitions=[0])])
    code: int = world.ask(43, 2, asked).replica_election_results[0].partition_result[0].error_code
    return code


def stands(world: LogWorld) -> tuple[int, int, list[int]]:
    """Return leader, leader epoch and replicas of the partition."""
    found = world.core.cluster.topics.require_partition("t", 0)
    return found.leader, found.leader_epoch, found.replicas


def test_the_leader_stays_while_it_is_a_replica_and_moves_when_it_is_none() -> None:
    world = LogWorld(nodes=3)
    world.topic("t", node=1)
    assert (reassign(world, [2, 1]), stands(world)) == (0, (1, 0, [2, 1]))
    assert (elect(world), stands(world)) == (0, (2, 1, [2, 1]))
    assert elect(world) == 84
    assert (reassign(world, [3]), stands(world)) == (0, (3, 2, [3]))


def test_replicas_that_cannot_be_change_nothing() -> None:
    world = LogWorld(nodes=2)
    world.topic("t", node=1)
    assert reassign(world, [1, 2], allow_replication_factor_change=False) == 38
    assert [reassign(world, wrong) for wrong in ([], [9], [1, 1])] == [39, 39, 39]
    world.command("stop_node", node=2)
    assert reassign(world, [2]) == 39
    assert stands(world) == (1, 0, [1])


def test_a_preferred_leader_that_is_stopped_is_not_available() -> None:
    world = LogWorld(nodes=2)
    world.topic("t", node=1)
    assert reassign(world, [2, 1]) == 0
    world.command("stop_node", node=2)
    assert (elect(world), elect(world, kind=1)) == (80, 84)


def test_a_node_tells_its_own_replicas_and_refuses_those_of_others() -> None:
    world = LogWorld(nodes=2)
    world.topic("t", node=1)
    everything = DescribeLogDirsRequest(topics=None)
    told = [[topic.name for topic in world.ask(35, 4, everything, node=node).results[0].topics] for node in (1, 2)]
    assert told == [["t"], []]
    directory = world.ask(35, 4, everything).results[0].log_dir
    moved = AlterReplicaLogDirsRequest(
        dirs=[AlterReplicaLogDir(path=directory, topics=[AlterReplicaLogDirTopic(name="t", partitions=[0])])]
    )
    assert [world.ask(34, 2, moved, node=node).results[0].partitions[0].error_code for node in (1, 2)] == [0, 9]


def test_a_level_that_was_changed_is_advertised_with_a_new_epoch() -> None:
    world = LogWorld(features=(Feature("kraft.version", 0, 1, None), Feature("metadata.version", 7, 30, 30)))
    raised = UpdateFeaturesRequest(feature_updates=[FeatureUpdateKey(feature="kraft.version", max_version_level=1)])
    tried = UpdateFeaturesRequest(feature_updates=raised.feature_updates, validate_only=True)
    asked = ApiVersionsRequest(client_software_name="a", client_software_version="1")
    seen = []
    for request in (tried, raised):
        assert world.ask(57, 2, request).error_code == 0
        answer = world.ask(18, 4, asked)
        seen.append((answer.finalized_features_epoch, [row.name for row in answer.finalized_features]))
    assert seen == [(7, ["metadata.version"]), (8, ["kraft.version", "metadata.version"])]


def test_quotas_are_kept_within_bounds() -> None:
    kept = quotas.Quotas()
    long = (("user", "x" * (quotas.MOST_TEXT - 1)),)
    kept.change(long, {"producer_byte_rate": 1.0})
    assert not kept.has_room((("user", "ab"),))
    assert kept.has_room(long) and kept.has_room((("user", "a"),))
    kept.change(long, {"producer_byte_rate": None})
    assert (len(kept), kept.text, kept.has_room((("user", "ab"),))) == (0, 0, True)


@for_each(
    ("key", "value", "kind", "why"),
    [
        ("producer_byte_rate", 1.5, quotas.LONG, "producer_byte_rate cannot be a fractional value."),
        ("producer_byte_rate", 1e30, quotas.LONG, "Proposed value for producer_byte_rate is too large for a LONG."),
        ("request_percentage", 0.0, quotas.DOUBLE, "Quota request_percentage must be greater than 0"),
        ("request_percentage", 0.5, quotas.DOUBLE, ""),
        ("producer_byte_rate", float("nan"), quotas.LONG, ""),
    ],
)
def test_values_of_quotas(key: str, value: float, kind: quotas.Kind, why: str) -> None:
    try:
        quotas.check_value(key, value, kind)
        said = ""
    except quotas.QuotaRefused as refused:
        said = str(refused)
    assert said == why


RATES = ("producer_byte_rate", "consumer_byte_rate", "request_percentage", "controller_mutation_rate")
SET_AT_ONCE = {
    RATES[:2]: ["consumer_byte_rate", "producer_byte_rate"],
    RATES[:3]: ["consumer_byte_rate", "request_percentage", "producer_byte_rate"],
    RATES[1:]: ["consumer_byte_rate", "controller_mutation_rate", "request_percentage"],
    RATES: ["producer_byte_rate", "consumer_byte_rate", "controller_mutation_rate", "request_percentage"],
}


@for_each(("names", "listed"), list(SET_AT_ONCE.items()))
def test_quotas_are_listed_as_kafka_lists_them_however_they_were_set(names: tuple[str, ...], listed: list[str]) -> None:
    """Kafka 4.3.0 answered the same list for all orders in which one AlterClientQuotas can set these quotas."""
    for order in itertools.permutations(names):
        kept = quotas.Quotas()
        kept.change((("client-id", "a"),), dict.fromkeys(order, 5.0))
        assert [[*values] for _, values in kept.items()] == [listed]


def test_a_quota_that_is_removed_moves_the_others_as_in_kafka() -> None:
    kept, entity = quotas.Quotas(), (("client-id", "a"),)
    for name in RATES:
        kept.change(entity, {name: 5.0})
    kept.change(entity, {"consumer_byte_rate": None})
    assert [[*values] for _, values in kept.items()] == [["controller_mutation_rate", "producer_byte_rate", "request_percentage"]]
