"""Members move to their target assignment heartbeat by heartbeat (docs/kafka/consumer-groups.md; CG-31 to CG-38, CG-53 to CG-73)."""

from __future__ import annotations

import random
from typing import Any

from cases import for_each
from consumer_world import GO_AWAY, LEAVE, ConsumerWorld

from groupmock.core.groups.consumer.orders import by_topic, given, grouped, remaining
from groupmock.core.settings import Quirks
from groupmock_codec.messages.k68_consumer_group_heartbeat import TopicPartitions

ALL = [0, 1, 2, 3, 4, 5]
TOPIC = bytes(16)


def two() -> ConsumerWorld:
    """Return a group in which A owned everything and B has joined."""
    world = ConsumerWorld()
    assert world.join("A") == (2, ALL)
    assert world.join("B") == (3, [])
    return world


def test_the_first_member_has_everything_at_epoch_2() -> None:
    world = ConsumerWorld()
    assert world.join() == (2, ALL)
    assert world.state() == ("Stable", 2, 2)
    assert world.beat() == (2, None)
    assert world.beat(owned=[]) == (2, None), "an owned list alone brings nothing"
    assert world.beat(owned=[], rebalance_timeout_ms=5, subscribed_topic_names=["t"]) == (2, ALL)


def test_a_join_that_names_nothing_calls_for_nothing() -> None:
    world = ConsumerWorld()
    assert world.join("A", subscribed_topic_names=[]) == (1, [])
    assert world.state() == ("Stable", 1, 1)


def test_unknown_topics_are_no_error() -> None:
    world = ConsumerWorld()
    assert world.join("A", "nowhere") == (2, [])
    assert world.state() == ("Stable", 2, 2)


def test_two_members() -> None:
    world = two()
    assert world.state() == ("Reconciling", 3, 3)
    assert world.beat("B") == (3, None)
    assert world.beat("A") == (2, [0, 1, 2])
    assert world.shown("A") == (2, ALL, [0, 1, 2])
    assert [world.beat("A"), world.beat("A", owned=ALL), world.beat("A", owned=[0, 1, 2, 3])] == [(2, None)] * 3
    assert world.beat("A", owned=ALL, rebalance_timeout_ms=9, subscribed_topic_names=["t"]) == (2, [0, 1, 2])
    assert world.beat("B") == (3, None)
    assert world.beat("A", owned=[0, 1, 2]) == (3, None)
    assert world.state() == ("Reconciling", 3, 3)
    assert world.beat("B") == (3, [3, 4, 5])
    assert world.state() == ("Stable", 3, 3)
    assert [world.beat("A"), world.beat("B")] == [(3, None), (3, None)]


def test_who_reports_less_than_it_must_keep_gives_up_nothing_by_it() -> None:
    world = two()
    assert world.beat("A", owned=[0]) == (3, [0, 1, 2]), "already without what must go: the new epoch at once"
    assert world.beat("B") == (3, [3, 4, 5])


@for_each("how", ["leaves", "expires", "is fenced"])
def test_what_somebody_gives_up_by_going_is_free_at_once(how: str) -> None:
    world = two()
    world.beat("A")
    if how == "leaves":
        found = world.raw(member_epoch=LEAVE, topic_partitions=None)
        assert (found.error_code, found.member_id, found.member_epoch, found.heartbeat_interval_ms) == (0, "A", LEAVE, 0)
    else:
        for _ in range(4):
            world.sleep(20_000)
            world.beat("B")
            if how == "is fenced":
                world.raw(member_epoch=2)  # The member is alive but does not revoke its partitions within the rebalance timeout of 60 s.
    assert world.beat("B")[1] in (ALL, None)
    assert world.shown("B") == (4, ALL, ALL)
    assert world.refused(member_epoch=2)[0] == 25


def test_a_second_round_of_giving_up_begins_with_the_answer_to_the_first() -> None:
    world = two()
    world.beat("A")
    world.join("C")
    assert world.beat("A") == (2, None), "a newer target does not disturb who gives up"
    assert world.beat("A", owned=[0, 1, 2])[0] == 2, "old epoch, and shorter"
    assert len(world.shown("A")[2]) == 2
    assert world.beat("A", owned=world.shown("A")[2]) == (4, None)


def test_who_was_given_back_what_it_gives_up_must_say_so_all_the_same() -> None:
    world = two()
    world.beat("A")
    world.beat("B", member_epoch=LEAVE)
    assert world.beat("A") == (2, None)
    assert world.beat("A", owned=[0, 1, 2]) == (4, ALL)


