"""A group of one stock library forms, and rebalances when a member joins, leaves or crashes."""

from __future__ import annotations

import time

import pytest
from stock_members import LIBRARIES
from stock_team import Cluster, Team, delivered, partitions, produce, settled
from waiting import until

EVERY_LIBRARY = pytest.mark.parametrize("library", LIBRARIES)


@EVERY_LIBRARY
def test_first_member_gets_every_partition_and_reads_what_was_there(library: str, cluster: Cluster, team: Team, topic: str) -> None:
    wanted = produce(cluster, topic, "early")
    only = team.join(library)
    settled([only], partitions(topic, 6))
    delivered([only], wanted)
    cluster.wait_for(team.group, state="Stable", members=1)


@EVERY_LIBRARY
def test_second_member_takes_half_and_each_record_comes_once(library: str, cluster: Cluster, team: Team, topic: str) -> None:
    first = team.join(library)
    settled([first], partitions(topic, 6))
    alone = first.generation()
    second = team.join(library)
    settled([first, second], partitions(topic, 6), sizes=(3, 3))
    until(
        "one generation",
        lambda: first.generation() == second.generation() > alone,
        lambda: (alone, first.generation(), second.generation()),
    )
    delivered([first, second], produce(cluster, topic, "shared"))
    cluster.wait_for(team.group, state="Stable", members=2)


@EVERY_LIBRARY
def test_members_that_start_together_share_evenly(library: str, cluster: Cluster, team: Team, topic: str) -> None:
    people = [team.join(library) for _ in range(3)]
    settled(people, partitions(topic, 6), sizes=(2, 2, 2))
    delivered(people, produce(cluster, topic, "three"))


@EVERY_LIBRARY
def test_a_leave_hands_over_at_once(library: str, cluster: Cluster, team: Team, topic: str) -> None:
    first = team.join(library, session_ms=60_000)
    second = team.join(library, session_ms=60_000)
    settled([first, second], partitions(topic, 6), sizes=(3, 3))
    began = time.monotonic()
    second.stop()
    settled([first], partitions(topic, 6))
    assert time.monotonic() - began < 25, "far below the session timeout: the LeaveGroup itself must have started the round"
    cluster.wait_for(team.group, state="Stable", members=1)


@EVERY_LIBRARY
def test_the_last_leave_empties_the_group(library: str, cluster: Cluster, team: Team, topic: str) -> None:
    only = team.join(library)
    settled([only], partitions(topic, 6))
    only.stop()
    cluster.wait_for(team.group, state="Empty", members=0)


@EVERY_LIBRARY
def test_a_crash_is_noticed_by_the_session_timeout_and_not_by_the_closed_socket(
    library: str,
    cluster: Cluster,
    team: Team,
    topic: str,
) -> None:
    session_ms, heartbeat_ms = 2_000, 200
    survivor = team.join(library, session_ms=session_ms, heartbeat_ms=heartbeat_ms)
    victim = team.join_child(library, session_ms=session_ms, heartbeat_ms=heartbeat_ms)
    settled([survivor, victim], partitions(topic, 6), sizes=(3, 3))
    killed = victim.kill()
    settled([survivor], partitions(topic, 6))
    waited = time.monotonic() - killed
    assert waited > (session_ms - 2 * heartbeat_ms) / 1000, f"taken over after {waited:.2f} s: before its session could end"
    delivered([survivor], produce(cluster, topic, "after"))
    cluster.wait_for(team.group, state="Stable", members=1)
