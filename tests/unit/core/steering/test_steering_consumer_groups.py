"""Commands on consumer groups hold a group in any state, release it, and fence members."""

from __future__ import annotations

from typing import Any

import pytest
from cases import for_each
from consumer_world import LEAVE, SESSION_MS, ConsumerWorld

from groupmock.core.effects import MemberChanged
from groupmock.core.steering import NotNow
from groupmock.rig import Ask
from groupmock_codec.messages.k68_consumer_group_heartbeat import ConsumerGroupHeartbeatRequest, TopicPartitions

ALL = [0, 1, 2, 3, 4, 5]
JOINS: dict[str, Any] = {"member_epoch": 0, "subscribed_topic_names": ["t"], "rebalance_timeout_ms": 60_000, "topic_partitions": []}


class Held(ConsumerWorld):
    """Sends heartbeats for members of the group "g", each on its own connection, so that some may be parked."""

    def hold(self, state: str) -> None:
        self.command("hold_group", group="g", state=state)

    def release(self) -> None:
        self.command("release_group", group="g")

    def sent(self, member: str, **fields: Any) -> Ask:
        asked = {"member_id": member, "member_epoch": self.epochs.get(member, 0), **fields}
        return self.rig.send(68, 1, ConsumerGroupHeartbeatRequest(group_id="g", **asked), client_id="c", connection=None)

    def waits(self, ask: Ask) -> bool:
        return ask.ticket not in self.answers

    def gives(self, *partitions: int) -> list[TopicPartitions]:
        return [TopicPartitions(topic_id=self.topic_id("t"), partitions=list(partitions))]

    def held(self) -> tuple[str | None, int]:
        found = self.environment.holds.of("g")
        return found.state, found.waiting


def test_a_group_held_in_stable_hears_its_members_but_not_who_would_move_it() -> None:
    world = Held()
    world.join("A")
    world.hold("Stable")
    assert world.beat("A") == (2, None)
    asked = [world.sent("B", **JOINS), world.sent("A", subscribed_topic_names=["u"]), world.sent("A", member_epoch=LEAVE)]
    assert [world.waits(each) for each in asked] == [True] * 3
    assert (world.state(), world.held()) == (("Stable", 2, 2), ("Stable", 3))
    world.release()
    assert [world.answers[each.ticket].member_epoch for each in asked] == [3, 2, -1]


@for_each("fields", [{"member_epoch": 1}, {"member_epoch": 3}, {"member_id": "X", "member_epoch": 2}, {"subscribed_topic_names": ["t"]}])
def test_what_moves_nothing_is_answered(fields: dict[str, Any]) -> None:
    world = Held()
    world.join("A")
    world.hold("Stable")
    assert not world.waits(world.sent(fields.pop("member_id", "A"), **fields))


def test_a_session_that_is_over_waits_and_a_heartbeat_before_the_release_saves_it() -> None:
    for heard in (False, True):
        world = Held()
        world.join("A")
        world.hold("Stable")
        world.sleep(SESSION_MS)
        assert (world.state()[0], world.held()) == ("Stable", ("Stable", 1))
        if heard:
            world.beat("A")
        world.release()
        assert world.state()[0] == ("Stable" if heard else "Empty")


def test_news_of_a_topic_wait_for_the_release() -> None:
    world = Held()
    world.join("A")
    world.hold("Stable")
    world.topics.grow(world.turn(), "t", 7)
    asked = world.sent("A")
    assert world.waits(asked)
    world.release()
    assert world.answers[asked.ticket].member_epoch == 3


def test_a_regular_expression_is_not_resolved_in_a_group_that_is_held() -> None:
    world = Held()
    world.join("A", subscribed_topic_names=["t"])
    world.hold("Stable")
    world.beat("A")
    asked = world.sent("A", subscribed_topic_regex="u")
    world.sleep(1)
    assert (world.waits(asked), world.state()) == (True, ("Stable", 2, 2))
    world.release()
    world.sleep(1)
    assert world.state() == ("Assigning", 3, 2)


def test_in_assigning_nobody_computes_the_target() -> None:
    world = Held()
    world.join("A")
    world.join("B")
    world.hold("Assigning")
    world.sent("B", member_epoch=LEAVE)
    asked = world.sent("A")
    assert (world.waits(asked), world.state()) == (True, ("Assigning", 4, 3))
    world.release()
    assert (world.answers[asked.ticket].member_epoch, world.state()) == (4, ("Stable", 4, 4))