def test_other_names_take_topics_at_once_and_bring_others_after() -> None:
    world = ConsumerWorld()
    world.join("A")
    assert world.beat("A", subscribed_topic_names=["u"]) == (2, [])
    assert world.beat("A", owned=[]) == (3, [("u", [0, 1])])


def test_other_names_by_who_already_gave_up_need_one_answer() -> None:
    world = ConsumerWorld()
    world.join("A")
    assert world.beat("A", owned=[], subscribed_topic_names=["u"]) == (3, [("u", [0, 1])])


def test_the_same_names_in_another_order_and_what_else_is_stored_call_for_nothing() -> None:
    world = ConsumerWorld()
    world.join("A", "t", "u")
    world.beat("A", subscribed_topic_names=["u", "t", "t"], rack_id="r", server_assignor="uniform", rebalance_timeout_ms=7)
    assert world.state() == ("Stable", 2, 2)
    assert (world.member("A").rack_id, world.described()[0].assignor_name) == ("r", "uniform")


def test_after_the_last_leave_both_epochs_go_on_and_the_next_target_does_not_wait() -> None:
    world = ConsumerWorld(group_consumer_assignment_interval_ms=1000)
    world.join("A")
    world.beat("A", member_epoch=LEAVE)
    assert world.state() == ("Empty", 3, 3)
    assert world.join("B") == (4, ALL)


def test_before_4_4_the_assignment_epoch_of_an_emptied_group_stays_behind() -> None:
    quirks = Quirks(emptied_group_keeps_assignment_epoch=True)
    world = ConsumerWorld(group_consumer_assignment_interval_ms=1000, quirks=quirks)
    world.join("A")
    world.beat("A", member_epoch=LEAVE)
    assert world.state() == ("Empty", 3, 2)
    assert world.join("B") == (2, []), "the next target waits for the interval"
    assert world.state() == ("Assigning", 4, 2)


def test_any_order_of_heartbeats_converges_and_nothing_is_in_two_hands() -> None:
    world = ConsumerWorld(seed=7)
    dice = random.Random(7)
    own: dict[str, list[int]] = {}
    for _ in range(400):
        name = dice.choice("ABCD")
        if name not in world.epochs:
            told = world.join(name)
        elif dice.random() < 0.1:
            world.beat(name, member_epoch=LEAVE)
            del world.epochs[name], own[name]
            continue
        else:
            told = world.beat(name, owned=dice.choice([None, own[name]]))
        if told.has is not None:
            own[name] = told.has
    for _ in range(6):
        for name in world.epochs:
            told = world.beat(name, owned=own[name])
            own[name] = own[name] if told.has is None else told.has
    assert world.state()[0] == "Stable"
    assert sorted(index for each in own.values() for index in each) == ALL


# -- topics


def test_topics_that_come_grow_and_go() -> None:
    world = ConsumerWorld()
    world.join("A", "t", "later")
    world.topic("other")
    assert world.beat("A") == (2, None)
    world.topic("later", 1)
    assert world.beat("A") == (3, [("later", [0]), ("t", ALL)])
    world.topics.grow(world.turn(), "later", 2)
    assert world.beat("A") == (4, [("later", [0, 1]), ("t", ALL)])
    world.topics.delete(world.turn(), "later")
    assert world.beat("A") == (4, ALL)
    assert world.beat("A", owned=ALL) == (5, None)


def test_a_topic_made_again_is_another_one() -> None:
    world = ConsumerWorld()
    world.join("A", "u")
    world.topics.delete(world.turn(), "u")
    world.topic("u", 1)
    assert world.beat("A", owned=[]) == (3, [("u", [0])])


# -- the interval between targets


def test_a_target_is_computed_once_within_the_interval_by_somebodys_heartbeat() -> None:
    world = ConsumerWorld(group_consumer_assignment_interval_ms=1000)
    assert world.join("A") == (2, ALL), "the first one is never delayed"
    assert world.join("B") == (2, []), "at the old target's epoch, with nothing"
    assert world.join("C") == (2, [])
    assert world.state() == ("Assigning", 4, 2)
    world.sleep(999)
    assert world.beat("A") == (2, None)
    world.sleep(1)
    assert world.beat("A") == (2, [0, 1])
    assert world.state() == ("Reconciling", 4, 4)


def test_names_that_are_given_up_while_the_target_is_old() -> None:
    world = ConsumerWorld(group_consumer_assignment_interval_ms=1000)
    world.join("A", "t", "u")
    assert world.beat("A", subscribed_topic_names=["t"]) == (2, ALL)
    assert world.state() == ("Assigning", 3, 2)


# -- static members


