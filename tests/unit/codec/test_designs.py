"""The encodings of Designs I-III: the document's seven rebalances byte for byte, refusals, and lenient decoding."""

from __future__ import annotations

import random

import pytest
from cases import for_each
from doc_vectors import Round, examples, listed

from groupmock_codec import DecodeError, EncodeError
from groupmock_codec.embedded import consumer, designs
from groupmock_codec.embedded.consumer import TopicPartitions
from groupmock_codec.embedded.designs import AssignorData, DesignAssignment, DesignSubscription
from groupmock_codec.samples import edge_cases, sample

from .kit import both

SEED, COUNT = 5, 200
ROUNDS = [(example.design, one) for example in examples() for one in example.rounds]
EVERY_ROUND = for_each(("design", "one"), ROUNDS, ids=[f"{one.example}.{one.number}" for _, one in ROUNDS])
T0_T3 = [TopicPartitions("T", [0, 3])]
PLAIN = DesignAssignment(1, [TopicPartitions("T", [0])], [TopicPartitions("T", [3])])
TIMED = DesignAssignment(2, T0_T3, [], 5000)


def test_the_document_has_seven_rounds() -> None:
    assert len(ROUNDS) == 7
    assert sum(len(one.sent) for _, one in ROUNDS) == 24


@EVERY_ROUND
def test_the_documents_subscriptions(design: int, one: Round) -> None:
    for member, claim in one.claims.items():
        message = DesignSubscription(design, ["T"], b"", listed(claim))
        assert designs.encode_subscription(message) == one.subscription_delta[member], member
        assert designs.decode_subscription(one.subscription_delta[member]) == message
        assert designs.read_subscription(one.subscription_delta[member]) == message


@EVERY_ROUND
def test_the_documents_assignments(design: int, one: Round) -> None:
    for member, sent in one.sent.items():
        message = DesignAssignment(design, listed(sent.assigned), listed(sent.revoked), sent.timeout_ms)
        assert designs.encode_assignment(message) == one.assignment_delta[member], member
        assert designs.decode_assignment(one.assignment_delta[member]) == message
        assert designs.read_assignment(one.assignment_delta[member]) == message


@EVERY_ROUND
def test_what_our_assignors_send(design: int, one: Round) -> None:
    for member, sent in one.sent.items():
        lost = set(sent.revoked.split(","))
        after = sent.assigned or ",".join(name for name in one.claims[member].split(",") if name not in lost)
        delta = DesignAssignment(design, listed(sent.assigned), listed(sent.revoked), sent.timeout_ms)
        if design == 1:
            wire = designs.encode_assignment(DesignAssignment(1, listed(after), listed(sent.revoked)))
        else:
            wire = designs.carry_assignment(delta, listed(after))
        assert wire == one.assignment_wire[member], member
        stock = consumer.read_assignment(wire)
        assert stock is not None and stock.assigned_partitions == listed(after), "a stock client takes the list for all it holds"
        if design > 1:
            assert designs.carried_assignment(stock.user_data) == delta


def test_a_literal_subscription_is_kip_429s() -> None:
    """The bytes of the literal Subscription equal those of KIP-429's Subscription with Version 1."""
    data = designs.encode_subscription(DesignSubscription(1, ["T", "U"], b"xy", T0_T3))
    assert consumer.encode_subscription(consumer.Subscription(1, ["T", "U"], b"xy", T0_T3)) == data


def test_assignor_data_is_what_the_member_owns_and_a_nonce() -> None:
    data = designs.encode_assignor_data(AssignorData(T0_T3, 7))
    assert data == bytes.fromhex("00000001 0001 54 00000002 00000000 00000003 00000007")
    assert designs.read_assignor_data(data) == AssignorData(T0_T3, 7)
    assert designs.read_assignor_data(bytes.fromhex("fffffffe")) == AssignorData([], -2)


@for_each("data", [None, b"", b"\0", bytes(9), bytes.fromhex("00000001 0001 54 ffffffff 00000001")])
def test_other_assignor_data_is_nothing(data: bytes | None) -> None:
    assert designs.read_assignor_data(data) is None


def test_a_carried_subscription_is_found_again() -> None:
    inner = DesignSubscription(3, ["T"], (9).to_bytes(4), T0_T3)
    outer = consumer.decode_subscription(designs.carry_subscription(inner))
    assert (outer.version, outer.topics, outer.owned_partitions) == (1, ["T"], T0_T3)
    assert designs.carried_subscription(outer.user_data) == inner
    assert designs.carried_subscription(b"") is None
    assert designs.carried_subscription(None) is None
    assert designs.carried_subscription(designs.encode_subscription(inner)[:-1]) is None


