"""The ring's byte counter roughly equals its real memory for rows of every shape, measured by tracemalloc."""

from __future__ import annotations

import gc
import tracemalloc
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from cases import for_each

from groupmock.journal.ring import BATCH, Ring
from groupmock.journal.rows import CommandRow, MemberRow, MovedRow, NoteRow, ReplyRow, RequestRow, Row, TimerRow
from groupmock.journal.weight import held
from groupmock.story.sentences import sentence
from groupmock.story.telling import tell
from groupmock_codec import APIS
from groupmock_codec.declare import Message, Wire, fields_of
from groupmock_codec.messages.k00_produce import PartitionProduceData, ProduceRequest, TopicProduceData
from groupmock_codec.messages.k03_metadata import MetadataRequest, MetadataRequestTopic
from groupmock_codec.messages.k11_join_group import JoinGroupRequest, JoinGroupRequestProtocol, JoinGroupResponse, JoinGroupResponseMember
from groupmock_codec.messages.k12_heartbeat import HeartbeatRequest, HeartbeatResponse
from groupmock_codec.messages.k13_leave_group import LeaveGroupRequest, MemberIdentity

ROOM = 128 * 1024
WIDE = "\U0001f600"
"""Python stores a string with this character at four bytes per character."""


def place(number: int) -> dict[str, Any]:
    now = 10**12 + 1000 * number
    return {"t": now, "connection": number, "ticket": 10**6 + number, "correlation_id": 10**6 + number, "api_key": 11, "api_version": 5}


def request(number: int, message: Any, size: int, **more: Any) -> Row:
    times = {"received": 10**12 + number, "handled": 10**12 + 2 * number, "client_id": f"client-{number}"}
    return RequestRow(**place(number), **times, api_name="JoinGroup", size=size, message=message, **more)


def reply(number: int, message: Any, size: int) -> Row:
    return ReplyRow(**place(number), api_name="An API", size=size, message=message)


def joining(number: int, metadata: int = 60, protocols: int = 2) -> JoinGroupRequest:
    listed = [JoinGroupRequestProtocol(name=f"range-{each}-{number}", metadata=b"%d" % number * metadata) for each in range(protocols)]
    return JoinGroupRequest(group_id=f"group-{number}", member_id=f"member-{number}", protocol_type="consumer", protocols=listed)


def joined(number: int, members: int) -> JoinGroupResponse:
    each = [JoinGroupResponseMember(member_id=f"member-{number}-{place}", metadata=b"%d" % place * 20) for place in range(members)]
    return JoinGroupResponse(generation_id=number, member_id=f"member-{number}", leader=f"leader-{number}", members=each)


def produce(number: int) -> ProduceRequest:
    def data(topic: int) -> list[PartitionProduceData]:
        return [PartitionProduceData(index=1000 + each, records=b"%d" % topic * 100) for each in range(5)]

    return ProduceRequest(topic_data=[TopicProduceData(name=f"topic-{number}-{each}", partition_data=data(number)) for each in range(5)])


def wide(text: str, number: int) -> str:
    return f"{WIDE}{text * 100}{number}"


SHAPES: dict[str, Callable[[int], Row]] = {
    "a heartbeat": lambda n: request(n, HeartbeatRequest(group_id=f"group-{n}", member_id=f"member-{n}", generation_id=n + 1000), 60),
    "its answer": lambda n: reply(n, HeartbeatResponse(error_code=27), 10),
    "a small JoinGroup": lambda n: request(n, joining(n), 250),
    "a small one with its frame and copy": lambda n: request(
        n, joining(n), 250, raw=b"%d" % n * 60, embedded={f"protocols[{n}]": joining(n)}
    ),
    "protocols of three bytes": lambda n: request(n, joining(n, 0, 80), 256),
    "a small one of wide characters": lambda n: request(n, HeartbeatRequest(group_id=wide("g", n), member_id=wide("m", n)), 240),
    "a JoinGroup of 10 kB": lambda n: request(n, joining(n, 1000), 10_000, raw=b"%d" % n * 2_500),
    "of many empty protocols": lambda n: request(n, joining(n, 0, 100), 1000),
    "of many wide characters": lambda n: request(n, JoinGroupRequest(group_id=wide("g" * 9, n), reason=wide("r" * 9, n)), 2000),
    "the leader's answer, 30 members": lambda n: reply(n, joined(n, 30), 2000),
    "the leader's answer, 300 members": lambda n: reply(n, joined(n, 300), 20_000),
    "nested arrays": lambda n: request(n, produce(n), 5000),
    "strings in an array": lambda n: request(n, MetadataRequest(topics=[MetadataRequestTopic(name=f"t-{n}-{e}") for e in range(50)]), 600),
    "tags nobody knows": lambda n: request(
        n, LeaveGroupRequest(members=[MemberIdentity(member_id="m", unknown_tags={100 + t: b"%d" % n for t in range(20)})]), 200
    ),
    "a move": lambda n: MovedRow(t=10**12 + n, group=f"g-{n}", before="Empty", after="Stable", generation=n + 1000, reason=f"because {n}"),
    "a move for a long reason": lambda n: MovedRow(t=10**12 + n, group="g", before="", after="", generation=1, reason=f"{n}" * 1000),
    "a member with wide names": lambda n: MemberRow(t=10**12 + n, group=wide("g", n), member_id=wide("m", n), what="", reason=wide("r", n)),
    "a timer": lambda n: TimerRow(t=10**12 + n, timer="session", subject=(f"group-{n}", f"member-{n}")),
    "a command with a big argument": lambda n: CommandRow(t=10**12 + n, name="append", arguments={"batch": {"base64": f"{n}" * 20_000}}),
    "a note of many facts": lambda n: NoteRow(t=10**12 + n, what="x", fields={f"fact {each} of {n}": [n + each] * 3 for each in range(30)}),
}
"""Functions that each create a row of one shape that shares no object with other rows."""