def test_a_static_member_goes_and_comes_back_without_a_word_to_anybody() -> None:
    world = ConsumerWorld()
    world.join("A", instance_id="i")
    world.join("B")
    world.beat("A", instance_id="i")
    found = world.raw(member_epoch=GO_AWAY, instance_id="i")
    assert (found.error_code, found.member_epoch, found.heartbeat_interval_ms, found.assignment) == (0, GO_AWAY, 0, None)
    assert world.shown("A") == (GO_AWAY, [0, 1, 2], [0, 1, 2])
    assert world.state() == ("Reconciling", 3, 3)
    assert world.beat("B") == (3, [3, 4, 5]), "what it was giving up is free at once"
    assert world.refused(member_epoch=2, instance_id="i")[0] == 110
    assert world.join("A2", instance_id="i") == (3, [0, 1, 2])
    assert world.state() == ("Stable", 3, 3)
    assert world.refused(member_epoch=3)[0] == 25
    assert world.refused(member_epoch=3, instance_id="i")[0] == 82


def test_a_static_member_that_stays_away_is_gone_after_its_session() -> None:
    world = ConsumerWorld()
    world.join("A", instance_id="i")
    world.beat("A", member_epoch=GO_AWAY, instance_id="i")
    world.sleep(30_000)
    assert world.state() == ("Empty", 3, 3)


# -- timers


def test_a_session_ends_after_the_last_heartbeat_and_computes_nothing() -> None:
    world = two()
    world.beat("A", owned=[0, 1, 2])
    world.sleep(29_000)
    world.beat("B")
    world.sleep(1_000)
    assert world.state() == ("Assigning", 4, 3)
    assert world.refused(member_epoch=3)[0] == 25
    assert world.beat("B") == (4, ALL)


def test_refused_heartbeats_and_commits_keep_nobody_alive() -> None:
    world = ConsumerWorld()
    world.join()
    for _ in range(3):
        world.sleep(10_000)
        world.refused(member_epoch=7)
        world.commit("A", 2)
    assert world.state()[0] == "Empty"


def test_a_topic_that_comes_back_is_laid_out_anew_and_one_that_stays_is_not() -> None:
    """Kafka copies a member's partitions into a Java map of minimal size, in which 4 comes before 3."""
    kept, target = {(TOPIC, 0): 2}, {TOPIC: (0, 3, 4)}
    new = {(TOPIC, 3): 3, (TOPIC, 4): 3}
    assert [index for _, index in given(kept, new, target, grouped(kept))] == [0, 4, 3]
    assert [index for _, index in given({}, new, target, grouped(kept))] == [3, 4]


def test_topics_that_stay_are_in_the_order_of_a_small_copy() -> None:
    first, second, gone = (bytes(15) + bytes([number]) for number in (8, 1, 2))
    had = {(first, 0): 2, (second, 0): 2, (gone, 0): 2}
    assert [topic for topic, _ in by_topic(had)] == [second, gone, first]
    assert [topic for topic, _ in remaining(had, {spot: 2 for spot in had if spot[0] != gone})] == [first, second]


def test_topics_that_are_revoked_in_two_steps_are_described_in_the_order_of_the_steps() -> None:
    """Both topics are in one bucket of Kafka's map, so that the order of insertion decides (differential check, consumers seed 900607)."""
    world = ConsumerWorld(topics=False)
    for name, number in (("t", 1), ("u", 17)):
        world.topics.add(world.turn(), name, [[1]] * 2, {}, bytes(15) + bytes([number]))
    for kept, revoked in (("t", "u"), ("u", "t")):
        world.join("D", "t", "u")
        world.beat("D", subscribed_topic_names=[kept])
        world.beat("D", subscribed_topic_names=[])
        assert [each.topic_name for each in world.member("D").assignment.topic_partitions] == [revoked, kept]
        world.beat("D", member_epoch=LEAVE)


def test_even_votes_are_won_by_who_casts_one_alone_and_else_by_uniform() -> None:
    """ConsumerGroup.computePreferredServerAssignor counts in a copied map, in which a single vote comes first."""
    world, found = ConsumerWorld(), []
    for member, assignor in (("A", "uniform"), ("B", "range"), ("C", None), ("D", "uniform"), ("E", "range"), ("F", "range")):
        world.join(member, server_assignor=assignor)
        assert world.group is not None
        found.append((world.group.protocol_name, world.described()[0].assignor_name))
    told = [("uniform", "uniform"), ("range", "uniform"), ("uniform", "uniform"), ("uniform", "uniform")]
    assert found == [*told, ("uniform", "uniform"), ("range", "range")]


