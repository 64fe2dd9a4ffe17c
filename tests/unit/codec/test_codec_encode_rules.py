"""Both codecs refuse values that cannot be encoded and name the field, and drop ignorable fields silently."""

from __future__ import annotations

from typing import Any

import pytest
from cases import for_each

from groupmock_codec import APIS, EncodeError, reference
from groupmock_codec.declare import Message
from groupmock_codec.messages.k00_produce import LeaderIdAndEpoch, PartitionProduceResponse, ProduceResponse, TopicProduceResponse
from groupmock_codec.messages.k01_fetch import FetchRequest, FetchTopic
from groupmock_codec.messages.k03_metadata import MetadataRequest, MetadataRequestTopic
from groupmock_codec.messages.k11_join_group import JoinGroupRequest, JoinGroupRequestProtocol, JoinGroupResponse, JoinGroupResponseMember
from groupmock_codec.messages.k12_heartbeat import HeartbeatRequest, HeartbeatResponse
from groupmock_codec.messages.k18_api_versions import ApiVersionsResponse
from groupmock_codec.messages.k19_create_topics import CreatableTopicConfigs, CreatableTopicResult, CreateTopicsResponse
from groupmock_codec.messages.k22_init_producer_id import InitProducerIdRequest

BIG = "x" * 32768
HALF: dict[str, Any] = {"Request": "request", "Response": "response"}


def codec_of(message: Message) -> Any:
    name = type(message).__name__
    half = "Request" if name.endswith("Request") else "Response"
    return getattr(APIS[name.removesuffix(half)], HALF[half])


def produced(**more: Any) -> ProduceResponse:
    return ProduceResponse([TopicProduceResponse("t", partition_responses=[PartitionProduceResponse(**more)])])


def fetched(uuid: bytes) -> FetchRequest:
    return FetchRequest(topics=[FetchTopic(topic_id=uuid)])


@for_each("version", [5, 7])
def test_a_list_that_is_met_again_is_written_again(version: int) -> None:
    """The compiled codec reuses the bytes of the previous element if both elements have the same list object."""
    shared, other = ([CreatableTopicConfigs(name=name, value="v")] * 2 for name in "ab")
    lists = [shared, shared, other, None, None, shared, [], shared, shared, shared]
    topics = [CreatableTopicResult(f"t{number}", configs=each) for number, each in enumerate(lists)]
    answer = CreateTopicsResponse(topics=topics)
    assert codec_of(answer).encode(version, answer) == reference.encode(answer, version, flexible=True)


REFUSED: list[tuple[str, int, Message, str]] = [
    ("a field the version has not", 4, JoinGroupRequest("g", group_instance_id="i"), "group_instance_id"),
    ("the same inside an array", 9, produced(current_leader=LeaderIdAndEpoch(1, 2)), "responses[0].partition_responses[0].current_leader"),
    ("a bool the version has not", 3, MetadataRequest([], allow_auto_topic_creation=False), "allow_auto_topic_creation"),
    ("null string, fixed", 0, HeartbeatRequest(None, 1, "m"), "group_id"),  # type: ignore[arg-type]
    ("null string, compact", 4, HeartbeatRequest("g", 1, None), "member_id"),  # type: ignore[arg-type]
    ("null string before it may be null", 6, JoinGroupResponse(protocol_name=None), "protocol_name"),
    ("null string in an array", 6, JoinGroupRequest("g", protocols=[JoinGroupRequestProtocol(None, b"")]), "protocols[0].name"),  # type: ignore[arg-type]
    ("null bytes", 9, JoinGroupResponse(protocol_name="", members=[JoinGroupResponseMember("m", None, None)]), "members[0].metadata"),  # type: ignore[arg-type]
    ("null array", 5, JoinGroupRequest("g", protocols=None), "protocols"),  # type: ignore[arg-type]
    ("null array before it may be null", 0, MetadataRequest(None), "topics"),
    ("string too long, fixed", 0, HeartbeatRequest(BIG, 1, "m"), "group_id"),
    ("string too long, compact", 4, HeartbeatRequest("g", 1, BIG), "member_id"),
    ("nullable string too long, compact", 4, HeartbeatRequest("g", 1, "m", BIG), "group_instance_id"),
    ("int16 too big", 0, HeartbeatResponse(0, 32768), "error_code"),
    ("int32 too small", 0, HeartbeatRequest("g", -(2**31) - 1, "m"), "generation_id"),
    ("int64 too big", 3, InitProducerIdRequest("t", 1, 2**63), "producer_id"),
    ("uuid of 15 bytes", 13, fetched(bytes(15)), "topics[0].topic_id"),
    ("uuid of 17 bytes", 13, fetched(bytes(17)), "topics[0].topic_id"),
    ("text where bytes are needed", 0, JoinGroupRequest("g", protocols=[JoinGroupRequestProtocol("r", "x")]), "protocols[0].metadata"),  # type: ignore[arg-type]
    ("bytes where text is needed", 0, HeartbeatRequest(b"g", 1, "m"), "group_id"),  # type: ignore[arg-type]
    ("a lone surrogate", 0, HeartbeatRequest("\ud800", 1, "m"), "group_id"),
    ("unknown tags in a version without tags", 3, HeartbeatRequest("g", 1, "m", unknown_tags={1: b""}), "unknown_tags"),
    ("an unknown tag with a known number", 3, ApiVersionsResponse(unknown_tags={1: b""}), "unknown_tags"),
    ("a negative tag", 4, HeartbeatRequest("g", 1, "m", unknown_tags={-1: b""}), "unknown_tags"),
    ("another struct in an array", 5, JoinGroupRequest("g", protocols=[JoinGroupResponseMember()]), "protocols[0]"),  # type: ignore[list-item]
]


