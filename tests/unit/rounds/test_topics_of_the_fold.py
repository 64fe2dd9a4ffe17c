"""The fold learns the number of partitions of a topic from the notes about topics, whoever created them."""

from __future__ import annotations

import pytest

from groupmock.journal.ring import Ring
from groupmock.rig import WireRig
from groupmock.rounds import Rebalances
from groupmock.story.teller import StoryTeller


def test_counts_follow_topics_that_are_made_without_a_number_grown_refused_and_deleted() -> None:
    ring = Ring()
    rig = WireRig.make(settings={"num.partitions": 3}, seed=7, sinks=[ring])
    rig.command("create_topic", name="orders")
    rig.command("create_topic", name="bills", partitions=1)
    with pytest.raises(ValueError, match="exists"):
        rig.command("create_topic", name="bills", partitions=9)
    rig.command("grow_topic", name="orders", partitions=5)
    rig.command("delete_topic", name="bills")
    fold, teller = Rebalances(), StoryTeller()
    for row in ring.rows:
        fold.feed(row)
        teller.feed(row)
    assert fold.counts == {"orders": 5}
    assert teller.untold == 0