def test_in_reconciling_all_but_the_last_arrive() -> None:
    """A revokes three partitions and gets its answer, while B, which waits for them, is the last member and gets none."""
    world = Held()
    world.join("A")
    world.hold("Reconciling")
    world.join("B")
    assert world.beat("A") == (2, [0, 1, 2])
    assert world.beat("A", owned=[0, 1, 2]) == (3, None)
    asked = world.sent("B")
    assert (world.waits(asked), world.state()) == (True, ("Reconciling", 3, 3))
    world.sleep(SESSION_MS)
    assert world.state() == ("Reconciling", 3, 3), "neither of them expires"
    world.beat("A")
    world.release()
    assert (world.answers[asked.ticket].member_epoch, world.state()) == (3, ("Stable", 3, 3))
    assert world.shown("B")[1] == [3, 4, 5]


def test_a_group_that_is_not_there_is_held_empty() -> None:
    world = Held()
    world.hold("Empty")
    asked = world.sent("A", **JOINS)
    assert world.waits(asked)
    world.release()
    assert world.answers[asked.ticket].member_epoch == 2


def test_a_state_that_its_type_does_not_have() -> None:
    world = Held()
    world.join("A")
    with pytest.raises(NotNow, match="group 'g' is a consumer group: it is never in PreparingRebalance"):
        world.hold("PreparingRebalance")


@for_each("name", ["fence_member", "expire_member"])
def test_nobody_is_taken_out_of_a_group_that_is_held(name: str) -> None:
    world = Held()
    world.join("A")
    world.hold("Stable")
    with pytest.raises(NotNow, match="group 'g' is held in Stable: release it before you"):
        world.command(name, group="g", member="A")


def test_a_member_that_is_fenced_begins_anew() -> None:
    world = ConsumerWorld()
    world.join("A")
    world.command("fence_member", group="g", member="A")
    assert world.state() == ("Stable", 3, 3)
    code, text = world.refused(member_epoch=2)
    assert (code, str(text).split(" (")[0]) == (110, "The consumer group member has a smaller member epoch")
    assert world.commit("A", 2) == 113
    assert world.join("A") == (3, ALL)
    assert world.beat("A") == (3, None)


def test_what_a_fenced_member_had_is_for_the_others() -> None:
    """B waits for three of A's six partitions and receives them at once."""
    world = ConsumerWorld()
    world.join("A")
    world.join("B")
    world.command("fence_member", group="g", member="A")
    assert world.beat("B") == (4, [3, 4, 5])
    assert world.refused(member_epoch=2)[0] == 110
    told = [(each.what, each.cause) for each in world.rig.of(MemberChanged) if each.member_id == "A"]
    assert told[-2:] == [("fenced", "member_fenced"), ("reconciled", "reconciled")]


def test_a_fenced_member_is_away_from_its_epoch_within_the_assignment_interval() -> None:
    world = ConsumerWorld(group_consumer_assignment_interval_ms=10_000)
    world.join("A")
    world.command("fence_member", group="g", member="A")
    assert world.refused(member_epoch=2)[0] == 110


def test_a_fenced_static_member_finds_its_instance_in_use() -> None:
    world = ConsumerWorld()
    world.join("A", instance_id="i")
    world.command("fence_member", group="g", member="i")
    assert world.refused(member_epoch=2, instance_id="i")[0] == 110
    asked = {"subscribed_topic_names": ["t"], "rebalance_timeout_ms": 1, "topic_partitions": []}
    assert world.refused(member_epoch=0, instance_id="i", **asked)[0] == 111
    world.sleep(SESSION_MS)
    assert world.join("A", instance_id="i") == (5, ALL)


def test_a_fenced_member_that_never_comes_back_expires() -> None:
    world = ConsumerWorld()
    world.join("A")
    world.command("fence_member", group="g", member="A")
    world.sleep(SESSION_MS)
    assert world.state()[0] == "Empty"


def test_an_expression_stays_resolved_when_its_only_member_is_fenced() -> None:
    world = ConsumerWorld()
    world.join("A", subscribed_topic_regex="u", subscribed_topic_names=None)
    world.sleep(1)
    world.beat("A")
    world.command("fence_member", group="g", member="A")
    assert world.shown("A")[1] == [("u", [0, 1])]


def test_who_has_no_epoch_cannot_be_fenced() -> None:
    world = ConsumerWorld()
    world.join("A", instance_id="i")
    world.raw(member_epoch=-2, instance_id="i")
    with pytest.raises(NotNow, match="member A is away"):
        world.command("fence_member", group="g", member="A")
    assert world.commit(member="") == 25
    world.command("commit_offsets", group="h", offsets=[{"topic": "t", "partition": 0, "offset": 1}])
    with pytest.raises(NotNow, match="group 'h' is a classic group: only members of consumer and streams groups can be fenced"):
        world.command("fence_member", group="h", member="A")