@for_each(("version", "message", "path"), [row[1:] for row in REFUSED], ids=[row[0] for row in REFUSED])
def test_refused_with_its_place(version: int, message: Message, path: str) -> None:
    codec = codec_of(message)
    with pytest.raises(EncodeError) as caught:
        codec.encode(version, message)
    assert caught.value.path == path
    with pytest.raises(EncodeError):
        reference.encode(message, version, codec.flexible(version))


DROPPED: list[tuple[str, int, Message, Message]] = [
    ("rebalance timeout in v0", 0, JoinGroupRequest("g", rebalance_timeout_ms=5), JoinGroupRequest("g")),
    ("reason below v8", 7, JoinGroupRequest("g", reason="why"), JoinGroupRequest("g")),
    ("throttle time in v0", 0, HeartbeatResponse(7, 27), HeartbeatResponse(0, 27)),
    ("topic id below v10", 9, MetadataRequest([MetadataRequestTopic(b"i" * 16, "t")]), MetadataRequest([MetadataRequestTopic(name="t")])),
    ("tagged fields below the flexible version", 2, ApiVersionsResponse(finalized_features_epoch=9), ApiVersionsResponse()),
]


@for_each(("version", "message", "kept"), [row[1:] for row in DROPPED], ids=[row[0] for row in DROPPED])
def test_ignorable_fields_vanish_where_the_version_has_them_not(version: int, message: Message, kept: Message) -> None:
    codec = codec_of(message)
    assert codec.decode(version, codec.encode(version, message)) == kept


def test_a_message_of_another_class_is_refused() -> None:
    with pytest.raises(EncodeError, match="HeartbeatResponse where HeartbeatRequest is needed"):
        APIS[12].request.encode(4, HeartbeatResponse())


@for_each("version", [-1, 5])
def test_a_version_that_does_not_exist_is_refused(version: int) -> None:
    with pytest.raises(EncodeError, match="versions 0-4 exist"):
        APIS[12].request.encode(version, HeartbeatRequest())


def test_tags_are_written_in_ascending_order() -> None:
    message = HeartbeatRequest("g", 1, "m", unknown_tags={300: b"c", 5: b"a"})
    assert APIS[12].request.encode(4, message).endswith(bytes.fromhex("00 02 05 01 61 ac02 01 63"))


@for_each("size", [126, 127, 128, 2046, 2047, 2048, 16383, 32767])
def test_lengths_around_the_varint_limits(size: int) -> None:
    message = HeartbeatRequest("g" * size, 1, "m")
    assert APIS[12].request.decode(4, APIS[12].request.encode(4, message)) == message


def test_defaults_shared_by_messages_cannot_be_changed() -> None:
    one = PartitionProduceResponse()
    with pytest.raises(AttributeError):
        one.current_leader.leader_id = 7
    with pytest.raises(TypeError, match="shared"):
        one.unknown_tags[1] = b""
    one.record_errors.append(1)  # type: ignore[arg-type]
    assert PartitionProduceResponse().record_errors == []
