"""Corner cases in which the audit rules about subscriptions and assignments could blame a correct client or miss a wrong one."""

from __future__ import annotations

from typing import Any

import pytest
from audit_examples import exchange_named, played, rows_of

from groupmock.audit import inside
from groupmock.audit.auditor import audit
from groupmock.audit.cooperative_example import ALONE, GIVEN_UP, HEADER, JOINED, ONE_TAKEN
from groupmock.audit.known_world import World
from groupmock.audit.rule import registered
from groupmock.audit.verdicts import BROKEN, KEPT, NOT_EXERCISED, NOT_JUDGED
from groupmock.journal.rows import RequestRow
from groupmock_codec.embedded import consumer
from groupmock_codec.embedded.consumer import Subscription, TopicPartitions

RANGE = 'topics: t1:2\nmember *: protocols=[p("range", sub("$t1"))]\n'
CONNECT = 'member *: rebalance_timeout_ms=1000 protocol_type=connect protocols=[p("compatible", worker(1, "u", 5))]\n'
METADATA = "A: Metadata topics=[{name: $t1}] -> any\n"
OFFSETS = "A: OffsetFetch v7 topics=null require_stable=true -> any\n"
READS = "A: Fetch v12 topics=[read($t1, 0, 0)] -> any\n"
COMES = "do enter(B)\nA: Heartbeat -> 27\npause 300\n"
OWNS = '1, held("$t1", 0, 1)'
GROWS = """
topics: t2:2[]
member *: protocols=[p("range", sub("$t2"))]
do completing1(A)
A: Metadata topics=[{name: $t2}] -> any
C: CreatePartitions topics=[{name: $t2, count: 3, assignments: null}] -> 0 eventually
pause 100
C: Metadata topics=[{name: $t2}] -> any
"""
GOES = """
topics: t2:2[]
member *: protocols=[p("range", sub("$t2"))]
do completing1(A)
A: Metadata topics=[{name: $t2}] -> any
A: SyncGroup assignments=[for($A.member_id, told(held("$t2", 0, 1)))] -> 0
C: DeleteTopics v4 topic_names=[$t2] timeout_ms=1000 -> 0
A: JoinGroup -> 0
"""
COMMIT_BY_ID = """
A: OffsetCommit v10 topics=[{topic_id: $t1.id, partitions: [{partition_index: 1, committed_offset: 5, committed_metadata: null}]}] -> 0
"""
FETCH_BY_ID = """
A: OffsetFetch v10 groups=[{group_id: $group, topics: [{topic_id: $t1.id, partition_indexes: [0]}]}] require_stable=true -> any
"""
BY_ID = "topics=[{topic_id: $t1.id, partitions: [{partition: 1, fetch_offset: 0, partition_max_bytes: 100}]}]"


def joins(says: str, answer: str = "0", topics: str = '["$t1"]') -> str:
    """Return the exchange text of a cooperative JoinGroup of A, whose Subscription has the fields `says` after its topics."""
    return f'A: JoinGroup protocols=[p("cooperative-sticky", subscribed(3, {topics}, {says}))] -> {answer}\n'


def sync(given: str) -> str:
    """Return a SyncGroup in which A assigns `given` to itself."""
    return f"A: SyncGroup assignments=[for($A.member_id, {given})] -> 0\n"


def first(given: str, protocol: str = "range") -> str:
    """Return an exchange in which A is alone in its group and assigns `given` to itself."""
    return f'topics: t1:2\nmember *: protocols=[p("{protocol}", sub("$t1"))]\ndo completing1(A)\n' + sync(given)


def both(of_a: str, of_b: str) -> str:
    """Return the SyncGroup requests of A, which is the leader, and of B, which has just joined."""
    return f"A: SyncGroup assignments=[for($A.member_id, {of_a}), for($B.member_id, {of_b})] -> 0\nB -> 0\n"


