"""The rounds of a group, read from rows: what members claimed and were told, by every protocol; what counts as settled."""

from __future__ import annotations

from base64 import b64encode
from typing import Any

from cases import for_each

from groupmock.rounds.embedded import NOTHING, Claim, Told, claim_of, told_of
from groupmock.rounds.fold import Rounds
from groupmock_codec.embedded import connect, consumer, designs
from groupmock_codec.embedded.connect import CONNECTOR, ConnectorTasks, WorkerAssignment, WorkerMetadata
from groupmock_codec.embedded.consumer import Assignment, Subscription, TopicPartitions
from groupmock_codec.embedded.designs import AssignorData, DesignAssignment, DesignSubscription

OWNED = [TopicPartitions("T", [0, 1])]
T0, T1 = ("T", 0), ("T", 1)


def carried(design: int) -> bytes:
    return designs.carry_subscription(DesignSubscription(design, ["T"], b"\0\0\0\1", OWNED))


SUBSCRIPTIONS = {
    "range of version 0": ("range", consumer.encode_subscription(Subscription(0, ["T"], None)), frozenset()),
    "range that changes over": ("range", carried(2), {T0, T1}),
    "KIP-429": ("cooperative-sticky", consumer.encode_subscription(Subscription(1, ["T"], None, OWNED)), {T0, T1}),
    "Design I": (
        "coop-d1",
        designs.encode_subscription(DesignSubscription(1, ["T"], designs.encode_assignor_data(AssignorData(OWNED, 7)), OWNED)),
        {T0, T1},
    ),
    "Design I through aiokafka, which cuts what is behind the user data": (
        "coop-d1",
        consumer.encode_subscription(Subscription(0, ["T"], designs.encode_assignor_data(AssignorData(OWNED, 7)))),
        {T0, T1},
    ),
    "Design II": ("coop-d2", carried(2), {T0, T1}),
    "Design III": ("coop-d3", carried(3), {T0, T1}),
}


@for_each("kind", SUBSCRIPTIONS)
def test_what_a_member_claims(kind: str) -> None:
    protocol, data, owned = SUBSCRIPTIONS[kind]
    assert claim_of("consumer", protocol, data) == Claim(frozenset({"T"}), frozenset(owned))


def test_bytes_that_are_no_subscription_claim_nothing() -> None:
    assert claim_of("consumer", "range", b"\0") == Claim(frozenset(), frozenset())


BOTH = Claim(frozenset({"T"}), frozenset({T0, T1}))
ONE, OTHER = [TopicPartitions("T", [0])], [TopicPartitions("T", [1])]
ASSIGNMENTS = {
    "range": ("range", consumer.encode_assignment(Assignment(0, ONE, None)), Told(frozenset({T0}), frozenset({T1}), 0)),
    "KIP-429, where what is missing is to be given up": (
        "cooperative-sticky", consumer.encode_assignment(Assignment(1, ONE, None)), Told(frozenset({T0}), frozenset({T1}), 0),
    ),
    "Design I": ("coop-d1", designs.encode_assignment(DesignAssignment(1, ONE, OTHER)), Told(frozenset({T0}), frozenset({T1}), 0)),
    "Design II": (
        "coop-d2", designs.carry_assignment(DesignAssignment(2, [], [], 700), OWNED), Told(frozenset({T0, T1}), frozenset(), 700),
    ),
    "Design III": ("coop-d3", designs.carry_assignment(DesignAssignment(3, [], OTHER), ONE), Told(frozenset({T0}), frozenset({T1}), 0)),
    "nothing at all": ("range", b"", Told(frozenset(), frozenset({T0, T1}), 0)),
    "nothing at all in Design I": ("coop-d1", b"", NOTHING),
}  # fmt: skip


@for_each("kind", ASSIGNMENTS)
def test_what_a_member_is_told(kind: str) -> None:
    protocol, data, told = ASSIGNMENTS[kind]
    assert told_of("consumer", protocol, data, BOTH) == told


def test_connects_workers_claim_and_are_told_tasks() -> None:
    """Its assignments are incremental: what is new, what to stop, and for how long something is kept for somebody."""
    allocation = connect.encode_assignment(WorkerAssignment(assigned=[ConnectorTasks("sink", [CONNECTOR, 0, 1])]))
    claim = claim_of("connect", "sessioned", connect.encode_metadata(WorkerMetadata(allocation=allocation)))
    assert claim == Claim(frozenset(), frozenset({("sink", CONNECTOR), ("sink", 0), ("sink", 1)}))
    told = WorkerAssignment(assigned=[ConnectorTasks("sink", [2])], revoked=[ConnectorTasks("sink", [0])], delay=900)
    assert told_of("connect", "sessioned", connect.encode_assignment(told), claim) == Told(
        frozenset({("sink", CONNECTOR), ("sink", 1), ("sink", 2)}), frozenset({("sink", 0)}), 900
    )
    assert claim_of("connect", "sessioned", connect.encode_metadata(WorkerMetadata())) == Claim(frozenset(), frozenset())


