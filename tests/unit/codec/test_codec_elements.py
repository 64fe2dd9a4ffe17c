"""A decoder of untrusted messages counts elements before it builds them: arrays, nested arrays and tagged fields."""

from __future__ import annotations

import pickle
import random
import struct
import tracemalloc
from typing import Any

import pytest
from cases import for_each

from groupmock_codec import APIS, DecodeError, reference
from groupmock_codec.embedded import connect, consumer, designs
from groupmock_codec.errors import TooManyElements
from groupmock_codec.headers import RequestHeader, decode_request_header, encode_request_header
from groupmock_codec.messages.k11_join_group import JoinGroupRequest, JoinGroupRequestProtocol
from groupmock_codec.messages.k12_heartbeat import HeartbeatRequest
from groupmock_codec.messages.k19_create_topics import CreatableReplicaAssignment, CreatableTopic, CreateTopicsRequest
from groupmock_codec.primitives import Elements
from groupmock_codec.samples import sample

from .kit import every_version, types

DAMAGED = 2
JOIN = JoinGroupRequest(protocols=[JoinGroupRequestProtocol("range", b"1"), JoinGroupRequestProtocol("sticky", b"2")])
# The request has 2 topics, 1 assignment and 3 brokers; the second topic has two unknown tags.
CREATE = CreateTopicsRequest(
    topics=[
        CreatableTopic(name="a", num_partitions=-1, replication_factor=-1, assignments=[CreatableReplicaAssignment(0, [1, 2, 3])]),
        CreatableTopic(name="b", num_partitions=1, replication_factor=1, unknown_tags={70: b"x", 71: b"y"}),
    ]
)
MILLIONS = b"\x00\x01g\x00\x00\x27\x10\x00\x00\x27\x10\x00\x00\x00\x08consumer" + (4_000_000).to_bytes(4, "big") + bytes(24_000_000)


def tried(decode: Any, *arguments: Any) -> Any:
    try:
        return decode(*arguments)
    except TooManyElements as refusal:
        return refusal.what, refusal.place
    except DecodeError:
        return "refused"


@for_each(("kind", "version"), every_version())
def test_both_decoders_allow_and_refuse_the_same_elements(kind: str, version: int) -> None:
    found = types()[kind]
    flexible = found.codec.flexible(version)
    dice = random.Random(f"elements {kind} {version}")
    message = sample(found.codec.message, version, flexible, dice)
    written = found.codec.encode(version, message)
    counter = Elements(1_000_000)
    reference.layout(found.codec.message, version, flexible).parse(written, elements=counter)
    used = 1_000_000 - counter.left
    for most in {used, max(0, used - 1)}:
        compiled = tried(found.codec.decoder(version, most), written, 0)
        judged = tried(reference.decode, found.codec.message, version, flexible, written, most)
        assert compiled == judged, most
        assert (compiled == (message, len(written))) is (most == used), most
    for _ in range(DAMAGED if written else 0):
        broken = bytearray(written)
        broken[dice.randrange(len(written))] = dice.choice((0, 1, 5, 0x7F, 0x80, 0xFF))
        compiled = tried(found.codec.decoder(version, used), bytes(broken), 0)
        judged = tried(reference.decode, found.codec.message, version, flexible, bytes(broken), used)
        assert compiled == judged or repr(compiled) == repr(judged), broken.hex()


@for_each(
    ("key", "version", "message", "used", "path"),
    [
        (11, 5, JOIN, 2, "protocols"),
        (11, 9, JOIN, 2, "protocols"),
        (19, 4, CreateTopicsRequest(topics=CREATE.topics[:1]), 5, "topics[].assignments[].broker_ids"),
        (19, 7, CREATE, 8, "topics[].unknown_tags"),
        (12, 4, HeartbeatRequest(unknown_tags={9: b"", 10: b""}), 2, "unknown_tags"),
    ],
)
def test_one_element_too_many_is_named(key: int, version: int, message: Any, used: int, path: str) -> None:
    codec = APIS[key].request
    written = codec.encode(version, message)
    assert codec.decode(version, written, max_elements=used) == message
    with pytest.raises(TooManyElements) as caught:
        codec.decode(version, written, max_elements=used - 1)
    assert caught.value.path == path
    assert caught.value.budget
    assert f"of {used - 1} are left for the whole message at {path} (offset " in str(caught.value)
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)


