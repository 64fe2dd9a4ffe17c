"""A Fetch answer that is decoded while it passes the proxy has the same content as one decoded whole, however it is cut into pieces."""

from __future__ import annotations

import random
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groupmock.net.details import BIG, details_of
from groupmock.record.abridged import SMALLEST_ADDRESS, Abridged, abridges
from groupmock.record.addresses import tells_addresses
from groupmock.record.wire_codec import WireCodec
from groupmock_codec import APIS
from groupmock_codec.api_keys import FETCH, SHARE_FETCH
from groupmock_codec.errors import CodecError
from groupmock_codec.messages import k01_fetch, k78_share_fetch
from groupmock_codec.messages.k01_fetch import FetchableTopicResponse, FetchResponse, NodeEndpoint, PartitionData
from groupmock_codec.samples import sample

CORRELATION = b"\0\0\0\7"
READ = [(key, version) for key, api in APIS.items() if abridges(key) for version in api.versions.every]
places = st.lists(st.integers(0, 10_000), max_size=20)


def pieces(frame: bytes, cuts: list[int]) -> list[bytes]:
    edges = [0, *sorted({place % (len(frame) + 1) for place in cuts}), len(frame)]
    return [frame[low:high] for low, high in pairwise(edges) if low < high]


def passed(codec: WireCodec, frame: bytes, cuts: list[int]) -> Abridged:
    abridged = Abridged(codec, len(frame))
    for piece in pieces(frame, cuts):
        abridged.feed(piece)
        abridged.digest()
    return abridged


def answer(key: int, version: int, dice: random.Random) -> Any:
    """Return a random answer, possibly with large records."""
    api = APIS[key].response
    message: Any = sample(api.message, version, api.flexible(version), dice)
    for topic in message.responses:
        for partition in topic.partitions:
            if partition.records is not None and dice.random() < 0.6:
                partition.records = dice.randbytes(dice.choice((BIG - 1, BIG, BIG + 1, 3 * BIG)))
    return message


@given(st.sampled_from(READ), st.integers(0, 2**32), places)
def test_it_says_what_the_whole_says(api: tuple[int, int], seed: int, cuts: list[int]) -> None:
    codec = WireCodec(*api)
    frame = codec.answer(CORRELATION, answer(*api, random.Random(seed)))
    abridged = passed(codec, frame, cuts)
    assert details_of(codec, abridged.read(), True) == details_of(codec, codec.read_answer(frame[4:]), True)


@given(st.sampled_from(READ), st.integers(0, 2**32), places, st.integers(0, 2**32))
def test_bytes_that_are_no_answer_are_refused_as_the_whole_is(api: tuple[int, int], seed: int, cuts: list[int], where: int) -> None:
    codec, dice = WireCodec(*api), random.Random(where)
    good = codec.answer(CORRELATION, answer(*api, random.Random(seed)))
    body = bytearray(good[8:])
    if body and dice.random() < 0.5:
        body[dice.randrange(len(body))] ^= 1 << dice.randrange(8)
    else:
        body = body[: dice.randrange(len(body) + 1)] + (dice.randbytes(3) if dice.random() < 0.5 else b"")
    frame = (len(body) + 4).to_bytes(4, "big") + CORRELATION + body
    abridged = passed(codec, frame, cuts)
    try:
        whole = codec.read_answer(frame[4:])
    except CodecError:
        with pytest.raises(CodecError):
            abridged.read()
    else:
        assert details_of(codec, abridged.read(), True) == details_of(codec, whole, True)


ENDPOINTS = {FETCH: k01_fetch.NodeEndpoint, SHARE_FETCH: k78_share_fetch.NodeEndpoint}
TELLS = [api for api in READ if tells_addresses(*api)]


@given(st.sampled_from(TELLS), st.integers(0, 2**32), places)
def test_what_names_a_node_is_never_said_to_name_none(api: tuple[int, int], seed: int, cuts: list[int]) -> None:
    codec, dice = WireCodec(*api), random.Random(seed)
    message = answer(*api, dice)
    message.node_endpoints = [ENDPOINTS[api[0]](node_id=1, host="h" * dice.randrange(2), port=9092, rack=None)]
    assert passed(codec, codec.answer(CORRELATION, message), cuts).may_tell


def test_that_no_address_follows_is_known_before_the_first_record_has_come() -> None:
    codec = WireCodec(FETCH, 17)
    partition = PartitionData(partition_index=0, records=b"v" * 100_000)
    frame = codec.answer(CORRELATION, FetchResponse(responses=[FetchableTopicResponse(partitions=[partition])]))
    abridged = Abridged(codec, len(frame))
    assert abridged.may_tell
    abridged.feed(frame[:100])
    assert not abridged.may_tell


def test_of_records_that_pass_nothing_is_kept() -> None:
    codec = WireCodec(FETCH, 12)
    partition = PartitionData(partition_index=0, records=b"v" * 1_000_000)
    frame = codec.answer(CORRELATION, FetchResponse(responses=[FetchableTopicResponse(topic="t", partitions=[partition])]))
    assert len(passed(codec, frame, list(range(0, 10_000, 500))).kept) < 100


def test_no_address_is_smaller_than_the_smallest() -> None:
    codec = WireCodec(FETCH, 17)
    without = codec.answer(CORRELATION, FetchResponse())
    smallest = codec.answer(CORRELATION, FetchResponse(node_endpoints=[NodeEndpoint(node_id=1, host="", port=1, rack=None)]))
    assert len(smallest) - len(without) + 1 == SMALLEST_ADDRESS and tells_addresses(FETCH, 17)
