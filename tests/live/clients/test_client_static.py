"""Static members (group.instance.id) of stock libraries: a restart causes no rebalance, a long absence causes one."""

from __future__ import annotations

import time

import pytest
from stock_members import LIBRARIES, Member
from stock_team import Cluster, Team, delivered, partitions, produce, settled
from waiting import until

EVERY_LIBRARY = pytest.mark.parametrize("library", LIBRARIES)


def two_static_members(team: Team, library: str, topic: str, **changes: object) -> list[Member]:
    """Start two members, of which one leads, with three partitions each, in one generation."""
    people = [team.join(library, instance=f"instance-{index}", **changes) for index in range(2)]
    settled(people, partitions(topic, 6), sizes=(3, 3))
    until("one generation", lambda: people[0].generation() == people[1].generation() > 0, lambda: [each.generation() for each in people])
    return people


@EVERY_LIBRARY
@pytest.mark.parametrize("index", [0, 1])
def test_a_restart_within_the_session_is_no_rebalance(
    library: str,
    index: int,
    cluster: Cluster,
    team: Team,
    topic: str,
) -> None:
    """The test restarts both members in turn, so that one of them is the leader."""
    people = two_static_members(team, library, topic, session_ms=60_000)
    generation, rounds, held = people[0].generation(), people[1 - index].rounds(), people[index].owned()
    people[index].stop()
    fresh = team.join(library, instance=f"instance-{index}", session_ms=60_000)
    until("the restarted member to hold what it held", lambda: fresh.owned() == held, lambda: sorted(fresh.owned()))
    delivered([fresh, people[1 - index]], produce(cluster, topic, "after"))
    assert (fresh.generation(), people[1 - index].generation()) == (generation, generation)
    assert people[1 - index].rounds() == rounds, "the other member was disturbed"
    cluster.wait_for(team.group, state="Stable", members=2)


@EVERY_LIBRARY
def test_a_static_member_that_stays_away_is_expelled(library: str, cluster: Cluster, team: Team, topic: str) -> None:
    session_ms, heartbeat_ms = 2_000, 200
    one, two = two_static_members(team, library, topic, session_ms=session_ms, heartbeat_ms=heartbeat_ms)
    went = time.monotonic()
    two.stop()
    settled([one], partitions(topic, 6))
    assert time.monotonic() - went > (session_ms - 2 * heartbeat_ms) / 1000, "a static member's close must not be a leave"
    cluster.wait_for(team.group, state="Stable", members=1)


def refusal(member: Member) -> str:
    """Return the error that the library reports to its user, by itself or from a commit."""
    try:
        member.commit()
    except Exception as error:  # Any exception is accepted, because each library raises its own class.
        return repr(error)
    return ""


# aiokafka is left out, because it sends Heartbeat v1, which has no instance id.
@pytest.mark.parametrize("library", ["kafka-python", "confluent-kafka"])
def test_a_second_member_with_the_same_instance_id_fences_the_first(
    library: str,
    cluster: Cluster,
    team: Team,
    topic: str,
) -> None:
    first = team.join(library, instance="the-one")
    settled([first], partitions(topic, 6))
    second = team.join(library, instance="the-one")
    settled([second], partitions(topic, 6))
    until("the first to be fenced", lambda: "fenced" in refusal(first).replace("_", "").lower(), lambda: refusal(first))
    delivered([second], produce(cluster, topic, "after"))
    second.commit()
    cluster.wait_for(team.group, state="Stable", members=1)