def second(of_b: str, of_a: str = "-1", before: str = "") -> str:
    """Return an exchange in which B joins while A owns both partitions. Both members send extra fields after the topics of their
    Subscriptions."""
    b = f'protocols=[p("cooperative-sticky", subscribed(3, ["$t1"], {of_b}))]'
    come = f"B: JoinGroup {b} -> 79\nB: JoinGroup {b} -> sent\n"
    return HEADER + before + ALONE + come + "A: Heartbeat -> 27\npause 300\n" + joins(of_a) + "B -> 0\nB: SyncGroup -> parked\n"


def works(assigned: str, reported: str = "") -> str:
    """Return an exchange in which a Connect worker, alone in its group, receives the assignment `assigned`."""
    header = CONNECT.replace('"u", 5)', f'"u", 5, {reported})') if reported else CONNECT
    return header + "do completing1(A)\n" + sync(f"work(1, {assigned})")


Case = tuple[str, str, str]
LEADERS: dict[str, Case] = {
    "a leader that asks again is told its own once more": ("CLIENT-08", "do stable1(A)\nA: SyncGroup -> 0\n", KEPT),
    "an entry for a stranger": (
        "CLIENT-08",
        'do completing1(A)\nA: SyncGroup assignments=[for($A.member_id, told()), for("x", told())] -> 0\n',
        BROKEN,
    ),
    "nobody is assigned to": ("CLIENT-08", "do completing1(A)\nA: SyncGroup -> 0\n", BROKEN),
    "a leader that asks again because it was refused": (
        "CLIENT-08",
        'do completing1(A)\nA: SyncGroup v5 protocol_name="x" assignments=[for($A.member_id, b"for A")] -> 23\nA: SyncGroup -> 0\n',
        BROKEN,
    ),
    "no bytes are no Assignment": ("CLIENT-66", first('b""'), BROKEN),
    "fields of a version to come": ("CLIENT-66", first("join(i16(4), i32(0), i32(-1), i32(7))"), KEPT),
    "protocols that nobody else knows are read as well": ("CLIENT-66", first('b"x"', "mine"), BROKEN),
    "Connect's are not a consumer's": ("CLIENT-66", works("[]"), NOT_EXERCISED),
    "a partition that nobody gets": ("CLIENT-11", RANGE + "do completing1(A)\n" + METADATA + sync('told(held("$t1", 1))'), BROKEN),
    "a leader that has heard of no topic": (
        "CLIENT-11",
        RANGE + "do completing1(A)\nA: Metadata topics=[] -> any\n" + METADATA.replace("A:", "B:") + sync("told()"),
        NOT_JUDGED,
    ),
    "a leader that is no member any more when it hears of its topic": (
        "CLIENT-11",
        RANGE + "do completing1(A)\n" + sync("told()") + "A: LeaveGroup v2 -> 0\n" + METADATA,
        NOT_JUDGED,
    ),
    "a topic that nobody asked for": ("CLIENT-11", first('told(held("other", 0))'), BROKEN),
    "an assignor of one's own may do as it likes": ("CLIENT-11", first('told(held("other", 0))', "mine"), NOT_JUDGED),
    "partitions of an unknown topic": (
        "CLIENT-11",
        'member *: protocols=[p("range", sub("other"))]\ndo completing1(A)\n' + sync('told(held("other", 0))'),
        NOT_JUDGED,
    ),
    "what is new is not expected of a leader that has not looked": ("CLIENT-11", GROWS + sync('told(held("$t2", 0, 1))'), KEPT),
    "what was there before is": ("CLIENT-11", GROWS + sync('told(held("$t2", 1, 2))'), BROKEN),
    "what is gone is not": ("CLIENT-11", GOES + "A: Metadata topics=[{name: $t2}] -> any\n" + sync("told()"), KEPT),
    "nor what is not there among all topics": ("CLIENT-11", GOES + "A: Metadata topics=null -> any\n" + sync("told()"), KEPT),
    "what is gone without its knowledge is": ("CLIENT-11", GOES + "C: Metadata topics=null -> any\n" + sync("told()"), BROKEN),
    "a cooperative leader withholds what is owned": ("CLIENT-11", second("-1", OWNS) + both('told(held("$t1", 0))', "told()"), KEPT),
    "and must give what nobody owns": (
        "CLIENT-11",
        second("-1", '1, held("$t1", 0)', METADATA) + both('told(held("$t1", 0))', "told()"),
        BROKEN,
    ),
    "two members claim it: the leader decides": (
        "CLIENT-40",
        second(OWNS, OWNS) + both("told()", 'told(held("$t1", 0, 1))'),
        NOT_EXERCISED,
    ),
    "a claim of an older generation is worth nothing": (
        "CLIENT-40",
        second('0, held("$t1", 0, 1)', OWNS) + both('told(held("$t1", 0, 1))', "told()"),
        KEPT,
    ),
    "nor beside a newer one that owns nothing": (
        "CLIENT-40",
        second("2", OWNS) + both('told(held("$t1", 0))', 'told(held("$t1", 1))'),
        NOT_EXERCISED,
    ),
    "nor does it protect": (
        "CLIENT-40",
        second('0, held("$t1", 0, 1)', '1, held("$t1", 0)') + both("told()", 'told(held("$t1", 1))'),
        KEPT,
    ),
}
LISTS: dict[str, Case] = {
    "an empty list": ("CLIENT-33", "A: JoinGroup protocols=[] -> 23\n", BROKEN),
    "a name twice": ("CLIENT-33", 'A: JoinGroup protocols=[p("range"), p("range")] -> 79\n', BROKEN),
    "another order": (
        "CLIENT-33",
        'A: JoinGroup protocols=[p("a"), p("b")] -> 79\nA: JoinGroup protocols=[p("b"), p("a")] -> 0 eventually\n',
        BROKEN,
    ),
    "a version to come, and more behind it": (
        "CLIENT-34",
        'A: JoinGroup protocols=[p("x", join(i16(4), i32(0), i32(-1), i32(0), i32(-1), i16(-1), i32(7)))] -> 79\n',
        KEPT,
    ),
    "a version below 0": ("CLIENT-34", 'A: JoinGroup protocols=[p("x", join(i16(-1), i32(0), i32(-1)))] -> 79\n', BROKEN),
    "other types are nobody's business": ("CLIENT-34", 'A: JoinGroup protocol_type=mine protocols=[p("x", b"x")] -> 79\n', NOT_EXERCISED),
    "version 0 cannot own": ("CLIENT-35", "do stable1(A)\n", NOT_EXERCISED),
}
TWICE = '2, held("$t1", 0, 1)'
MINE = 'A: JoinGroup member_id="" protocols=[p("cooperative-sticky", subscribed(3, ["$t1"], -1, held("$t1", 0)))] -> 79\n'
CLAIMS: dict[str, Case] = {
    "the answer may not have been read yet": (
        "CLIENT-36",
        HEADER + ALONE + JOINED + ONE_TAKEN.replace("pause 300", "") + joins(TWICE, "sent"),
        KEPT,
    ),
    "now it has": ("CLIENT-36", HEADER + ALONE + JOINED + ONE_TAKEN + joins(TWICE, "sent"), BROKEN),
    "which is what CLIENT-37 asks too": ("CLIENT-37", HEADER + ALONE + JOINED + ONE_TAKEN + joins(TWICE, "sent"), BROKEN),
    "a topic that is not listed any more": ("CLIENT-36", HEADER + ALONE + COMES + joins(OWNS, topics='["other"]'), BROKEN),
    "beside an eager protocol it is eager": (
        "CLIENT-36",
        HEADER + ALONE + COMES + joins('1, held("$t1", 5)').replace("))]", ')), p("range", sub("$t1"))]'),
        NOT_EXERCISED,
    ),
    "a new member owns nothing": ("CLIENT-36", HEADER + "A: JoinGroup -> 79\n" + joins('-1, held("$t1", 0)', "0 eventually"), BROKEN),
    "the generation may be left out": ("CLIENT-41", HEADER + ALONE + COMES + joins('-1, held("$t1", 0, 1)'), NOT_EXERCISED),
    "nothing is owned since long ago": (
        "CLIENT-41",
        HEADER + ALONE + JOINED + ONE_TAKEN + GIVEN_UP + "pause 300\n" + joins("1", "sent"),
        KEPT,
    ),
    "one that it had long ago": (
        "CLIENT-41",
        HEADER + ALONE + JOINED + ONE_TAKEN + GIVEN_UP + "pause 300\n" + joins('1, held("$t1", 0)', "sent"),
        BROKEN,
    ),
    "a generation of an earlier id without anything owned": (
        "CLIENT-41",
        HEADER + "A: JoinGroup -> 79\n" + joins("5", "0 eventually"),
        NOT_EXERCISED,
    ),
    "and with": ("CLIENT-41", HEADER + "A: JoinGroup -> 79\n" + joins('5, held("$t1", 0)', "0 eventually"), BROKEN),
    "a member without an id owns nothing": ("CLIENT-39", HEADER + MINE, BROKEN),
    "told to come it comes": ("CLIENT-38", HEADER + METADATA + ALONE + JOINED, KEPT),
    "who learns of topics elsewhere may have learned something": ("CLIENT-38", HEADER + ALONE + joins(OWNS), NOT_EXERCISED),
    "another subscription is a reason": ("CLIENT-38", HEADER + METADATA + ALONE + joins(OWNS, topics='["$t1", "other"]'), NOT_JUDGED),
    "so is the application's wish": (
        "CLIENT-38",
        HEADER + METADATA + ALONE + joins(OWNS).replace("JoinGroup", 'JoinGroup v9 reason="rebalance enforced by user"'),
        NOT_JUDGED,
    ),
}
READING: dict[str, Case] = {
    "a topic may be named by its id": (
        "CLIENT-42",
        HEADER
        + ALONE
        + JOINED
        + ONE_TAKEN
        + GIVEN_UP
        + METADATA.replace("Metadata", "Metadata v12")
        + f"pause 300\nA: Fetch v13 {BY_ID} -> any\n",
        BROKEN,
    ),
    "given again it may be read again": (
        "CLIENT-42",
        HEADER
        + ALONE
        + JOINED
        + ONE_TAKEN
        + joins('2, held("$t1", 0)', "parked")
        + "B: JoinGroup -> 0\nA -> 0\nB: SyncGroup -> parked\n"
        + both('told(held("$t1", 0, 1))', "told()")
        + "pause 300\n"
        + READS.replace("$t1, 0, 0", "$t1, 1, 0"),
        NOT_EXERCISED,
    ),
    "a commit may name it so as well": (
        "CLIENT-42",
        HEADER + ALONE + JOINED + ONE_TAKEN + GIVEN_UP + METADATA.replace("Metadata", "Metadata v12") + COMMIT_BY_ID,
        BROKEN,
    ),
    "and an OffsetFetch": (
        "CLIENT-43",
        first('told(held("$t1", 0, 1))') + METADATA.replace("Metadata", "Metadata v12") + FETCH_BY_ID + "pause 300\n" + READS,
        KEPT,
    ),
    "which says of which partitions": (
        "CLIENT-43",
        first('told(held("$t1", 0, 1))')
        + METADATA.replace("Metadata", "Metadata v12")
        + FETCH_BY_ID
        + "pause 300\n"
        + READS.replace("$t1, 0, 0", "$t1, 1, 0"),
        BROKEN,
    ),
    "all offsets are those of every partition": ("CLIENT-43", first('told(held("$t1", 0))') + OFFSETS + "pause 300\n" + READS, KEPT),
    "offsets of somebody else's asking are nobody's fault": (
        "CLIENT-43",
        first('told(held("$t1", 0))') + OFFSETS.replace("A:", "C:") + "pause 300\n" + READS,
        NOT_JUDGED,
    ),
    "what was read under an earlier id may be under way": ("CLIENT-43", first('told(held("$t1", 0))') + READS, NOT_JUDGED),
}
OF_CONNECT: dict[str, Case] = {
    "a worker that revokes comes again": ("CLIENT-60", works('[], [held("c", 0)]') + "A: JoinGroup -> 0\n", KEPT),
    "a worker that does not": ("CLIENT-60", works('[], [held("c", 0)]') + "repeat 3\npause 500\nA: Heartbeat -> 0\nend\n", BROKEN),
    "what runs is not assigned": ("CLIENT-61", works('[held("c", 0)]', 'work(1, [held("c", 0)])'), BROKEN),
    "two delays in one round": (
        "CLIENT-62",
        CONNECT + "do completing2(A, B)\nB: SyncGroup -> parked\n" + both("work(1, [], [], 500)", "work(1, [])"),
        BROKEN,
    ),
    "protocols in the wrong order": (
        "CLIENT-58",
        'A: JoinGroup protocol_type=connect protocols=[p("default", worker(0, "u", 5)), p("compatible", worker(1, "u", 5))] -> 79\n',
        BROKEN,
    ),
    "a worker that lost its connection may run nothing": (
        "CLIENT-59",
        works('[held("c", 0)]') + "A reconnects\npause 300\nA: JoinGroup -> 0\n",
        NOT_EXERCISED,
    ),
}
INSIDE = [f"CLIENT-{number:02}" for number in (*range(7, 12), *range(33, 44), 47, *range(58, 63), 66)]
CASES = LEADERS | LISTS | CLAIMS | READING | OF_CONNECT


