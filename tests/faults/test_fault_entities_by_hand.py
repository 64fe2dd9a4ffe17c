"""A fault for one partition or group of a request leaves the other ones and later rules as they would be without the fault."""

from __future__ import annotations

from typing import Any

import pytest
from cases import for_each

from groupmock.faults.plan import BadPlan, id_text
from groupmock.rig import KeptRows, WireRig
from groupmock.rig.wire import read_response, request
from groupmock_codec import error_codes
from groupmock_codec.messages.k00_produce import PartitionProduceData, ProduceRequest, TopicProduceData
from groupmock_codec.messages.k01_fetch import FetchPartition, FetchRequest, FetchTopic
from groupmock_codec.messages.k03_metadata import MetadataRequest, MetadataRequestTopic
from groupmock_codec.messages.k08_offset_commit import OffsetCommitRequest, OffsetCommitRequestPartition, OffsetCommitRequestTopic
from groupmock_codec.messages.k09_offset_fetch import OffsetFetchRequest, OffsetFetchRequestGroup, OffsetFetchRequestTopics
from groupmock_codec.messages.k13_leave_group import LeaveGroupRequest, MemberIdentity
from groupmock_codec.records import NewRecord, encode_batch

INVALID = error_codes.INVALID_COMMIT_OFFSET_SIZE
BATCH = encode_batch([NewRecord(value=b"v", timestamp=1)])


def house(*rules: dict[str, Any], **more: Any) -> WireRig:
    rig = WireRig.make(topics={"orders": 3, "bills": 2}, settings={"group.initial.rebalance.delay.ms": 0}, **more)
    if rules:
        rig.command("add_faults", rules=[{"name": f"r{place}", **rule} for place, rule in enumerate(rules)])
    return rig


def ask(rig: WireRig, key: int, version: int, message: Any, wire: Any = None) -> Any:
    wire = wire or rig.connect()
    wire.send(request(key, version, message, 7, "c"))
    rig.sleep(2)
    (frame,) = wire.take()
    return read_response(key, version, frame, 7)[1]


def fired(rig: WireRig) -> list[int]:
    return [report.fired for report in rig.driver.rules.reports()]


def commit(topics: dict[str, list[int]]) -> OffsetCommitRequest:
    return OffsetCommitRequest(
        group_id="g",
        topics=[
            OffsetCommitRequestTopic(
                name=name, partitions=[OffsetCommitRequestPartition(partition_index=each, committed_offset=7) for each in partitions]
            )
            for name, partitions in topics.items()
        ],
    )


def told(answer: Any) -> dict[tuple[str, int], int]:
    return {(topic.name, each.partition_index): each.error_code for topic in answer.topics for each in topic.partitions}


def committed(rig: WireRig) -> list[tuple[str, int]]:
    group = rig.core.cluster.groups.find("g")
    return sorted(place for place, _ in group.offsets.items()) if group is not None else []


def refuse(stage: str | None = None, code: int = INVALID, level: str | None = None, **when: Any) -> dict[str, Any]:
    do = {"kind": "error", "code": code} | ({"level": level} if level else {})
    return {"when": when, "do": do} | ({"stage": stage} if stage else {})


@pytest.mark.parametrize("stage", ["request", "reply"])
def test_a_commit_of_which_one_partition_is_refused(stage: str) -> None:
    """A fault at stage `request` removes the partition from the commit, so the coordinator never sees it. At stage reply the commit is
    applied although the answer says otherwise."""
    rig = house(refuse(stage, api="OffsetCommit", topic="orders", partition=1))
    answer = ask(rig, 8, 8, commit({"orders": [0, 1, 2], "bills": [1]}))
    assert told(answer) == {("orders", 0): 0, ("orders", 1): INVALID, ("orders", 2): 0, ("bills", 1): 0}
    kept = [("bills", 1), ("orders", 0), ("orders", 2)]
    assert committed(rig) == (kept if stage == "request" else sorted([*kept, ("orders", 1)]))


def test_the_row_of_the_fault_says_which_were_struck() -> None:
    kept = KeptRows(kinds=["fault"])
    rig = house(refuse("request", 28, api="OffsetCommit", partition=1), refuse("reply", 28, api="OffsetFetch", version="8-", group="h"))
    rig.journal.add(kept)
    ask(rig, 8, 8, commit({"orders": [0, 1], "bills": [1]}))
    ask(rig, 9, 8, of_groups())
    assert [row.fields for row in kept.of("fault")] == [{"code": 28, "struck": ["orders/1", "bills/1"]}, {"code": 28, "struck": ["h"]}]


