"""Assignors of stock libraries: the broker's choice among them, and their assignments."""

from __future__ import annotations

import pytest
from stock_members import LIBRARIES
from stock_team import Cluster, Team, delivered, partitions, produce, settled
from waiting import until

HALVES = {
    "range": [{0, 1, 2}, {3, 4, 5}],
    "roundrobin": [{0, 2, 4}, {1, 3, 5}],
}


@pytest.mark.parametrize("assignor", list(HALVES))
@pytest.mark.parametrize("library", LIBRARIES)
def test_the_assignor_decides_who_gets_what(library: str, assignor: str, cluster: Cluster, team: Team, topic: str) -> None:
    people = [team.join(library, assignors=(assignor,)) for _ in range(2)]
    settled(people, partitions(topic, 6), sizes=(3, 3))
    halves = sorted(sorted(index for _, index in each.owned()) for each in people)
    assert halves == [sorted(half) for half in HALVES[assignor]]
    assert cluster.groups[team.group].protocol_name == assignor


@pytest.mark.parametrize("library", ["aiokafka", "kafka-python"])
def test_sticky_moves_only_what_it_must(library: str, cluster: Cluster, team: Team, topic: str) -> None:
    people = [team.join(library, assignors=("sticky",)) for _ in range(2)]
    settled(people, partitions(topic, 6), sizes=(3, 3))
    before = [each.owned() for each in people]
    people.append(team.join(library, assignors=("sticky",)))
    settled(people, partitions(topic, 6), sizes=(2, 2, 2))
    assert people[0].owned() < before[0] and people[1].owned() < before[1]


@pytest.mark.parametrize("library", ["kafka-python", "confluent-kafka"])  # aiokafka is left out, because it supports only eager rebalances.
def test_cooperative_sticky_needs_a_second_round_to_move_partitions(
    library: str,
    cluster: Cluster,
    team: Team,
    topic: str,
) -> None:
    first = team.join(library, assignors=("cooperative-sticky",))
    settled([first], partitions(topic, 6))
    alone = first.generation()
    second = team.join(library, assignors=("cooperative-sticky",))
    settled([first, second], partitions(topic, 6), sizes=(3, 3))
    assert first.generation() >= alone + 2
    delivered([first, second], produce(cluster, topic, "moved"))
    second.stop()
    settled([first], partitions(topic, 6))


def test_cooperative_sticky_of_two_libraries(cluster: Cluster, team: Team, topic: str) -> None:
    people = [team.join(library, assignors=("cooperative-sticky",)) for library in ("confluent-kafka", "kafka-python")]
    settled(people, partitions(topic, 6), sizes=(3, 3))
    delivered(people, produce(cluster, topic, "both"))


@pytest.mark.parametrize(
    ("first", "second", "chosen"),
    [
        pytest.param(("kafka-python", ("range", "roundrobin")), ("aiokafka", ("roundrobin",)), "roundrobin", id="only-common-one"),
        pytest.param(("confluent-kafka", ("range", "roundrobin")), ("aiokafka", ("range",)), "range", id="only-common-is-first"),
        pytest.param(("confluent-kafka", ("roundrobin", "range")), ("kafka-python", ("roundrobin", "range")), "roundrobin", id="agreed"),
        pytest.param(("kafka-python", ("range", "sticky")), ("aiokafka", ("sticky",)), "sticky", id="sticky-across-libraries"),
    ],
)
def test_the_group_uses_an_assignor_that_everybody_has(
    first: tuple[str, tuple[str, ...]],
    second: tuple[str, tuple[str, ...]],
    chosen: str,
    cluster: Cluster,
    team: Team,
    topic: str,
) -> None:
    people = [team.join(first[0], assignors=first[1])]
    settled(people, partitions(topic, 6))
    assert cluster.groups[team.group].protocol_name == first[1][0]
    people.append(team.join(second[0], assignors=second[1]))
    settled(people, partitions(topic, 6), sizes=(3, 3))
    assert cluster.groups[team.group].protocol_name == chosen
    delivered(people, produce(cluster, topic, "mixed"))
    people[1].stop()
    settled(people[:1], partitions(topic, 6))
    assert cluster.groups[team.group].protocol_name == first[1][0], "alone again, the first choice is back"


def test_the_majority_of_first_choices_wins(cluster: Cluster, team: Team, topic: str) -> None:
    wishes = [
        ("kafka-python", ("range", "roundrobin")),
        ("confluent-kafka", ("roundrobin", "range")),
        ("kafka-python", ("roundrobin", "range")),
    ]
    people = [team.join(library, assignors=assignors) for library, assignors in wishes]
    settled(people, partitions(topic, 6), sizes=(2, 2, 2))
    assert cluster.groups[team.group].protocol_name == "roundrobin"


@pytest.mark.parametrize("library", ["aiokafka", "kafka-python"])
def test_a_member_without_a_common_assignor_is_refused_and_nobody_else_notices(
    library: str,
    cluster: Cluster,
    team: Team,
    topic: str,
) -> None:
    first = team.join("confluent-kafka", assignors=("range",))
    settled([first], partitions(topic, 6))
    generation, rounds = first.generation(), first.rounds()
    stranger = team.join(library, assignors=("sticky",))
    until("the stranger to be refused", lambda: stranger.failure is not None, lambda: stranger.owned())
    assert "InconsistentGroupProtocol" in repr(stranger.failure)
    delivered([first], produce(cluster, topic, "undisturbed"))
    assert (first.generation(), first.rounds(), first.owned()) == (generation, rounds, partitions(topic, 6))
    cluster.wait_for(team.group, state="Stable", members=1)
