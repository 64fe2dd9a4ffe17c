"""The number of elements in a request is limited in every decoder of the server and in the headers."""

from __future__ import annotations

import pytest

from groupmock.config.limits import Limits
from groupmock.core.identity import ApiRange
from groupmock.net.codecs import Codecs, Refused
from groupmock_codec import APIS, TooManyElements
from groupmock_codec.errors import CodecError
from groupmock_codec.headers import RequestHeader, encode_request_header
from groupmock_codec.messages.k11_join_group import JoinGroupRequest, JoinGroupRequestProtocol
from groupmock_codec.messages.k14_sync_group import SyncGroupRequest, SyncGroupRequestAssignment

TAGS = dict.fromkeys(range(11), b"")


def codecs(max_elements: int | None = None) -> Codecs:
    """Return the server's codecs for JoinGroup, SyncGroup and ApiVersions up to version 4."""
    return Codecs([ApiRange(11, 0, 9), ApiRange(14, 0, 5), ApiRange(18, 0, 4)], max_elements)


def test_a_leaders_sync_of_a_big_group_is_within_the_default() -> None:
    message = SyncGroupRequest(assignments=[SyncGroupRequestAssignment(f"m{n}", b"x") for n in range(20_000)])
    codec = codecs(Limits().request_max_elements).of(14, 5)
    assert codec.decode(APIS[14].request.encode(5, message), 0)[0] == message


def test_who_sends_more_is_refused_for_the_cost_and_not_for_a_mistake() -> None:
    body = APIS[11].request.encode(5, JoinGroupRequest(protocols=[JoinGroupRequestProtocol("p", b"")] * 11))
    assert len(codecs().of(11, 5).decode(body, 0)[0].protocols) == 11  # type: ignore[attr-defined]  # a JoinGroup
    with pytest.raises(TooManyElements, match="11 elements where 10 of 10 are left for the whole message at protocols") as caught:
        codecs(10).of(11, 5).decode(body, 0)
    assert caught.value.budget
    assert not Refused("another").budget
    with pytest.raises(CodecError) as broken:
        codecs(10).of(11, 5).decode(body[:3], 0)
    assert not broken.value.budget


def test_tags_of_a_header_count_too() -> None:
    frame = encode_request_header(RequestHeader(11, 9, 1, "c", TAGS))
    assert codecs(11).of(11, 9).header(frame) == ("c", len(frame))
    with pytest.raises(TooManyElements):
        codecs(10).of(11, 9).header(frame)