def test_it_needs_one_entity_that_is_all_of_it() -> None:
    rig = house(refuse(api="OffsetCommit", topic="bills", partition=2))
    assert set(told(ask(rig, 8, 8, commit({"orders": [2], "bills": [1]}))).values()) == {0}
    report = rig.driver.rules.registry.report("r0")
    assert report.fired == 0 and report.near_miss is not None
    assert report.near_miss.failed == ["partition is orders/2, bills/1, wanted 2"]


@pytest.mark.parametrize("stage", ["request", "reply"])
def test_the_first_rule_has_the_word_for_an_entity_and_the_others_for_the_rest(stage: str) -> None:
    rig = house(refuse(stage, 28, api="OffsetCommit", partition=1), refuse(stage, 12, api="OffsetCommit", topic="orders"))
    assert told(ask(rig, 8, 8, commit({"orders": [0, 1], "bills": [0]}))) == {("orders", 0): 12, ("orders", 1): 28, ("bills", 0): 0}
    assert fired(rig) == [1, 1]
    assert told(ask(rig, 8, 8, commit({"orders": [1]}))) == {("orders", 1): 28}
    assert fired(rig) == [2, 1]


def test_what_is_struck_whole_never_reaches_the_core() -> None:
    rig = house(refuse("request", api="OffsetCommit", topic="*"))
    assert set(told(ask(rig, 8, 8, commit({"orders": [0, 1], "bills": [0]}))).values()) == {INVALID}
    assert rig.core.cluster.groups.find("g") is None


def test_a_fault_for_the_whole_call_comes_on_top() -> None:
    delay = {"when": {"api": "OffsetCommit"}, "stage": "request", "do": {"kind": "delay", "seconds": 1}}
    rig = house(refuse("request", api="OffsetCommit", partition=1), delay)
    wire = rig.connect()
    wire.send(request(8, 8, commit({"orders": [0, 1]}), 7, "c"))
    rig.sleep(900)
    assert wire.take() == [] and committed(rig) == []
    rig.sleep(200)
    (frame,) = wire.take()
    assert told(read_response(8, 8, frame, 7)[1]) == {("orders", 0): 0, ("orders", 1): INVALID}


def test_a_rule_that_fired_out_in_the_middle_of_a_call_still_answers_for_its_entity() -> None:
    """A partition for which a fault rule has fired for the last time still gets the rule's error when the answer is built."""
    rig = house(refuse("request", api="OffsetCommit", partition=1) | {"times": 1})
    assert told(ask(rig, 8, 8, commit({"orders": [0, 1]})))[("orders", 1)] == INVALID
    assert rig.driver.gate is None
    assert told(ask(rig, 8, 8, commit({"orders": [0, 1]})))[("orders", 1)] == 0


def test_who_hangs_up_leaves_nothing_behind() -> None:
    hold = {"when": {"api": "OffsetCommit"}, "stage": "request", "do": {"kind": "delay", "seconds": 60}, "times": 1}
    rig = house(refuse("request", api="OffsetCommit", partition=1) | {"times": 1}, hold)
    wire = rig.connect()
    wire.send(request(8, 8, commit({"orders": [0, 1]}), 7, "c"))
    wire.hang_up()
    rig.sleep(61_000)
    rig.command("seed_faults", seed=1)
    assert rig.driver.gate is None


# -- levels --------------------------------------------------------------------------------------------------------------


def of_groups() -> OffsetFetchRequest:
    topics = [OffsetFetchRequestTopics(name="orders", partition_indexes=[0, 1])]
    return OffsetFetchRequest(groups=[OffsetFetchRequestGroup(group_id=each, topics=topics) for each in "gh"])


LEVELS: dict[str, tuple[dict[str, Any], list[tuple[str, int, list[int]]]]] = {
    "what when names": ({"partition": 1}, [("g", 0, [0, 28]), ("h", 0, [0, 28])]),
    "a group": ({"group": "g"}, [("g", 28, []), ("h", 0, [0, 0])]),
    "a partition of a group": ({"group": "g", "partition": 0}, [("g", 0, [28, 0]), ("h", 0, [0, 0])]),
    "every partition of a group": ({"group": "g", "level": "partition"}, [("g", 0, [28, 28]), ("h", 0, [0, 0])]),
    "every group": ({"level": "group"}, [("g", 28, []), ("h", 28, [])]),
    "the group of a partition": ({"group": "h", "partition": 0, "level": "group"}, [("g", 0, [0, 0]), ("h", 28, [])]),
}