@pytest.mark.parametrize("what", CASES)
def test_a_corner(what: str) -> None:
    code, body, verdict = CASES[what]
    found = audit(rows_of(exchange_named(f"{code}.corner", body)))
    assert {tally.crashed for tally in found.rules.values()} == {None}
    assert found.rules[code].verdict == verdict, [str(each) for each in found.findings]


@pytest.mark.parametrize("code", INSIDE)
def test_a_journal_that_begins_in_the_middle_blames_nobody(code: str) -> None:
    """The audit must not assume anything about assignments and answers from before the journal begins."""
    rows = played(registered()[code], "kept")
    for first_row in range(1, len(rows)):
        assert [str(each) for each in audit(rows[first_row:], INSIDE).findings] == [], first_row


@pytest.mark.parametrize(("version", "groups", "name"), [(7, [], "one"), (8, ["two"], "two"), (9, ["two", "three"], None)])
def test_offset_fetch_names_the_group_of_its_version(version: int, groups: list[str], name: str | None) -> None:
    """A journal row contains all fields of a request, and fields of other versions have their defaults."""
    message = {"group_id": "one" if version < 8 else "", "groups": [{"group_id": each} for each in groups]}
    row = RequestRow(t=0, connection=1, ticket=1, correlation_id=1, api_key=9, api_name="OffsetFetch", api_version=version, received=0,
                     handled=0, size=1, message=message)  # fmt: skip
    asked = World().asked(row)
    assert (asked.group.name if asked.group is not None else None) == name


