"""Kafka's hash puts groups on different nodes, partitions have different leaders, and stock clients find both."""

from __future__ import annotations

from itertools import count

import pytest
from confluent_kafka.admin import AdminClient
from stock_elsewhere import Elsewhere
from stock_members import LIBRARIES
from stock_team import Cluster, Team, delivered, partitions, produce, settled

pytestmark = pytest.mark.groupmock(nodes=3)


def offsets_partition(group: str) -> int:
    """Return the offsets partition of a group: the absolute value of Java's String.hashCode (of -2^31: 0) modulo 50 partitions
    (SERVER-64)."""
    code = 0
    for letter in group.encode("utf-16-be")[1::2]:  # One byte of each UTF-16 unit is enough, because the group ids are ASCII.
        code = (31 * code + letter) & 0xFFFFFFFF
    signed = code - (1 << 32) if code >> 31 else code
    return 0 if signed == -(1 << 31) else abs(signed) % 50


def groups_of_every_node(prefix: str, nodes: int) -> list[str]:
    """Return one group id per node, given that node 1 + p mod `nodes` leads partition p of __consumer_offsets."""
    found: dict[int, str] = {}
    for name in (f"{prefix}-{index}" for index in count()):
        found.setdefault(offsets_partition(name) % nodes, name)
        if len(found) == nodes:
            return list(found.values())
    raise AssertionError("unreachable")


@pytest.mark.parametrize("library", LIBRARIES)
def test_groups_on_every_node_read_partitions_of_every_node(library: str, cluster: Cluster, team: Team, topic: str) -> None:
    admin = AdminClient({"bootstrap.servers": cluster.bootstrap})
    brokers = set(admin.list_topics(timeout=10).brokers)
    groups = groups_of_every_node(team.group, len(brokers))
    wanted = produce(cluster, topic, "all")
    for reader in [team.join(library, group=group) for group in groups]:
        settled([reader], partitions(topic, 6))
        delivered([reader], wanted)
        reader.commit()
    described = [future.result(10) for future in admin.describe_consumer_groups(groups).values()]
    spread = {each.coordinator.id for each in described}
    # Kafka places the partitions of __consumer_offsets on any node. groupmock places them by rule, so that the nodes of its groups are
    # known.
    assert spread <= brokers if isinstance(cluster, Elsewhere) else spread == brokers
    for group in groups:
        cluster.wait_for(group, state="Stable", members=1)
        assert cluster.groups[group].offsets[topic] == dict.fromkeys(range(6), 5)


def test_three_libraries_share_a_group_on_three_nodes(cluster: Cluster, team: Team, topic: str) -> None:
    people = [team.join(library) for library in LIBRARIES]
    settled(people, partitions(topic, 6), sizes=(2, 2, 2))
    wanted = produce(cluster, topic, "three")
    delivered(people, wanted)
    for each in people:
        each.commit()
    people[0].stop()
    settled(people[1:], partitions(topic, 6), sizes=(3, 3))
    delivered(people, wanted + produce(cluster, topic, "two"))
