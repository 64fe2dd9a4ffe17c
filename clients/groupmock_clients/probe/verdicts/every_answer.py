"""Check expectations that every answer must meet, whatever the exchange is about. P1-d4 says what JoinGroup's errors contain, P1-d5 what
throttle time and SyncGroup contain.

A field that the exchange itself mentions is skipped. Each expectation belongs to a row, so that a broker's mistake in every answer does not
break every row.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from groupmock_codec import error_codes

from ..language.matching import show
from ..language.scope import MemberMemory, Value

ECHOING = (
    error_codes.INCONSISTENT_GROUP_PROTOCOL, error_codes.INVALID_GROUP_ID, error_codes.UNKNOWN_MEMBER_ID,
    error_codes.INVALID_SESSION_TIMEOUT, error_codes.FENCED_INSTANCE_ID,
)  # fmt: skip
"""Errors of JoinGroup whose answer repeats the request's member id on every release."""
ECHOING_IN_3_9 = (error_codes.COORDINATOR_LOAD_IN_PROGRESS, error_codes.NOT_COORDINATOR)
UUID = r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"


def surprises(
    api: str, version: int, request: dict[str, Value], answer: dict[str, Value], stated: set[str], memory: MemberMemory, release: str
) -> Iterator[tuple[str, str]]:
    """Yield for every general expectation that the answer breaks the name of the rule and a sentence."""
    expected: dict[str, Value] = {"throttle_time_ms": 0}
    if api == "JoinGroup":
        expected |= _join(version, request, answer, release)
        if answer["error_code"] == error_codes.MEMBER_ID_REQUIRED and "member_id" not in stated:
            yield from _new_id(request, answer, memory)
    elif api == "SyncGroup" and answer["error_code"] != 0:
        expected |= {"assignment": b"", "protocol_type": None, "protocol_name": None}
    elif api == "SyncGroup":
        expected |= {"protocol_type": request.get("protocol_type"), "protocol_name": request.get("protocol_name")}
    elif api == "LeaveGroup":
        yield from _leave(request, answer)
    for name, value in expected.items():
        if name in answer and name not in stated and answer[name] != value:
            yield _row(api, name, answer), f"{name}: {show(value)} expected (it always is so), {show(answer[name])} seen"


def _row(api: str, name: str, answer: dict[str, Value]) -> str:
    """Return the name of the rule (row) that covers a field of an answer."""
    if name == "throttle_time_ms" or api == "SyncGroup":
        return "P1-d5"
    return "SERVER-12" if answer["error_code"] == 0 else "P1-d4"


def _join(version: int, request: dict[str, Value], answer: dict[str, Value], release: str) -> dict[str, Value]:
    code = answer["error_code"]
    if code == 0:
        own: dict[str, Value] = {"member_id": request["member_id"]} if request["member_id"] else {}
        found: dict[str, Value] = {"skip_assignment": False, **own}
        return found if answer["leader"] == answer["member_id"] else {**found, "members": []}
    empty: dict[str, Value] = {"generation_id": -1, "leader": "", "members": [], "skip_assignment": False, "protocol_type": None}
    # From v7 on the protocol name of a JoinGroup answer with an error is null (P1-d4).
    empty["protocol_name"] = "" if version < 7 else None
    if code != error_codes.MEMBER_ID_REQUIRED:
        # JoinGroup answers with GROUP_MAX_SIZE_REACHED (81) or UNKNOWN_SERVER_ERROR (-1) carry no member id (P1-d4).
        echoes = code in ECHOING or (code in ECHOING_IN_3_9 and release == "3.9")
        empty["member_id"] = request["member_id"] if echoes else ""
    return empty


def _new_id(request: dict[str, Value], answer: dict[str, Value], memory: MemberMemory) -> Iterator[tuple[str, str]]:
    prefix = memory.client_id or ""
    if not re.fullmatch(re.escape(prefix) + "-" + UUID, str(answer["member_id"])):
        yield "SERVER-01", f"member_id: {prefix}-UUID expected, {show(answer['member_id'])} seen"


def _leave(request: dict[str, Value], answer: dict[str, Value]) -> Iterator[tuple[str, str]]:
    asked, answered = request.get("members"), answer.get("members")
    if not isinstance(asked, list) or not isinstance(answered, list):
        return
    if answer["error_code"] != 0:
        if answered:
            yield "SERVER-44", f"members: none expected beside error {show(answer['error_code'])}, {show(answered)} seen"
        return
    pairs = [(each["member_id"], each["group_instance_id"]) for each in asked if isinstance(each, dict)]
    echoed = [(each["member_id"], each["group_instance_id"]) for each in answered if isinstance(each, dict)]
    if pairs != echoed:
        yield "SERVER-44", f"members: the request's entries in its order expected, {show(answered)} seen"
