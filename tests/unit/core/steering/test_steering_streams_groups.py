"""A command fences a member of a streams group, whose tasks are free for the other members at once."""

from __future__ import annotations

import pytest
from streams_world import SESSION_MS, StreamsWorld

from groupmock.core.effects import MemberChanged
from groupmock.core.steering.register import NotNow

ALL = {"0": [0, 1, 2, 3]}


def test_a_fenced_streams_member_joins_again() -> None:
    world = StreamsWorld()
    world.join("A")
    world.command("fence_member", group="g", member="A")
    assert world.state() == ("Stable", 3, 3)
    code, text = world.refused(world.raw(member_epoch=2))
    assert (code, str(text).split(" (")[0]) == (110, "The streams group member has a smaller member epoch")
    told = world.join("A")
    assert (told.epoch, told.active) == (3, ALL)
    assert world.beat("A").active is None
    world.streams_group.invariants()


def test_tasks_of_a_fenced_streams_member_are_for_the_others() -> None:
    """B waits for two of A's four tasks and receives them at once."""
    world = StreamsWorld()
    world.join("A")
    assert world.join("B").active == {}
    world.command("fence_member", group="g", member="A")
    told = world.beat("B")
    assert (told.epoch, sum(map(len, (told.active or {}).values()))) == (4, 2)
    assert world.refused(world.raw(member_epoch=2))[0] == 110
    changes = [(each.what, each.cause) for each in world.rig.of(MemberChanged) if each.member_id == "A"]
    assert changes[-2:] == [("fenced", "member_fenced"), ("reconciled", "reconciled")]
    world.streams_group.invariants()


def test_a_fenced_streams_member_that_never_comes_back_expires() -> None:
    world = StreamsWorld()
    world.join("A")
    world.command("fence_member", group="g", member="A")
    world.sleep(SESSION_MS)
    assert world.state()[0] == "Empty"


def test_a_streams_member_is_fenced_while_its_topics_are_missing() -> None:
    world = StreamsWorld(topics=False)
    world.join("A")
    world.command("fence_member", group="g", member="A")
    assert world.state()[0] == "NotReady"
    assert world.refused(world.raw(member_epoch=2))[0] == 110
    world.topic("t", 4)
    assert world.join("A").active == ALL


def test_a_streams_member_that_is_away_cannot_be_fenced() -> None:
    world = StreamsWorld()
    world.join("A", instance_id="i")
    world.raw(member_epoch=-2, instance_id="i")
    with pytest.raises(NotNow, match="member A is away"):
        world.command("fence_member", group="g", member="A")