def test_another_preferred_assignor_needs_another_target() -> None:
    """KAFKA-20434: the vote of a heartbeat counts, but only if it changes the assignor of the group."""
    world = ConsumerWorld(group_consumer_assignment_interval_ms=1000)
    world.join("A")
    world.beat("A", server_assignor="uniform")
    assert world.state() == ("Stable", 2, 2), "uniform is the first assignor, which the group used without a vote"
    assert world.beat("A", server_assignor="range") == (2, None)
    assert world.state() == ("Assigning", 3, 2)
    world.sleep(1000)
    assert world.beat("A") == (3, None)
    assert (world.group and world.group.protocol_name, world.state()) == ("range", ("Stable", 3, 3))


def test_a_static_member_that_returns_with_another_assignor_needs_another_target() -> None:
    world = ConsumerWorld()
    world.join("A", instance_id="i")
    world.beat("A", member_epoch=GO_AWAY, instance_id="i")
    assert world.join("B", instance_id="i", server_assignor="range") == (3, ALL)
    world.beat("B", member_epoch=GO_AWAY, instance_id="i")
    assert world.join("C", instance_id="i") == (3, ALL), "it has the vote of the member whose place it takes"
    assert world.described()[0].assignor_name == "range"


def test_a_member_whose_lone_vote_wins_only_in_its_own_heartbeats_raises_the_epoch_with_each() -> None:
    """Kafka 4.4.0 compares the winner of all votes with the winner of a copy in which the sender's vote was counted anew (seen there)."""
    world = ConsumerWorld()
    world.join("A", server_assignor="uniform")
    world.join("B", server_assignor="range")
    world.beat("A", owned=[0, 1, 2])
    epochs = [world.beat("B").epoch for _ in range(3)]
    assert epochs == [4, 5, 6]
    before = world.state()
    world.beat("A")
    assert world.state()[1] == before[1], "uniform wins the tie in the heartbeats of its own member"


def test_before_4_4_another_assignor_computes_nothing() -> None:
    world = ConsumerWorld(quirks=Quirks(assignor_change_computes_nothing=True))
    world.join("A")
    assert world.beat("A", server_assignor="range") == (2, None)
    assert (world.state(), world.described()[0].assignor_name) == (("Stable", 2, 2), "range")


def test_who_waits_is_told_what_it_has_as_it_is_laid_out_anew_each_time() -> None:
    world = ConsumerWorld()
    world.topic("w", 9)

    def numbers(member: str, epoch: int, owned: list[int], **fields: Any) -> list[int]:
        own = [TopicPartitions(topic_id=world.topic_id("w"), partitions=owned)]
        (told,) = world.raw(member_id=member, member_epoch=epoch, topic_partitions=own, **fields).assignment.topic_partitions
        return list(told.partitions)

    for name in "AB":
        world.join(name, "w")
    assert (numbers("A", 2, list(range(5))), numbers("B", 3, [])) == ([0, 1, 2, 3, 4], [5, 6, 7, 8])
    world.join("C", "w")
    assert (numbers("A", 3, [0, 1, 2]), numbers("C", 4, [])) == ([0, 1, 2], [3, 4])
    assert numbers("C", 4, [3, 4], rebalance_timeout_ms=9, subscribed_topic_names=["w"]) == [4, 3], "8 is not free yet"


def test_an_instance_id_that_a_member_takes_later_has_no_target_yet() -> None:
    """ConsumerGroup.targetAssignment searches by the instance id and finds nothing, so the member loses all partitions (seen on 4.3.0)."""
    world = ConsumerWorld()
    world.join("A")
    world.join("B")
    assert world.join("A", instance_id="i") == (3, [])
    assert world.shown("A") == (3, [], [0, 1, 2])


def test_a_member_that_changes_its_instance_id_gives_the_former_one_up() -> None:
    world = ConsumerWorld()
    world.join("A", instance_id="i")
    world.join("A", instance_id="j")
    assert world.refused(member_epoch=2, instance_id="i") == (25, "Instance id i is unknown.")
    assert world.join("B", instance_id="i").epoch == 3


def test_before_4_4_every_instance_id_that_a_member_had_is_its_own_until_it_goes() -> None:
    world = ConsumerWorld(quirks=Quirks(former_instance_ids_stay=True))
    world.join("A", instance_id="i")
    world.join("A", instance_id="j")
    assert world.beat("A", instance_id="i").epoch == 2
    assert world.refused(member_id="B", member_epoch=2, instance_id="j")[0] == 82
    world.raw(member_epoch=LEAVE, instance_id="j")
    assert [world.refused(member_epoch=2, instance_id=each)[0] for each in ("i", "j")] == [25, 25]
    assert world.join("B", instance_id="i").epoch == 4
