"""Each stock client library joins, reads, commits, gets a second member and hands partitions over. Waits for events; asserts no duration.

What else stock clients do here, at length: tests/live/clients (`make live`).
"""

from __future__ import annotations

import pytest
from stock_members import LIBRARIES
from stock_team import Cluster, Team, delivered, partitions, produce, settled

SESSION_MS = 120_000
"""Session timeout in ms, so long that no member is expelled on a slow machine."""


@pytest.mark.parametrize("library", LIBRARIES)
def test_a_group_shares_its_topic_hands_over_and_repeats_nothing(cluster: Cluster, topic: str, team: Team, library: str) -> None:
    first = team.join(library, session_ms=SESSION_MS)
    settled([first], partitions(topic, 6))
    early = produce(cluster, topic, "early")
    delivered([first], early)
    first.commit()
    assert sum(cluster.groups[team.group].offsets[topic].values()) == len(early)

    second = team.join(library, session_ms=SESSION_MS)
    settled([first, second], partitions(topic, 6), sizes=[3, 3])
    late = produce(cluster, topic, "late")
    delivered([first, second], early + late)
    first.commit()
    second.commit()

    first.stop()
    settled([second], partitions(topic, 6))
    last = produce(cluster, topic, "last")
    delivered([first, second], early + late + last)
