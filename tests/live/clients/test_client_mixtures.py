"""Members of several stock libraries form one group, with any of them as leader and up to fifty members."""

from __future__ import annotations

from itertools import permutations

import pytest
from stock_members import LIBRARIES
from stock_team import Cluster, Team, delivered, partitions, produce, settled


@pytest.mark.parametrize(("leader", "follower"), list(permutations(LIBRARIES, 2)))
def test_two_libraries_in_one_group_and_the_lead_passes_on(
    leader: str,
    follower: str,
    cluster: Cluster,
    team: Team,
    topic: str,
) -> None:
    first = team.join(leader)
    settled([first], partitions(topic, 6))
    second = team.join(follower)
    settled([first, second], partitions(topic, 6), sizes=(3, 3))
    wanted = produce(cluster, topic, "both")
    delivered([first, second], wanted)
    for each in (first, second):
        each.commit()
    first.stop()
    settled([second], partitions(topic, 6))
    delivered([first, second], wanted + produce(cluster, topic, "rest"))


def test_three_libraries_share_and_go_one_after_another(cluster: Cluster, team: Team, topic: str) -> None:
    people = [team.join(library) for library in LIBRARIES]
    settled(people, partitions(topic, 6), sizes=(2, 2, 2))
    delivered(people, produce(cluster, topic, "three"))
    for left in (2, 1):
        people.pop(0).stop()
        settled(people, partitions(topic, 6), sizes=[6 // left] * left)
        cluster.wait_for(team.group, state="Stable", members=left)


def test_fifty_members_of_three_libraries_hold_sixty_partitions(cluster: Cluster, team: Team, topic: str) -> None:
    wide = f"{topic}-wide"
    cluster.create_topic(wide, 60)
    people = [team.join(LIBRARIES[index % 3], topics=(wide,), heartbeat_ms=500) for index in range(50)]
    settled(people, partitions(wide, 60), sizes=[1] * 40 + [2] * 10, patience=90)
    cluster.wait_for(team.group, state="Stable", members=50)
    delivered(people, produce(cluster, wide, "wide", count=120, across=range(60)), patience=60)
    for each in people:
        each.commit()
    for each in people[40:]:
        each.stop()
    settled(people[:40], partitions(wide, 60), sizes=[1] * 20 + [2] * 20, patience=90)
    cluster.wait_for(team.group, state="Stable", members=40)