@for_each("codec", [designs.SUBSCRIPTION, designs.ASSIGNMENT], ids=["Subscription", "Assignment"])
@for_each("version", [1, 2, 3])
def test_compiled_equals_the_judge_on_samples_and_on_every_cut(codec, version: int) -> None:
    dice = random.Random(SEED)
    messages = [message for _, message in edge_cases(codec.message, version, False, dice)]
    for message in messages + [sample(codec.message, version, False, dice) for _ in range(COUNT)]:
        data = codec.encode(version, message)
        assert both(codec, version, data) == ((message, len(data)), (message, len(data))), f"seed {SEED}"
        for end in {dice.randrange(len(data)) for _ in range(4)}:
            fast, slow = both(codec, version, data[:end])
            assert fast == slow, f"seed {SEED}, cut at {end}"


@for_each("codec", [designs.SUBSCRIPTION, designs.ASSIGNMENT], ids=["Subscription", "Assignment"])
def test_compiled_refuses_what_the_judge_refuses(codec) -> None:
    """The test changes one byte at every position in turn and compares what the two codecs refuse."""
    dice = random.Random(SEED)
    for version in (1, 2, 3):
        whole = codec.encode(version, sample(codec.message, version, False, dice))
        for at in range(min(len(whole), 300)):
            data = whole[:at] + bytes([dice.choice((0x00, 0x7F, 0x80, 0xFF))]) + whole[at + 1 :]
            fast, slow = both(codec, version, data)
            assert fast == slow, f"seed {SEED}, byte {at}"


def test_every_cut_and_every_byte_too_many_is_refused_by_strict_reading() -> None:
    data = designs.encode_assignment(TIMED)
    subscription = designs.encode_subscription(DesignSubscription(2, ["T"], b"ab", T0_T3))
    for end in range(len(data)):
        with pytest.raises(DecodeError):
            designs.decode_assignment(data[:end])
    for end in range(len(subscription)):
        with pytest.raises(DecodeError):
            designs.decode_subscription(subscription[:end])
    with pytest.raises(DecodeError, match="left over"):
        designs.decode_assignment(data + b"\0")
    with pytest.raises(DecodeError, match="left over"):
        designs.decode_subscription(subscription + b"\0")


@for_each("version", [-1, 0, 4, 32767])
def test_other_versions_are_neither_read_strictly_nor_written(version: int) -> None:
    for decode in (designs.decode_subscription, designs.decode_assignment):
        with pytest.raises(DecodeError, match="version"):
            decode((version & 0xFFFF).to_bytes(2) + bytes(12))
    with pytest.raises(EncodeError, match="version"):
        designs.encode_subscription(DesignSubscription(version))
    with pytest.raises(EncodeError, match="version"):
        designs.encode_assignment(DesignAssignment(version))


WRONG = [
    (DesignAssignment(1, None, []), "assigned_topic_partitions"),
    (DesignAssignment(1, [], None), "revoke_topic_partitions"),
    (DesignAssignment(1, [TopicPartitions("T", [1, 1])]), "assigned_topic_partitions"),
    (DesignAssignment(1, [TopicPartitions("T", [1]), TopicPartitions("T", [1])]), "assigned_topic_partitions"),
    (DesignAssignment(1, [TopicPartitions("T", [-1])]), "assigned_topic_partitions"),
    (DesignAssignment(1, T0_T3, [TopicPartitions("T", [3])]), "revoke_topic_partitions"),
    (DesignAssignment(2, [], [], -1), "scheduled_rebalance_timeout"),
    (DesignAssignment(2, [], T0_T3, 1), "scheduled_rebalance_timeout"),
    (DesignAssignment(1, [], [], 1), "scheduled_rebalance_timeout"),
]


@for_each(("message", "field"), WRONG)
def test_nothing_is_written_that_a_member_cannot_obey(message: DesignAssignment, field: str) -> None:
    with pytest.raises(EncodeError) as caught:
        designs.encode_assignment(message)
    assert caught.value.path == field


def test_a_new_member_may_write_null_or_empty() -> None:
    for empty, tail in ((None, "ffffffff"), ([], "00000000")):
        message = DesignSubscription(1, ["T"], b"", empty)
        data = designs.encode_subscription(message)
        assert data.hex().endswith(tail)
        assert designs.read_subscription(data) == designs.decode_subscription(data) == message