@pytest.mark.parametrize("stage", ["request", "reply"])
@for_each(("said", "expected"), LEVELS.values(), ids=LEVELS)
def test_an_error_stands_at_the_level_that_is_said(said: dict[str, Any], expected: Any, stage: str) -> None:
    rig = house(refuse(stage, 28, api="OffsetFetch", version="8-9", **said))
    found = ask(rig, 9, 8, of_groups()).groups
    shown = {}
    for group in found:
        partitions = {each.partition_index: each.error_code for topic in group.topics for each in topic.partitions}
        shown[group.group_id] = (group.error_code, partitions)
    assert shown == {group: (code, dict(enumerate(codes))) for group, code, codes in expected}


EMPTIED: dict[str, dict[str, Any]] = {
    "its topic": {"topic": "orders", "group": "g"},
    "its partitions": {"group": "g", "partition": [0, 1]},
    "its topic, as a level": {"group": "g", "level": "topic"},
}


@pytest.mark.parametrize("stage", ["request", "reply"])
@for_each("said", EMPTIED.values(), ids=EMPTIED)
def test_a_group_of_which_everything_is_left_out_is_still_answered(said: dict[str, Any], stage: str) -> None:
    when, do = dict(said), {"kind": "leave_out"}
    if "level" in when:
        do["level"] = when.pop("level")
    rig = house({"when": {"api": "OffsetFetch", "version": "8-", **when}, "do": do, "stage": stage})
    found = ask(rig, 9, 8, of_groups()).groups
    assert {each.group_id: [topic.name for topic in each.topics] for each in found} == {"g": [], "h": ["orders"]}
    assert [each.error_code for each in found] == [0, 0]
    only = ask(rig, 9, 8, OffsetFetchRequest(groups=of_groups().groups[:1])).groups
    assert [(each.group_id, each.topics) for each in only] == [("g", [])]


def test_a_topic_with_an_error_of_its_own_is_told_without_partitions_and_another_goes_with_its_last() -> None:
    rig = house(
        {"when": {"api": "Metadata", "topic": "bills"}, "stage": "reply", "do": {"kind": "leave_out", "level": "partition"}},
        {"when": {"api": "OffsetCommit", "topic": "bills"}, "stage": "reply", "do": {"kind": "leave_out", "level": "partition"}},
    )
    shown = {each.name: (each.error_code, len(each.partitions)) for each in ask(rig, 3, 9, MetadataRequest(topics=None)).topics}
    assert shown == {"orders": (0, 3), "bills": (0, 0)}
    assert [each.name for each in ask(rig, 8, 8, commit({"orders": [0], "bills": [0]})).topics] == ["orders"]


@for_each("version", range(14))
def test_metadata_is_told_without_brokers(version: int) -> None:
    rig = house({"when": {"api": "Metadata"}, "do": {"kind": "leave_out", "level": "broker"}, "times": 1})
    topics: list[Any] | None = None if version else []
    first, second = (ask(rig, 3, version, MetadataRequest(topics=topics)) for _ in range(2))
    assert (first.brokers, len(second.brokers)) == ([], 1)
    assert [each.name for each in first.topics] == [each.name for each in second.topics] == ["orders", "bills"]


def test_a_member_that_leaves_among_others_and_the_whole_request() -> None:
    leaving = LeaveGroupRequest(group_id="g", members=[MemberIdentity(member_id=each) for each in ("a", "b")])
    rig = house(refuse("reply", 82, api="LeaveGroup", version="3-", member_id="b"))
    answer = ask(rig, 13, 4, leaving)
    assert (answer.error_code, [each.error_code for each in answer.members]) == (0, [25, 82])
    whole = house(refuse("reply", 16, "request", api="LeaveGroup", version="3-", member_id="b"))
    assert ask(whole, 13, 4, leaving).error_code == 16


# -- fetches and topic ids -----------------------------------------------------------------------------------------------