def filled(ring: Ring, make: Callable[[int], Row]) -> None:
    """Add twice as many rows as fit, so that the first half is dropped."""
    number = 0
    while ring.dropped < len(ring.rows) or number < 2 * BATCH:
        number += 1
        ring.take(make(number))
        if number == 3 * ring.max_rows:
            raise AssertionError(f"{len(ring.rows)} rows of {ring.bytes} bytes, and none goes")


@pytest.fixture
def few_objects() -> Iterator[None]:
    """Leave the objects of earlier tests out of collections, which took two minutes at the end of a whole run."""
    gc.collect()
    gc.freeze()
    yield
    gc.unfreeze()


@pytest.mark.usefixtures("few_objects")
@for_each("shape", SHAPES)
def test_memory_is_what_the_ring_counts(shape: str) -> None:
    make, ring = SHAPES[shape], Ring(ROOM)
    # The first journal row with given fields also creates objects that belong to no row, so a ring is filled once before the measurement.
    filled(Ring(BATCH * 1024), make)
    gc.collect()
    tracemalloc.start()
    try:
        filled(ring, make)
        gc.collect()
        real = tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()
    assert ring.bytes <= ROOM
    assert real <= 1.5 * ROOM, f"{len(ring.rows)} rows of {shape}: {real:,} bytes, {ring.bytes:,} counted"
    assert real >= 0.4 * ring.bytes, f"{len(ring.rows)} rows of {shape}: only {real:,} bytes, {ring.bytes:,} counted"


@for_each("key", APIS)
def test_every_message_can_be_weighed(key: int) -> None:
    """The test takes every API with an element in each array, in a small and a large frame; more elements must weigh more."""
    for half in (APIS[key].request, APIS[key].response):
        one, many = (filled_message(half.message, half.versions.highest, elements) for elements in (1, 100))
        for size in (100, 100_000):
            light, heavy = (held(request(1, message, size), 10**9) for message in (one, many))
            assert light > 500
            assert heavy > light or one == many


def filled_message(message: type[Message], version: int, elements: int) -> Any:
    told = ((field.name, filled_field(field.wire, version, elements)) for field in fields_of(message) if field.present(version))
    return message(**{name: value for name, value in told if value is not None})


def filled_field(wire: Wire, version: int, elements: int) -> Any:
    if wire.kind == "array":
        # Of an array inside an array only the outer one is made long.
        return [filled_field(wire.element_wire, version, 1) or 0 for _ in range(elements)]
    plain = {"string": "text", "bytes": b"bytes", "records": b"records", "uuid": bytes(16)}
    return filled_message(wire.struct, version, 1) if wire.kind == "struct" else plain.get(wire.kind)


def test_one_frame_does_not_drive_out_the_story() -> None:
    """The ring drops the large part of the row and keeps the part that a sentence needs."""
    ring = Ring(ROOM)
    for number in range(BATCH):
        ring.take(MovedRow(t=number, group="g", before="Empty", after="Stable", generation=number, reason="because"))
    ring.take(request(1, big_join(), 9_000_000))
    ring.take(reply(1, joined(7, 10_000), 9_000_000))
    assert ring.dropped == 0
    lines = [sentence(row) for row in ring.of_group("g")]
    assert len(lines) == BATCH + 2
    assert lines[-2].endswith("JoinGroup v5 from client-1, group g, member m")
    assert lines[-1].endswith("generation 7, member member-7, leader leader-7")
    assert not [line for line in tell(ring.rows, group="g") if "could not be told" in line]
    assert ring.rows[-2].raw is None and "protocols" not in ring.rows[-2].message


def big_join() -> JoinGroupRequest:
    return JoinGroupRequest(group_id="g", member_id="m", protocols=[JoinGroupRequestProtocol(name="x", metadata=bytes(9_000_000))])
