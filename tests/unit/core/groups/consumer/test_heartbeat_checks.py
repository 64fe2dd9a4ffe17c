"""Refused heartbeats change nothing, and the checks have Kafka's order (docs/kafka/consumer-groups.md; CG-02, CG-10 to CG-40)."""

from __future__ import annotations

from typing import Any, Final

from cases import for_each
from consumer_world import GO_AWAY, LEAVE, ConsumerWorld

from groupmock.core.settings import Quirks
from groupmock_codec.messages.k68_consumer_group_heartbeat import TopicPartitions

FENCE: Final = "The member must abandon all its partitions and rejoin."
JOINING: Final[dict[str, Any]] = {
    "member_epoch": 0, "rebalance_timeout_ms": 60_000, "subscribed_topic_names": ["t"], "topic_partitions": []
}  # fmt: skip
BAD: Final[dict[str, tuple[dict[str, Any], str]]] = {
    "no member id": ({"member_id": " "}, "MemberId can't be empty."),
    "no group id": ({"group_id": ""}, "GroupId can't be empty."),
    "a blank group id": ({"group_id": " "}, "GroupId can't be empty."),
    "an empty instance": ({"instance_id": ""}, "InstanceId can't be empty."),
    "a blank rack": ({"rack_id": " "}, "RackId can't be empty."),
    "no timeout": ({"rebalance_timeout_ms": -1}, "RebalanceTimeoutMs must be provided in first request."),
    "owned not said": ({"topic_partitions": None}, "TopicPartitions must be empty when (re-)joining."),
    "something owned": (
        {"topic_partitions": [TopicPartitions(topic_id=bytes(16), partitions=[1])]}, "TopicPartitions must be empty when (re-)joining.",
    ),
    "a topic without partitions": (
        {"topic_partitions": [TopicPartitions(topic_id=bytes(16), partitions=[])]}, "TopicPartitions must be empty when (re-)joining.",
    ),
    "nothing subscribed": (
        {"subscribed_topic_names": None}, "Either SubscribedTopicNames or SubscribedTopicRegex must be non-null when (re-)joining.",
    ),
    "away without instance": ({"member_epoch": GO_AWAY}, "InstanceId can't be null."),
    "below all epochs": ({"member_epoch": -3}, "MemberEpoch is invalid."),
}  # fmt: skip


@for_each("what", list(BAD))
def test_what_is_refused_by_itself(what: str) -> None:
    world = ConsumerWorld()
    changed, text = BAD[what]
    assert world.refused(**{**JOINING, **changed}) == (42, text)
    assert world.group is None


def test_the_first_of_several_faults_is_told() -> None:
    world = ConsumerWorld()
    faults: dict[str, Any] = {"member_id": "", "group_id": "", "instance_id": "", "rack_id": "", "server_assignor": "sticky"}
    told = []
    for name, good in (("member_id", "A"), ("group_id", "g"), ("instance_id", "i"), ("rack_id", "r")):
        told.append(world.refused(**{**JOINING, **faults})[1])
        faults[name] = good
    assert told == ["MemberId can't be empty.", "GroupId can't be empty.", "InstanceId can't be empty.", "RackId can't be empty."]
    assert world.refused(**{**JOINING, **faults}) == (112, "ServerAssignor sticky is not supported. Supported assignors: uniform, range.")


def test_an_assignor_is_looked_at_at_any_epoch() -> None:
    world = ConsumerWorld()
    world.join()
    assert world.refused(member_epoch=2, server_assignor="")[0] == 112


@for_each("epoch, text", [(3, "Consumer group g not found."), (LEAVE, "Group g not found."), (GO_AWAY, "Group g not found.")])
def test_an_unknown_group(epoch: int, text: str) -> None:
    assert ConsumerWorld().refused(member_epoch=epoch, instance_id="i") == (69, text)


def test_an_empty_classic_group_gives_way_and_its_offsets_stay() -> None:
    world = ConsumerWorld()
    assert world.commit() == 0
    assert world.join().epoch == 2
    assert world.fetched("A", 2) == (0, [5])


def test_a_full_group_admits_only_its_members_and_their_instances() -> None:
    world = ConsumerWorld(group_consumer_max_size=1)
    world.join("A", instance_id="i")
    full = (81, "The consumer group has reached its maximum capacity of 1 members.")
    assert world.refused(**{**JOINING, "member_id": "B"}) == full
    assert world.refused(**{**JOINING, "member_id": "B", "instance_id": "j"}) == full
    assert world.refused(**{**JOINING, "member_id": "B", "instance_id": "i"})[0] == 111
    assert world.refused(member_id="B", member_epoch=2, instance_id="i")[0] == 82
    world.beat("A", member_epoch=GO_AWAY, instance_id="i")
    assert world.join("B", instance_id="i").epoch == 2


