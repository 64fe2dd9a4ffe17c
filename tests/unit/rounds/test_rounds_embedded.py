"""Claims and assignments of members are read in every group protocol."""

from __future__ import annotations

from cases import for_each

from groupmock.rounds import Claim, Instruction
from groupmock.rounds.embedded import NOTHING, claim_of, told_of
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
    "range": ("range", consumer.encode_assignment(Assignment(0, ONE, None)), Instruction(frozenset({T0}), frozenset({T1}), 0)),
    "KIP-429, where what is missing is to be given up": (
        "cooperative-sticky", consumer.encode_assignment(Assignment(1, ONE, None)), Instruction(frozenset({T0}), frozenset({T1}), 0),
    ),
    "Design I": ("coop-d1", designs.encode_assignment(DesignAssignment(1, ONE, OTHER)), Instruction(frozenset({T0}), frozenset({T1}), 0)),
    "Design II": (
        "coop-d2", designs.carry_assignment(DesignAssignment(2, [], [], 700), OWNED), Instruction(frozenset({T0, T1}), frozenset(), 700),
    ),
    "Design III": (
        "coop-d3", designs.carry_assignment(DesignAssignment(3, [], OTHER), ONE), Instruction(frozenset({T0}), frozenset({T1}), 0),
    ),
    "nothing at all": ("range", b"", Instruction(frozenset(), frozenset({T0, T1}), 0)),
    "nothing at all in Design I": ("coop-d1", b"", NOTHING),
}  # fmt: skip


@for_each("kind", ASSIGNMENTS)
def test_what_a_member_is_told(kind: str) -> None:
    protocol, data, told = ASSIGNMENTS[kind]
    assert told_of("consumer", protocol, data, BOTH) == told


def test_connects_workers_claim_and_are_told_tasks() -> None:
    """A Connect assignment is incremental: it has new tasks, tasks to stop, and a delay for tasks that are held back."""
    allocation = connect.encode_assignment(WorkerAssignment(assigned=[ConnectorTasks("sink", [CONNECTOR, 0, 1])]))
    claim = claim_of("connect", "sessioned", connect.encode_metadata(WorkerMetadata(allocation=allocation)))
    assert claim == Claim(frozenset(), frozenset({("sink", CONNECTOR), ("sink", 0), ("sink", 1)}))
    told = WorkerAssignment(assigned=[ConnectorTasks("sink", [2])], revoked=[ConnectorTasks("sink", [0])], delay=900)
    assert told_of("connect", "sessioned", connect.encode_assignment(told), claim) == Instruction(
        frozenset({("sink", CONNECTOR), ("sink", 1), ("sink", 2)}), frozenset({("sink", 0)}), 900
    )
    assert claim_of("connect", "sessioned", connect.encode_metadata(WorkerMetadata())) == Claim(frozenset(), frozenset())


def test_bytes_that_no_worker_can_read_claim_nothing_and_tell_nothing() -> None:
    assert claim_of("connect", "sessioned", b"\0") == Claim(frozenset(), frozenset())
    assert told_of("connect", "sessioned", b"", BOTH) == Instruction(frozenset(), frozenset({T0, T1}), 0)
