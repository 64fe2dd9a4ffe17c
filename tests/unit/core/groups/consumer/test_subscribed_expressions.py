"""Regular expressions of a subscription are resolved and cause new assignments as on Kafka (docs/kafka/consumer-groups.md; CG-110 to
CG-117)."""

from __future__ import annotations

from typing import Any, Final

from consumer_world import LEAVE, ConsumerWorld

BOTH: Final = [("t", [0, 1, 2, 3, 4, 5]), ("u", [0, 1])]


def world_of(regex: str, *names: str) -> ConsumerWorld:
    """Return a group that A has joined with the expression, which is resolved already."""
    world = ConsumerWorld()
    asked: dict[str, Any] = {"subscribed_topic_regex": regex, "subscribed_topic_names": list(names) or None}
    assert world.join("A", **asked).epoch == (2 if names else 1)
    world.sleep(1)
    return world


def test_a_new_one_matches_nothing_until_it_was_resolved_in_the_background() -> None:
    world = world_of("[tu]")
    assert world.state() == ("Assigning", 2, 1)
    assert world.beat() == (2, BOTH)
    assert world.member("A").subscribed_topic_regex == "[tu]"


def test_the_whole_name_must_match() -> None:
    world = world_of("x|tt?")
    assert world.beat() == (2, [0, 1, 2, 3, 4, 5])


def test_one_that_another_member_has_is_known_at_once() -> None:
    world = world_of("t")
    world.beat()
    assert world.join("B", subscribed_topic_regex="t", subscribed_topic_names=None) == (3, [])
    assert world.state() == ("Reconciling", 3, 3)


def test_names_and_matches_are_one_subscription() -> None:
    world = world_of("u", "t")
    assert world.beat() == (3, BOTH)


def test_nothing_that_matches_calls_for_nothing() -> None:
    world = world_of("nowhere")
    assert world.beat() == (1, None)
    assert world.state() == ("Stable", 1, 1)


def test_topics_made_later_are_found_ten_seconds_after_the_last_look() -> None:
    world = world_of("t|later")
    world.beat()
    world.topic("later")
    world.sleep(5_000)
    assert world.beat() == (2, None)
    world.sleep(1)
    assert world.state() == ("Stable", 2, 2)
    world.sleep(6_000)
    assert world.beat() == (2, None), "this one has it looked for"
    world.sleep(1)
    assert world.beat() == (3, [("later", [0]), ("t", [0, 1, 2, 3, 4, 5])])


def test_dropping_it_calls_for_another_target_at_once() -> None:
    world = world_of("t")
    world.beat()
    assert world.beat(subscribed_topic_regex="") == (2, [])
    assert world.beat(owned=[]) == (3, None)


def test_the_only_one_replaced_by_one_that_matches_nothing_calls_for_another_target() -> None:
    world = world_of("t")
    world.beat()
    assert world.beat(subscribed_topic_regex="nowhere") == (2, [])
    assert world.beat(owned=[]) == (2, None)
    world.sleep(1)  # Kafka 4.3.0 resolved the new expression with the previous heartbeat, when the old expression was gone.
    assert world.state() == ("Assigning", 3, 2)
    assert world.beat(owned=[]) == (3, None)
    assert world.beat(subscribed_topic_regex="nowhere else") == (3, None)
    world.sleep(1)
    assert world.state() == ("Stable", 3, 3)


def test_another_one_takes_everything_until_it_is_resolved() -> None:
    world = world_of("t")
    world.beat()
    assert world.beat(subscribed_topic_regex="u") == (2, [])
    world.sleep(1_000)
    assert world.beat(owned=[]) == (2, None), "the group's only one was resolved a moment ago, when the new one came"
    # The old expression was removed with its last user, so the group no longer waits for the next resolution of expressions.
    world.sleep(1)
    assert world.beat(owned=[]) == (3, [("u", [0, 1])])


def test_a_second_one_waits_until_the_last_look_is_ten_seconds_old() -> None:
    world = world_of("t")
    world.beat()
    assert world.join("B", subscribed_topic_regex="u", subscribed_topic_names=None) == (2, [])
    world.sleep(9_000)
    assert world.beat("B") == (2, None)
    world.sleep(1_500)
    world.beat("B")
    world.sleep(1)
    assert world.beat("B") == (3, [("u", [0, 1])])


def test_a_bad_one_makes_no_group_and_leaves_a_member_as_it_was() -> None:
    world = ConsumerWorld()
    asked: dict[str, Any] = {"subscribed_topic_regex": "(", "rebalance_timeout_ms": 9, "topic_partitions": []}
    text = "SubscribedTopicRegex `(` is not a valid regular expression: missing closing )."
    assert world.refused(member_epoch=0, **asked) == (128, text)
    assert world.group is None
    world.join("A")
    assert world.refused(member_epoch=2, subscribed_topic_regex="(") == (128, text)
    assert world.state() == ("Stable", 2, 2)


def test_its_offsets_are_in_use_while_it_matches() -> None:
    world = world_of("u")
    group = world.group
    assert group is not None
    assert (group.subscribed_to("u"), group.subscribed_to("t")) == (True, False)
    world.beat(member_epoch=LEAVE)
    assert not group.subscribed_to("u")


def test_members_subscribe_alike_by_one_expression_of_all_or_by_the_same_names() -> None:
    world = world_of("t")
    assert world.group is not None
    found = [world.group.alike()]
    world.join("B", subscribed_topic_regex="t", subscribed_topic_names=None)
    found.append(world.group.alike())
    world.join("B", "u", subscribed_topic_regex="t")
    found.append(world.group.alike())
    world.join("A", "u", subscribed_topic_regex="")
    world.join("B", "u", subscribed_topic_regex="")
    found.append(world.group.alike())
    assert found == [True, True, False, True]


def test_who_joins_with_nothing_is_in_a_group_that_subscribed_alike_before() -> None:
    """Kafka recomputes the kind of subscription only when the group epoch increases, so all members get B's empty subscription (seen on
    4.3.0)."""
    world = ConsumerWorld()
    world.join("C", subscribed_topic_regex="t", subscribed_topic_names=None)
    world.sleep(1)
    assert world.join("B", subscribed_topic_names=[]) == (2, [])
    assert world.beat("C", owned=[]) == (2, None)


def test_an_expression_that_goes_with_its_member_is_counted_once_more() -> None:
    """Kafka removes the member before the topics of its expression, so the group counts as having different subscriptions until the next
    member is stored (seen on 4.3.0). Therefore a member that joins without topics takes no partitions away."""
    world = world_of("u")
    world.beat()
    assert world.join("C") == (3, [0, 1, 2, 3, 4, 5])
    world.beat("A", member_epoch=LEAVE)
    assert world.group is not None
    assert not world.group.alike()
    assert world.join("B", subscribed_topic_names=[]) == (4, [])
    assert world.shown("C")[2] == [0, 1, 2, 3, 4, 5]
    assert not world.group.alike(), "B has no names"
    world.raw(member_id="B", member_epoch=LEAVE)
    assert world.group.alike()


def test_to_lose_what_it_matched_is_a_step_after_which_no_answer_before_it_is_healed() -> None:
    world = world_of("t")
    world.beat()
    assert world.beat(subscribed_topic_regex="u") == (2, [])
    assert world.refused(member_epoch=1, topic_partitions=[])[0] == 110