def test_a_full_group_before_4_4_refuses_a_known_instance_with_another_id() -> None:
    world = ConsumerWorld(group_consumer_max_size=1, quirks=Quirks(full_group_refuses_known_instances=True))
    world.join("A", instance_id="i")
    full = (81, "The consumer group has reached its maximum capacity of 1 members.")
    assert world.refused(**{**JOINING, "member_id": "B"}) == full
    assert world.refused(member_id="B", member_epoch=5) == full
    world.beat("A", member_epoch=GO_AWAY, instance_id="i")
    assert world.refused(**{**JOINING, "member_id": "B", "instance_id": "i"}) == full
    assert world.join("A", instance_id="i").epoch == 2


def test_members_that_nobody_knows() -> None:
    world = ConsumerWorld()
    world.join()
    assert world.refused(member_id="B", member_epoch=2) == (25, "Member B is not a member of group g.")
    assert world.refused(member_id="B", member_epoch=LEAVE) == (25, "Member B is not a member of group g.")
    assert world.refused(member_epoch=2, instance_id="i") == (25, "Instance id i is unknown.")


def test_instances_of_others() -> None:
    world = ConsumerWorld()
    world.join("A", instance_id="i")
    fenced = (82, "Static member B with instance id i was fenced by member A.")
    assert [world.refused(member_id="B", member_epoch=epoch, instance_id="i") for epoch in (2, LEAVE, GO_AWAY)] == [fenced] * 3
    text = "Static member {} with instance id i cannot join the group because the instance id is owned by A member."
    assert world.refused(**{**JOINING, "member_id": "B", "instance_id": "i"}) == (111, text.format("B"))
    assert world.refused(**{**JOINING, "instance_id": "i"}) == (111, text.format("A")), "its own id, too"


def test_epochs_of_the_future_and_of_the_past() -> None:
    world = ConsumerWorld()
    world.join()
    head = "The consumer group member has a {} member epoch ({}) than the one known by the group coordinator (2)."
    assert world.refused(member_epoch=3) == (110, f"{head.format('greater', 3)} {FENCE}")
    assert world.refused(member_epoch=1) == (110, f"{head.format('smaller', 1)} {FENCE}")


def test_a_lost_answer_is_healed_once_by_who_owns_no_more_than_it_was_given() -> None:
    world = ConsumerWorld()
    world.join("A")
    world.join("B")
    world.beat("A", owned=[0, 1, 2, 3, 4, 5])
    world.beat("A", owned=[0, 1, 2])  # The member reaches epoch 3, but its answer counts as lost.
    assert world.refused(member_epoch=2)[0] == 110, "it must say what it owns"
    own = TopicPartitions(topic_id=world.topic_id("t"), partitions=[0, 1, 5])
    assert world.refused(member_epoch=2, topic_partitions=[own])[0] == 110, "5 was taken from it"
    none = TopicPartitions(topic_id=world.topic_id("u"), partitions=[])
    assert world.refused(member_epoch=2, topic_partitions=[none])[0] == 110, "a topic that it was not given counts without partitions, too"
    assert world.beat("A", member_epoch=2, owned=[0, 1]) == (3, None)
    assert world.beat("A", member_epoch=2, owned=[], rebalance_timeout_ms=1, subscribed_topic_names=["t"]) == (3, [0, 1, 2])


def test_epoch_0_of_a_living_member_is_a_clean_new_beginning() -> None:
    world = ConsumerWorld()
    world.join("A")
    world.join("B")
    world.beat("A")
    assert world.state() == ("Reconciling", 3, 3)
    assert world.join("A") == (3, [0, 1, 2]), "what it was to give up counts as given up"
    assert world.join("A", "t", "u")[0] == 4, "other names call for another target"


def test_switched_off_every_heartbeat_is_35_before_anything_is_looked_at() -> None:
    world = ConsumerWorld(group_coordinator_rebalance_protocols="classic")
    assert world.refused(member_id="", member_epoch=-7) == (35, None)
    (described,) = world.described()
    assert (described.error_code, described.error_message, described.group_state) == (35, None, "")


def test_v0_without_a_member_id_is_given_one_each_time() -> None:
    world = ConsumerWorld()
    made = [world.raw(0, **{**JOINING, "member_id": ""}).member_id for _ in range(2)]
    assert len(set(made)) == 2
    assert [len(each) for each in made] == [22, 22]
