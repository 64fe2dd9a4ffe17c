"""The broker keeps the offsets that stock clients commit, and any library resumes from them."""

from __future__ import annotations

import pytest
from stock_members import LIBRARIES
from stock_team import Cluster, Team, delivered, partitions, produce, settled
from waiting import until

EVERY_LIBRARY = pytest.mark.parametrize("library", LIBRARIES)
NEXT_LIBRARY = tuple(zip(LIBRARIES, LIBRARIES[1:] + LIBRARIES[:1], strict=True))


def committed(cluster: Cluster, team: Team, topic: str) -> dict[int, int]:
    """Return the committed offset of each partition, as the broker reports it."""
    return dict(cluster.groups[team.group].offsets.get(topic, {}))


@EVERY_LIBRARY
def test_a_restarted_group_resumes_from_its_commit(library: str, cluster: Cluster, team: Team, topic: str) -> None:
    before = produce(cluster, topic, "before")
    first = team.join(library)
    delivered([first], before)
    first.commit()
    assert committed(cluster, team, topic) == dict.fromkeys(range(6), 5)
    first.stop()
    cluster.wait_for(team.group, state="Empty", members=0)
    after = produce(cluster, topic, "after")
    again = team.join(library)
    delivered([again], after)


@EVERY_LIBRARY
def test_what_was_not_committed_comes_again(library: str, cluster: Cluster, team: Team, topic: str) -> None:
    early = produce(cluster, topic, "early")
    first = team.join(library)
    delivered([first], early)
    first.commit()
    late = produce(cluster, topic, "late")
    delivered([first], early + late)
    first.stop()
    again = team.join(library)
    delivered([again], late)


@EVERY_LIBRARY
def test_a_hand_over_continues_at_the_commit(library: str, cluster: Cluster, team: Team, topic: str) -> None:
    people = [team.join(library), team.join(library)]
    settled(people, partitions(topic, 6), sizes=(3, 3))
    shared = produce(cluster, topic, "shared")
    delivered(people, shared)
    for each in people:
        each.commit()
    people[1].stop()
    settled(people[:1], partitions(topic, 6))
    delivered(people, shared + produce(cluster, topic, "alone"))


@pytest.mark.parametrize(("one", "other"), NEXT_LIBRARY)
def test_another_library_resumes_from_the_commit(one: str, other: str, cluster: Cluster, team: Team, topic: str) -> None:
    before = produce(cluster, topic, "before")
    first = team.join(one)
    delivered([first], before)
    first.commit()
    first.stop()
    after = produce(cluster, topic, "after")
    second = team.join(other)
    delivered([second], after)
    second.commit()
    assert committed(cluster, team, topic) == dict.fromkeys(range(6), 10)


@EVERY_LIBRARY
def test_commits_go_on_while_others_rebalance(library: str, cluster: Cluster, team: Team, topic: str) -> None:
    first = team.join(library)
    settled([first], partitions(topic, 6))
    wanted = produce(cluster, topic, "one")
    delivered([first], wanted)
    first.commit()
    second = team.join(library)
    settled([first, second], partitions(topic, 6), sizes=(3, 3))
    wanted += produce(cluster, topic, "two")
    delivered([first, second], wanted)
    for each in (first, second):
        each.commit()
    until(
        "ten records committed per partition",
        lambda: committed(cluster, team, topic) == dict.fromkeys(range(6), 10),
        lambda: committed(cluster, team, topic),
    )
