"""The reaction of a broker to bytes as a client sees it, without drawn ids, ports, and other scripts' groups and topics."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Final

from groupmock_codec import APIS, api_keys
from groupmock_codec.api_keys import API_VERSIONS
from groupmock_codec.declare import Message, fields_of
from groupmock_codec.errors import CodecError
from groupmock_codec.headers import decode_response_header, response_header_version

from ..guided.raw_bytes import Outcome

Json = Any

UUID: Final = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
OWN: Final = {"cluster_id", "controller_id", "throttle_time_ms", "host", "port", "log_dir", "total_bytes", "usable_bytes"}
"""Fields whose values identify the broker that answers, or describe its disk."""
DRAWN: Final = {(1, "session_id"), (22, "producer_id")}
"""Fields whose values the broker draws, so that only their presence is compared."""
LISTED: Final = {16: ("groups", "group_id"), 3: ("topics", "name"), 75: ("topics", "name")}
"""Maps an API to the list in its answer that may contain other scripts' groups or topics, and to the field with their names."""
SHUFFLED: Final = {20: "responses"}
"""Maps an API to the list in its answer that Kafka shuffles on purpose (ControllerApis.deleteTopics)."""


def reaction(outcome: Outcome, writes: list[bytes], token: str) -> dict[str, Json]:
    """Return the answers in order and the final state of the connection, in a form that is comparable between brokers. `token` is in the
    names of the script's own."""
    answers = []
    sent = iter(frames_of(b"".join(writes)))
    for frame in outcome.frames:
        request = next((each for each in sent if each[4:8] == frame[:4]), None)
        answers.append({"unexpected": frame.hex()} if request is None else _answer(request, frame, token))
    seen: dict[str, Json] = {"answers": answers, "end": outcome.end}
    return seen | {"cut": outcome.cut.hex()} if outcome.cut else seen


def frames_of(data: bytes) -> list[bytes]:
    """Split bytes into whole frames as a broker does."""
    frames, at = [], 0
    while at + 4 <= len(data):
        size = int.from_bytes(data[at : at + 4], signed=True)
        if size < 0 or at + 4 + size > len(data):
            break
        frames.append(data[at + 4 : at + 4 + size])
        at += 4 + size
    return frames


def _answer(request: bytes, frame: bytes, token: str) -> dict[str, Json]:
    key, version = int.from_bytes(request[:2], signed=True), int.from_bytes(request[2:4], signed=True)
    if key == API_VERSIONS:
        return _versions(version, frame)
    try:
        _, _, at = decode_response_header(frame, response_header_version(key, version))
        message = APIS[key].response.decode(version, frame[at:])
    except CodecError as broken:
        return {"key": key, "version": version, "unreadable": f"{frame.hex()} {broken}"}
    return {"key": key, "version": version, "answer": _only_own(key, shown(key, message), token)}


def _versions(version: int, frame: bytes) -> dict[str, Json]:
    """Return the error of an ApiVersions answer and the bytes that follow an error, without its rows, which another test compares."""
    code = int.from_bytes(frame[4:6], signed=True)
    return {"key": API_VERSIONS, "version": version, "error_code": code, **({"rest": frame[6:].hex()} if code else {})}


def shown(key: int, value: object) -> Json:
    """Return a message as JSON with the fields that differ from their defaults."""
    if isinstance(value, Message):
        found: dict[str, Json] = {}
        for field in fields_of(type(value)):
            each = getattr(value, field.name)
            if field.name in OWN or each == field.default:
                continue
            found[field.name] = "<drawn>" if (key, field.name) in DRAWN else shown(key, each)
        if value.unknown_tags:
            found["unknown_tags"] = {str(tag): data.hex() for tag, data in value.unknown_tags.items()}
        return found
    if isinstance(value, list):
        return [shown(key, each) for each in value]
    if isinstance(value, bytes):
        return value.hex()
    return UUID.sub("<uuid>", value) if isinstance(value, str) else value


def _only_own(key: int, answer: dict[str, Json], token: str) -> dict[str, Json]:
    by_name: Callable[[dict[str, Json]], str] = repr
    if key in SHUFFLED and SHUFFLED[key] in answer:
        answer[SHUFFLED[key]].sort(key=by_name)
    if key not in LISTED:
        return answer
    rows, name = LISTED[key]
    kept = [row for row in answer.get(rows, []) if token in (row.get(name) or "") or row.get("error_code")]
    return {
        **{field: value for field, value in answer.items() if field not in (rows, "next_cursor")},
        rows: sorted(kept, key=by_name) if key == api_keys.LIST_GROUPS else kept,
    }
