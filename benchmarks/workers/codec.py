"""Times one JoinGroup response v9 with a thousand members through three codecs, in a fresh process: microseconds per operation.

    python -m benchmarks.workers.codec MEMBERS SECONDS     # {"groupmock": {"parse": us, "build": us}, "construct": ...}

Member ids are 48 bytes long and metadata 64. Before the timing, the bytes that every codec builds are compared.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from groupmock_codec import APIS
from groupmock_codec.messages.k11_join_group import JoinGroupResponse, JoinGroupResponseMember

VERSION = 9
ROUNDS = 7
METADATA = bytes(range(64))


@dataclass(frozen=True)
class Subject:
    """One codec that is timed, which turns bytes into its own message and back."""

    parse: Callable[[bytes], Any]
    build: Callable[[Any], bytes]
    ready: Callable[[Any], Any] = lambda value: value
    """Prepares a parsed message so that it can be built again."""


def member_id(index: int) -> str:
    """Return a member id of 48 characters, as a client id and a UUID make one."""
    return f"consumer-{index:03}".ljust(12, "x")[:12] + f"{index:036x}"


def message(members: int) -> JoinGroupResponse:
    """Return the response that a leader receives."""
    return JoinGroupResponse(
        generation_id=1,
        protocol_type="consumer",
        protocol_name="range",
        leader=member_id(0),
        member_id=member_id(0),
        members=[JoinGroupResponseMember(member_id=member_id(index), metadata=METADATA) for index in range(members)],
    )


def groupmock_subject() -> Subject:
    """Return groupmock's compiled codec as the codec to time."""
    codec = APIS[11].response
    return Subject(lambda data: codec.decode(VERSION, data), lambda value: codec.encode(VERSION, value))


def construct_subject() -> Subject:
    """Return the library construct with the same declaration, to and from construct's own containers, as the codec to time."""
    from groupmock_codec.reference import layout

    codec = APIS[11].response
    interpreted = layout(codec.message, VERSION, codec.flexible(VERSION))
    return Subject(interpreted.parse, interpreted.build)


def kafka_python_subject() -> Subject:
    """Return kafka-python 3, which generates code too, as the codec to time."""
    from kafka.protocol.consumer import JoinGroupResponse as Theirs

    def with_header(value: Any) -> Any:
        value._header = None  # kafka-python 3.0.12 reads `_header` in encode() and does not set it in decode()
        return value

    return Subject(lambda data: Theirs.decode(data, version=VERSION), lambda value: value.encode(version=VERSION), with_header)


def microseconds(run: Callable[[], object], seconds: float) -> float:
    """Return the microseconds per call in the best of seven rounds, which together take about `seconds`."""
    begin = time.process_time()
    run()
    once = max(time.process_time() - begin, 1e-7)
    count = max(1, int(seconds / ROUNDS / once))
    best = float("inf")
    for _ in range(ROUNDS):
        begin = time.process_time()
        for _ in range(count):
            run()
        best = min(best, (time.process_time() - begin) / count)
    return best * 1e6


def timed(subject: Subject, data: bytes, seconds: float) -> dict[str, float]:
    """Time both directions of a codec. The codec builds the message that it parsed itself."""
    value = subject.ready(subject.parse(data))
    if subject.build(value) != data:
        raise AssertionError("this codec does not build the bytes it parsed")
    return {"parse": microseconds(lambda: subject.parse(data), seconds), "build": microseconds(lambda: subject.build(value), seconds)}


def main() -> None:
    members, seconds = int(sys.argv[1]), float(sys.argv[2])
    data = APIS[11].response.encode(VERSION, message(members))
    subjects = {"groupmock": groupmock_subject, "construct": construct_subject, "kafka-python": kafka_python_subject}
    print(json.dumps({name: timed(make(), data, seconds) for name, make in subjects.items()}))


if __name__ == "__main__":
    main()