def fetch(topics: list[FetchTopic], session: int = 0, epoch: int = 0, wait: int = 0) -> FetchRequest:
    return FetchRequest(
        replica_id=-1, max_wait_ms=wait, min_bytes=1, max_bytes=1 << 20, session_id=session, session_epoch=epoch, topics=topics
    )


def asking(name: str, *partitions: int, topic_id: bytes = bytes(16), offset: int = 0) -> FetchTopic:
    parts = [FetchPartition(partition=each, partition_max_bytes=1 << 20, fetch_offset=offset) for each in partitions]
    return FetchTopic(topic=name, topic_id=topic_id, partitions=parts)


def got(answer: Any) -> dict[int, int]:
    return {each.partition_index: each.error_code for topic in answer.responses for each in topic.partitions}


@pytest.mark.parametrize("stage", ["request", "reply"])
def test_a_partition_of_a_fetch_session_is_struck_though_no_request_names_it(stage: str) -> None:
    """The fetch session keeps the partition, so the partition is fetched again once the fault rule is gone."""
    rig = house()
    wire = rig.connect()
    session = ask(rig, 1, 11, fetch([asking("orders", 0, 1)]), wire).session_id
    assert session
    rig.command("add_faults", rules=[refuse(stage, 6, api="Fetch", topic="orders", partition=1)])
    assert got(ask(rig, 1, 11, fetch([], session, 1), wire)) == {1: 6}
    rig.command("append", topic="orders", partition=0, batch=BATCH)
    rig.command("append", topic="orders", partition=1, batch=BATCH)
    assert got(ask(rig, 1, 11, fetch([], session, 2), wire)) == {0: 0, 1: 6}
    rig.command("clear_faults")
    (topic,) = ask(rig, 1, 11, fetch([asking("orders", 0, offset=1)], session, 3), wire).responses
    assert [(each.partition_index, each.error_code, bool(each.records)) for each in topic.partitions] == [(1, 0, True)]


def test_a_struck_partition_ends_the_wait_of_a_fetch() -> None:
    """A partition error ends the wait of a Fetch. With a fault at stage reply the Fetch waits first."""
    rig = house(refuse("request", 6, api="Fetch", topic="orders", partition=1))
    assert got(ask(rig, 1, 11, fetch([asking("orders", 0, 1)], wait=30_000))) == {0: 0, 1: 6}


@for_each("written", ["stale", "its text", "its digits"])
def test_a_stale_topic_id_after_delete_and_create(written: str) -> None:
    rig = house()
    old = rig.core.cluster.topics.topic_id("orders") or b""
    other = rig.core.cluster.topics.topic_id("bills") or b""
    rig.command("delete_topic", name="orders")
    rig.command("create_topic", name="orders", partitions=3)
    new = rig.core.cluster.topics.topic_id("orders") or b""
    text = {"stale": "stale", "its text": id_text(old), "its digits": old.hex()}[written]
    rig.command("add_faults", rules=[refuse("request", 103, api="Fetch", version="13-", topic_id=text)])
    answer = ask(rig, 1, 13, fetch([asking("", 0, topic_id=each) for each in (old, other, new)]))
    assert {topic.topic_id: [each.error_code for each in topic.partitions] for topic in answer.responses} == {
        old: [103],
        other: [0],
        new: [0],
    }
    assert ask(rig, 1, 12, fetch([asking("orders", 0)])).responses[0].partitions[0].error_code == 0


def test_a_record_of_a_struck_partition_is_not_written() -> None:
    rig = house(refuse("request", 6, api="Produce", topic="orders", partition=1))
    data = [TopicProduceData(name="orders", partition_data=[PartitionProduceData(index=each, records=BATCH) for each in (0, 1)])]
    for acks in (1, 0):
        wire = rig.connect()
        wire.send(request(0, 7, ProduceRequest(acks=acks, timeout_ms=100, topic_data=data), 7, "c"))
        answers = wire.take()
        if acks:
            (topic,) = read_response(0, 7, answers[0], 7)[1].responses
            assert [(each.index, each.error_code, each.base_offset) for each in topic.partition_responses] == [(0, 0, 0), (1, 6, -1)]
    ends = [rig.core.cluster.topics.require_partition("orders", each).end for each in (0, 1)]
    assert ends == [2, 0]
    rig.command("clear_faults")
    assert rig.driver.gate is None


# -- Metadata ------------------------------------------------------------------------------------------------------------