def test_nothing_is_built_of_millions_of_elements() -> None:
    decode = APIS[11].request.decoder(2, 30_000)
    tracemalloc.start()
    try:
        with pytest.raises(TooManyElements, match=r"4000000 elements where 30000 of 30000 are left .* at protocols \(offset 27\)"):
            decode(MILLIONS, 0)
        assert tracemalloc.get_traced_memory()[1] < 100_000
    finally:
        tracemalloc.stop()


def test_a_count_that_cannot_be_true_is_broken_and_not_expensive() -> None:
    with pytest.raises(DecodeError) as caught:
        APIS[11].request.decode(2, MILLIONS[:40], max_elements=30_000)
    assert not caught.value.budget


def test_a_negative_count_of_tags_gives_nothing_back() -> None:
    # A count of tags of 2^31 or more is negative in Java, so it means no tags.
    message = HeartbeatRequest(group_id="g", member_id="m")
    written = APIS[12].request.encode(4, message)[:-1] + b"\xff\xff\xff\xff\x0f"
    assert APIS[12].request.decode(4, written, max_elements=0) == message


def test_tags_of_a_header_are_counted_as_well() -> None:
    frame = encode_request_header(RequestHeader(11, 9, 1, "c", {1: b"", 2: b"", 3: b""}))
    assert decode_request_header(frame, max_tags=3)[1] == len(frame)
    with pytest.raises(TooManyElements, match="3 elements where 2 of 2 are left"):
        decode_request_header(frame, max_tags=2)


def test_text_that_is_no_text_is_read_in_one_go() -> None:
    # Each invalid byte once called a Python function, which took 15 s for a frame of such strings. The expected text is Java's reading of
    # the bytes.
    for bad, read in (
        (b"\x80" * 3, "\ufffd" * 3),
        (b"a\xed\xa0\x80b\xed\xbf", "a\ufffdb\ufffd"),
        (b"\xe2\x82z\xff", "\ufffdz\ufffd"),
        (b"\xed\xa0\x41", "\ufffdA"),
    ):
        assert bad.decode("utf-8", "groupmock-java") == read


@for_each(
    ("read", "few", "many"),
    [
        (consumer.read_subscription, *(struct.pack(">hi", 0, count) + bytes(2 * count) for count in (9, 30_001))),
        (consumer.read_assignment, *(struct.pack(">hi", 0, count) + bytes(6 * count + 4) for count in (9, 30_001))),
        (designs.read_subscription, *(struct.pack(">hi", 1, count) + bytes(2 * count) for count in (9, 30_001))),
        (designs.read_assignment, *(struct.pack(">hi", 1, count) + bytes(6 * count + 4) for count in (9, 30_001))),
        (designs.read_assignor_data, *(struct.pack(">i", count) + bytes(6 * count + 4) for count in (9, 30_001))),
        (designs.carried_assignment, *(struct.pack(">hi", 1, count) + bytes(6 * count + 4) for count in (9, 30_001))),
        (designs.unstock_assignment, *(struct.pack(">hi", 2, count) + bytes(6 * count + 8) for count in (9, 30_001))),
    ],
)
def test_what_members_say_is_read_up_to_a_bound(read: Any, few: bytes, many: bytes) -> None:
    assert read(few) is not None
    assert read(many) is None


def test_what_connect_workers_say_is_read_up_to_a_bound() -> None:
    few, many = (connect.encode_assignment(connect.WorkerAssignment(assigned=[connect.ConnectorTasks()] * n)) for n in (9, 30_001))
    assert len(connect.decode_assignment(few).assigned or ()) == 9
    with pytest.raises(TooManyElements):
        connect.decode_assignment(many)