LENIENT_ASSIGNMENTS = [
    ("", None),
    ("00", None),
    ("0002", DesignAssignment(2, None, None)),
    ("0002 00000000", DesignAssignment(2, [], None)),
    ("0002 ffffffff ffffffff", DesignAssignment(2, None, None)),
    ("0002 00000000 00000000", DesignAssignment(2)),
    ("0002 00000000 00000000 00001388", DesignAssignment(2, [], [], 5000)),
    # The version may be anything here, because the reader tells the layouts apart by their length.
    ("0001 00000000 00000000 00001388", DesignAssignment(1, [], [], 5000)),
    ("0000 00000000 00000000 00001388", DesignAssignment(0, [], [], 5000)),
    ("0002 00000000 00000000 ffffffff", DesignAssignment(2)),  # A negative delay in the assignment is read as no delay.
    ("0009 00000000 00000000 00001388 aabb", DesignAssignment(9, [], [], 5000)),
    ("0001 00000001 0001 54 00000002 00000000", DesignAssignment(1, None, None)),
    ("0001 00000001 0001 54 00000001 00000000 00000001", DesignAssignment(1, [TopicPartitions("T", [0])], None)),
    ("0001 00000001 0001 54 00000001 00000000 00000000 000013", DesignAssignment(1, [TopicPartitions("T", [0])])),
]


@for_each(("data", "expected"), LENIENT_ASSIGNMENTS, ids=[row[0] or "nothing" for row in LENIENT_ASSIGNMENTS])
def test_lenient_reading_of_assignments(data: str, expected: DesignAssignment | None) -> None:
    assert designs.read_assignment(bytes.fromhex(data)) == expected


LENIENT_SUBSCRIPTIONS = [
    ("", None),
    ("0001", DesignSubscription(1, [], None, None)),
    ("0000 00000001 0001 54 ffffffff", DesignSubscription(0, ["T"], None, None)),
    ("0001 00000001 0001 54 00000000", DesignSubscription(1, ["T"], b"", None)),
    ("0001 00000001 0001 54 00000000 ffffffff", DesignSubscription(1, ["T"], b"", None)),
    ("0001 00000001 0001 54 00000000 00000001 0001", DesignSubscription(1, ["T"], b"", None)),
    ("0001 00000001 0001 54 00000005 aa", DesignSubscription(1, ["T"], None, None)),
    ("0001 00000002 0001 54 00", DesignSubscription(1, [], None, None)),
    ("0003 00000001 0001 54 00000000 00000000 ffffffff 0000", DesignSubscription(3, ["T"], b"", [])),
    ("ffff 00000001 0001 54 00000000 00000000", DesignSubscription(-1, ["T"], b"", [])),
]


@for_each(("data", "expected"), LENIENT_SUBSCRIPTIONS, ids=[row[0] or "nothing" for row in LENIENT_SUBSCRIPTIONS])
def test_lenient_reading_of_subscriptions(data: str, expected: DesignSubscription | None) -> None:
    assert designs.read_subscription(bytes.fromhex(data)) == expected


@for_each("design", [1, 2, 3])
def test_lenient_reading_never_raises_nor_invents(design: int) -> None:
    """The test tries every truncation and every changed byte, and the fields before a truncation are read correctly."""
    whole = DesignAssignment(design, T0_T3, [TopicPartitions("U", [1])])
    data = designs.encode_assignment(whole)
    for end in range(2, len(data)):
        found = designs.read_assignment(data[:end])
        assert found is not None
        assert found.assigned_topic_partitions in (None, T0_T3)
        assert found.revoke_topic_partitions in (None, whole.revoke_topic_partitions)
    dice = random.Random(SEED)
    for _ in range(500):
        junk = dice.randbytes(dice.randrange(40))
        designs.read_assignment(junk)
        designs.read_subscription(junk)
        designs.read_assignor_data(junk)


@for_each(
    ("message", "seen"),
    [(PLAIN, PLAIN), (TIMED, TIMED), (DesignAssignment(1, T0_T3), None), (DesignAssignment(1), None)],
    ids=["revocation", "timeout", "stock bytes", "empty stock bytes"],
)
def test_bytes_alone_tell_what_no_stock_assignment_is(message: DesignAssignment, seen: DesignAssignment | None) -> None:
    assert designs.unstock_assignment(designs.encode_assignment(message)) == seen


def test_stock_assignments_are_not_taken_for_ours() -> None:
    for version in range(4):
        for user_data in (None, b"", b"\xaa" * 10):
            assert designs.unstock_assignment(consumer.encode_assignment(consumer.Assignment(version, T0_T3, user_data))) is None