# Rows


def b64(data: bytes) -> str:
    return b64encode(data).decode()


class Story:
    """Rows of one round of A, who leads, and B."""

    def __init__(self, group: str = "g") -> None:
        self.rows: list[dict[str, Any]] = [
            {"kind": "command", "t": 0, "name": "create_topic", "arguments": {"name": "T", "partitions": 2}}
        ]
        self.group, self.ticket = group, 0

    def exchange(self, key: int, asked: dict[str, Any], answered: dict[str, Any], **more: Any) -> None:
        self.ticket += 1
        self.rows += [
            {"kind": "request", "t": 10**6, "api_key": key, "ticket": self.ticket, "message": {"group_id": self.group, **asked}},
            {"kind": "reply", "t": 2 * 10**6, "api_key": key, "ticket": self.ticket, "message": answered, **more},
        ]

    def join(self, generation: int = 1) -> None:
        metadata = b64(consumer.encode_subscription(Subscription(1, ["T"], None)))
        members = [{"member_id": member, "metadata": metadata} for member in "AB"]
        answer = {"generation_id": generation, "protocol_name": "cooperative-sticky", "leader": "A", "members": members}
        self.exchange(11, {"member_id": "A", "protocol_type": "consumer"}, answer)

    def sync(self, a: list[int], b: list[int], taken: bool = True, **more: Any) -> None:
        told = {"A": a, "B": b}
        brought = [
            {"member_id": member, "assignment": b64(consumer.encode_assignment(Assignment(1, [TopicPartitions("T", numbers)], None)))}
            for member, numbers in told.items()
        ]
        refused = {} if taken else {"error": "REBALANCE_IN_PROGRESS"}
        self.exchange(14, {"member_id": "A", "generation_id": 1, "assignments": brought}, {"error_code": 0}, **refused)
        if taken:
            self.rows.append({"kind": "moved", "t": 3 * 10**6, "group": self.group, "before": "CompletingRebalance", "after": "Stable"})
        self.exchange(14, {"member_id": "B", "generation_id": 1, "assignments": []}, {"error_code": 0}, **more)

    def read(self) -> Rounds:
        found = Rounds("g")
        found.feed(self.rows)
        return found


def test_a_round_that_everybody_heard_and_that_gave_everything_is_settled() -> None:
    story = Story()
    story.join()
    story.sync([0], [1])
    found = story.read()
    (only,) = found.rounds
    assert (found.state, found.since, only.began, only.planned) == ("Stable", 3.0, 2.0, 3.0)
    assert (only.leader, only.heard, only.holders()) == ("A", {"A", "B"}, {T0: "A", T1: "B"})
    assert only.settled


@for_each("lack", [{"delivered": False}, {"error": "REBALANCE_IN_PROGRESS"}])
def test_one_that_somebody_did_not_hear_is_not(lack: dict[str, Any]) -> None:
    story = Story()
    story.join()
    story.sync([0], [1], **lack)
    (only,) = story.read().rounds
    assert only.heard == {"A"}
    assert not only.settled


def test_one_that_leaves_something_out_is_not() -> None:
    story = Story()
    story.join()
    story.sync([0], [])
    assert not story.read().rounds[0].settled


def test_what_a_leader_brings_too_late_counts_for_nothing() -> None:
    story = Story()
    story.join()
    story.sync([0], [1], taken=False)
    (only,) = story.read().rounds
    assert only.planned is None
    assert not only.settled


def test_another_group_is_not_this_one() -> None:
    story = Story("another")
    story.join()
    story.sync([0], [1])
    found = story.read()
    assert (found.rounds, found.state) == ([], "")


def test_members_are_those_that_were_added_and_not_removed() -> None:
    found = Rounds("g")
    found.feed({"kind": "member", "t": 0, "group": "g", "member_id": member, "what": what} for member, what in (
        ("A", "reserved"), ("A", "added"), ("B", "added"), ("A", "led"), ("B", "removed"), ("C", "replaced"),
    ))  # fmt: skip
    assert found.members == {"A", "C"}
