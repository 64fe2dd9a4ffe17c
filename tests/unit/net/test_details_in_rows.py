"""Journal rows contain decoded copies of subscriptions and assignments, and leave out record bytes above 1 KiB."""

from __future__ import annotations

from hashlib import sha256

import pytest

from groupmock.net.codecs import ApiCodec
from groupmock.net.details import EACH, EMBEDDED_BYTES, details_of
from groupmock_codec.embedded.consumer import Assignment, Subscription, TopicPartitions, encode_assignment, encode_subscription
from groupmock_codec.messages.k00_produce import ProduceRequest
from groupmock_codec.messages.k11_join_group import JoinGroupRequest, JoinGroupRequestProtocol, JoinGroupResponse, JoinGroupResponseMember
from groupmock_codec.messages.k14_sync_group import SyncGroupRequest, SyncGroupRequestAssignment, SyncGroupResponse

SUBSCRIPTION = Subscription(version=1, topics=["orders"], owned_partitions=[TopicPartitions(topic="orders", partitions=[1])])
ASSIGNMENT = Assignment(version=1, assigned_partitions=[TopicPartitions(topic="orders", partitions=[0, 2])])
SENT, GIVEN = encode_subscription(SUBSCRIPTION), encode_assignment(ASSIGNMENT)

JOIN = JoinGroupRequest(
    protocol_type="consumer",
    protocols=[JoinGroupRequestProtocol(name="range", metadata=SENT), JoinGroupRequestProtocol(name="x", metadata=b"\0")],
)
JOINED = JoinGroupResponse(members=[JoinGroupResponseMember(member_id="a", metadata=SENT), JoinGroupResponseMember(member_id="b")])
SYNC = SyncGroupRequest(assignments=[SyncGroupRequestAssignment(member_id="a", assignment=GIVEN)])


@pytest.mark.parametrize(
    ("key", "message", "expected"),
    [
        (11, JOIN, {"protocols[0].metadata": SUBSCRIPTION}),
        (11, JOINED, {"members[0].metadata": SUBSCRIPTION}),
        (14, SYNC, {"assignments[0].assignment": ASSIGNMENT}),
        (14, SyncGroupResponse(assignment=GIVEN), {"assignment": ASSIGNMENT}),
        (14, SyncGroupResponse(assignment=b""), None),
    ],
    ids=["JoinGroup request", "JoinGroup response", "SyncGroup request", "SyncGroup response", "nothing assigned"],
)
def test_consumer_protocol_is_decoded(key, message, expected):
    details = details_of(ApiCodec(key, 5), message, True, "consumer")
    assert details.message is message and details.payloads is None
    assert details.embedded == expected


def test_what_the_message_says_wins_and_unknown_types_are_left_alone():
    assert details_of(ApiCodec(11, 5), JOIN, True, "something").embedded is not None
    assert details_of(ApiCodec(14, 3), SYNC, True, "something").embedded is None
    assert details_of(ApiCodec(14, 3), SYNC, True, None).embedded is None


def test_nothing_is_decoded_that_nobody_wants():
    assert details_of(ApiCodec(11, 5), JOIN, False, "consumer") == (JOIN, None, None)


def test_broken_bytes_do_not_hurt():
    message = SyncGroupRequest(assignments=[SyncGroupRequestAssignment(member_id="a", assignment=b"\xff" * 9)])
    for kind in ("consumer", "connect"):
        details_of(ApiCodec(14, 3), message, True, kind)


@pytest.mark.parametrize(("size", "left_out"), [(0, False), (1024, False), (1025, True), (100_000, True)])
def test_records_above_one_kib_become_length_and_digest(size, left_out):
    topic_class, partition_class = produce_classes()
    records = bytes(size)
    message = ProduceRequest(
        topic_data=[
            topic_class(name="t", partition_data=[partition_class(index=0, records=b"x"), partition_class(index=1, records=records)])
        ]
    )
    details = details_of(ApiCodec(0, 3), message, True)
    partitions = details.message.topic_data[0].partition_data
    assert partitions[0].records == b"x"
    assert message.topic_data[0].partition_data[1].records == records, "the message itself stays as it is"
    if left_out:
        (payload,) = details.payloads
        assert (payload.path, payload.length) == ("topic_data[0].partition_data[1].records", size)
        assert payload.digest == sha256(records).hexdigest()
        assert partitions[1].records is None
    else:
        assert details.payloads is None and partitions[1].records == records


def produce_classes():
    """Return the classes nested in a Produce request, which the message declaration contains."""
    from groupmock_codec.declare import fields_of

    topic = next(field for field in fields_of(ProduceRequest) if field.name == "topic_data").wire.element
    partition = next(field for field in fields_of(topic) if field.name == "partition_data").wire.element
    return topic, partition


def test_a_row_decodes_a_bounded_part_of_what_rides_inside():
    # Writing this row once decoded 33 MB of topics, so now only the first members are decoded and the others stay bytes.
    each = [SyncGroupRequestAssignment(member_id="m", assignment=GIVEN + number.to_bytes(4, "big")) for number in range(20_000)]
    embedded = details_of(ApiCodec(14, 3), SyncGroupRequest(assignments=each), True, "consumer").embedded
    assert embedded is not None and len(embedded) == EMBEDDED_BYTES // (EACH + len(GIVEN) + 4)
    assert embedded["assignments[0].assignment"] == ASSIGNMENT

    equal = SyncGroupRequest(assignments=[SyncGroupRequestAssignment(member_id="m", assignment=GIVEN)] * 20_000)
    embedded = details_of(ApiCodec(14, 3), equal, True, "consumer").embedded
    assert embedded is not None and len(embedded) == 20_000, "what many say is read once"

    huge = encode_subscription(Subscription(version=1, topics=["t" * 30] * 20_000))
    join = JoinGroupRequest(protocols=[JoinGroupRequestProtocol(name="range", metadata=huge)])
    assert details_of(ApiCodec(11, 5), join, True, "consumer").embedded is None