@for_each("version", [0, 1, 9, 12])
def test_the_only_topic_of_a_metadata_request_is_refused_and_the_nodes_are_told(version: int) -> None:
    rig = house(refuse("request", 5, api="Metadata", topic="orders"))
    answer = ask(rig, 3, version, MetadataRequest(topics=[MetadataRequestTopic(name="orders")]))
    assert [(topic.name, topic.error_code, topic.partitions) for topic in answer.topics] == [("orders", 5, [])]
    assert len(answer.brokers) == 1


def test_a_partition_that_only_the_answer_names() -> None:
    rig = house(refuse("reply", 5, api="Metadata", topic="orders", partition=1))
    answer = ask(rig, 3, 9, MetadataRequest(topics=None))
    shown = {(topic.name, each.partition_index): (each.error_code, each.leader_id) for topic in answer.topics for each in topic.partitions}
    assert {place: each for place, each in shown.items() if each != (0, 1)} == {("orders", 1): (5, -1)}
    assert len(shown) == 5


# -- what cannot be --------------------------------------------------------------------------------------------------------

REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "no partition in a heartbeat": (refuse(api="Heartbeat", partition=1), "partition can never hold: a request of Heartbeat"),
    "a partition before the answer": (refuse("request", api="Metadata", version="0-12", partition=1), "partition can never hold"),
    "no id in names": (refuse(api="Fetch", version="-12", topic_id="stale"), "topic_id can never hold"),
    "no topic id": (refuse(api="Fetch", topic_id="orders"), "topic_id: 'orders' is no topic id: write it as Kafka does"),
    "a level that is not there": (refuse(api="OffsetCommit", level="group"), "what can be said is level = topic, partition"),
    "no error for all": (refuse(api="OffsetCommit", level="request"), "no error for the whole request: its levels are topic, partition"),
    "no level of that name": (
        refuse(api="OffsetCommit", level="partitions"),
        "no level 'partitions' (did you mean partition?): there are request, group",
    ),
    "an old version without the level": (
        refuse(api="OffsetFetch", group="g", level="group"),
        'what can be said is level = topic, partition; in others it can: say version = "8-"',
    ),
    "a version that has no parts": (
        {"when": {"api": "LeaveGroup", "version": "1-"}, "do": {"kind": "leave_out", "level": "member"}},
        'of LeaveGroup v1: its answer has nothing for each member: what can be said is level = request; in others it can: say version = "3',
    ),
    "brokers before the answer": (
        {"when": {"api": "Metadata"}, "stage": "request", "do": {"kind": "leave_out", "level": "broker"}},
        "its request names no broker, only its answer does: use stage = 'reply'",
    ),
    "leaving out all of Metadata": (
        {"when": {"api": "Metadata"}, "do": {"kind": "leave_out"}},
        "name them in `when`, or say level = topic, partition, broker",
    ),
    "a level of another name": (
        {"when": {"api": "Metadata"}, "do": {"kind": "leave_out", "level": "brokers"}},
        "no level 'brokers' (did you mean broker?): there are group, topic, partition, resource, member, transaction, broker",
    ),
    "brokers of a commit": (
        {"when": {"api": "OffsetCommit"}, "do": {"kind": "leave_out", "level": "broker"}},
        "its answer names no brokers: Metadata and DescribeCluster do",
    ),
    "leaving out everything": ({"when": {"api": "OffsetCommit"}, "do": {"kind": "leave_out"}}, "name them in `when`, or say level = topic"),
    "leaving out of what has no parts": ({"when": {"api": "Heartbeat"}, "do": {"kind": "leave_out"}}, "has no parts to leave out"),
}


@for_each(("rule", "text"), REFUSED.values(), ids=REFUSED)
def test_what_cannot_be_is_refused_with_the_remedy(rule: dict[str, Any], text: str) -> None:
    with pytest.raises(BadPlan) as refused:
        house(rule)
    assert text in str(refused.value)


def test_other_kinds_may_ask_for_an_entity_too() -> None:
    rig = house({"when": {"api": "OffsetCommit", "topic": "orders", "partition": 1}, "stage": "request", "do": {"kind": "observe"}})
    ask(rig, 8, 8, commit({"orders": [0, 2], "bills": [1]}))
    assert fired(rig) == [0]
    assert set(told(ask(rig, 8, 8, commit({"orders": [0, 1]}))).values()) == {0}
    assert fired(rig) == [1]