def subscribed(partitions: int) -> bytes:
    return consumer.encode_subscription(Subscription(1, ["t"], None, [TopicPartitions("t", list(range(partitions)))]))


def test_more_than_a_reader_reads_is_not_judged() -> None:
    found = inside.subscription("cooperative-sticky", subscribed(10))
    assert found is not None
    assert found.wrong is None
    assert len(found.owned) == 10
    assert inside.subscription("cooperative-sticky", subscribed(consumer.READ_ELEMENTS + 1)) is None


def test_equal_assignments_of_many_members_are_decoded_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """In a large group the leader gives most members the same bytes, which the audit decodes only once."""
    read: list[bytes] = []
    once = inside.subscription

    def counted(protocol: str, data: bytes) -> inside.Subscribed | None:
        read.append(data)
        return once(protocol, data)

    monkeypatch.setattr(inside, "subscription", counted)
    data = [subscribed(0), subscribed(1)]
    members = [{"member_id": f"m{number}", "metadata": data[number % 2]} for number in range(10_000)]
    answer: dict[str, Any] = {"generation_id": 1, "leader": "m0", "protocol_name": "cooperative-sticky", "members": members}
    plan = inside.Plan(type("Join", (), {"answer_seq": 1, "asked": {"protocol_type": "consumer"}})(), answer)
    assert len(inside.claimed_in(plan)) == 10_000
    assert len(inside.claimed_in(plan)) == 10_000
    assert read == data
