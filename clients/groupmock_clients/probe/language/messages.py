"""Convert between plain values and the codec's messages: add a member's defaults to requests, hide the differences between versions in
answers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, Final

from groupmock_codec import APIS
from groupmock_codec.declare import Field, Message, fields_of

from .matching import ABSENT
from .scope import NO_TOPIC, MemberMemory, Scope, Value, subscription
from .syntax import ExchangeError

KEYS: Final = {api.name: api.key for api in APIS.values()}
CAPS: Final = {"OffsetCommit": 9, "OffsetFetch": 7, "FindCoordinator": 3, "Metadata": 4, "Fetch": 12}
"""Maps an API to the highest version that is used when an exchange names none, because answers of later versions look different. Other
APIs use the highest version of both sides."""
DEFAULTS: Final[Mapping[str, Value]] = {
    "session_timeout_ms": 10_000,
    "rebalance_timeout_ms": 5_000,
    "protocols": [{"name": "range", "metadata": subscription("t")}],
}
ELEMENTS: Final = {
    "OffsetFetch": "groups", "DescribeGroups": "groups", "ConsumerGroupDescribe": "groups", "FindCoordinator": "coordinators",
    "DeleteGroups": "results",
}  # fmt: skip
"""Maps an API to the list whose first element holds the fields of an answer about one group, if they are not at the top."""
LISTED: Final = {"LeaveGroup": "members", "OffsetFetch": "groups", "DescribeGroups": "groups"}
"""Maps an API to the lists into which a request's fields about one member or group are put, unless the exchange names the list
(`_wrapped`)."""
LISTS: Final = (
    "groups", "coordinators", "results", "topics", "partitions", "responses", "partition_responses", "results_by_topic_v3_and_below",
    "results_by_partition", "markers", "transaction_states",
)  # fmt: skip
"""Maps an API to the lists in its answers that contain error codes."""
Names = Callable[[str], "bytes | None"]


def key_of(api: str, place: str) -> int:
    if api not in KEYS:
        raise ExchangeError(place, f"no API {api!r}: there are {', '.join(sorted(KEYS))}")
    return KEYS[api]


def remembered(memory: MemberMemory, scope: Scope) -> dict[str, Value]:
    """Return the request fields that a member fills in by itself from its earlier answers."""
    return {
        "group_id": scope.values["group"],
        "member_id": memory.member_id,
        "generation_id": memory.generation,
        "generation_id_or_member_epoch": memory.generation,
        "group_instance_id": memory.group_instance_id,
        "protocol_type": memory.protocol_type,
        "protocol_name": memory.protocol_name,
        "groups_names": [scope.values["group"]],
        "group_ids": [scope.values["group"]],
        "coordinator_keys": [scope.values["group"]],
        "key": scope.values["group"],
    }


def filled_in(api: str) -> frozenset[str]:
    """Return the request fields that get a value even if an exchange does not name them."""
    everywhere = {*DEFAULTS, *remembered(MemberMemory(None), Scope({"group": ""}))}
    return frozenset({*everywhere, LISTED[api]} if api in LISTED else everywhere)


@cache
def _fields(cls: type[Message]) -> dict[str, Field]:
    return {field.name: field for field in fields_of(cls)}


def build_request(api: str, version: int, explicit: Mapping[str, Value], defaults: Mapping[str, Value], ids: Names, place: str) -> Message:
    """Build the message of a request. Fields that the API never has are errors, and fields that this version lacks are left out."""
    cls = APIS[KEYS[api]].request.message
    known = _fields(cls)
    given = dict(explicit)
    wrapped = _wrapped(api, version, given, defaults)
    for name in given:
        if name not in known:
            raise ExchangeError(place, f"{api} requests have no field {name!r}: they have {', '.join(known)}")
    values = {**{name: value for name, value in defaults.items() if name in known and name not in wrapped}, **given, **wrapped}
    return _message(cls, values, version, ids, place)


def _wrapped(api: str, version: int, given: dict[str, Value], defaults: Mapping[str, Value]) -> dict[str, Value]:
    """Return the lists in which later versions of a request carry the fields about one member or group. The fields are removed from
    `given`."""
    if api == "LeaveGroup" and version >= 3 and "members" not in given:
        entry = {name: given.pop(name, defaults.get(name)) for name in ("member_id", "group_instance_id")}
        return {"members": [entry | ({"reason": given.pop("reason")} if "reason" in given else {})]}
    if api == "OffsetFetch" and version >= 8 and "groups" not in given:
        names = ("group_id", "topics", "member_id", "member_epoch")
        return {"groups": [{"group_id": defaults["group_id"], "topics": None} | {name: given.pop(name) for name in names if name in given}]}
    if api == "DescribeGroups" and "groups" not in given:
        return {"groups": [defaults["group_id"]]}
    if api == "FindCoordinator" and version >= 4 and "key" in given:
        return {"coordinator_keys": [given.pop("key")]}
    return {}


def _message(cls: type[Message], values: Mapping[str, Value], version: int, ids: Names, place: str) -> Message:
    made: dict[str, Any] = {}
    fields = _fields(cls)
    for name, value in values.items():
        field = fields.get(name)
        if value is None and field is not None and not field.nullable(version):
            continue  # A field whose value no answer has contained yet keeps its default.
        if field is not None and field.present(version):
            made[name] = _wire_value(field, value, version, ids, place)
        elif name == "name" and "topic_id" in fields:
            made["topic_id"] = ids(str(value)) or NO_TOPIC
        elif field is None:
            raise ExchangeError(place, f"{cls.__name__} has no field {name!r}")
    return cls(**made)


def _wire_value(field: Field, value: Value, version: int, ids: Names, place: str) -> Any:
    element = field.wire.element
    if isinstance(element, type) and isinstance(value, list):
        if not all(isinstance(each, dict) for each in value):
            raise ExchangeError(place, f"{field.name}: a list of structures expected")
        return [_message(element, each, version, ids, place) for each in value if isinstance(each, dict)]
    if isinstance(element, type) and isinstance(value, dict):
        return _message(element, value, version, ids, place)
    return [each for each in value if each is not None] if isinstance(value, list) else value


def as_values(message: Message, version: int) -> dict[str, Value]:
    """Convert an answer to plain values: the fields of its version, and the names of the fields that its version lacks."""
    fields = fields_of(type(message))
    out: dict[str, Value] = {field.name: _as_value(getattr(message, field.name), version) for field in fields if field.present(version)}
    out[ABSENT] = [field.name for field in fields if not field.present(version)]
    return out


def _as_value(value: Any, version: int) -> Value:
    if isinstance(value, Message):
        return as_values(value, version)
    if isinstance(value, list):
        return [_as_value(each, version) for each in value]
    kept: Value = value
    return kept


def look_up(api: str, answer: dict[str, Value], name: str) -> tuple[bool, Value]:
    """Find a field of the answer, at the top or in its first element (ELEMENTS). Returns False if this version lacks the field. Raises
    KeyError for an unknown name."""
    absent = answer[ABSENT]
    assert isinstance(absent, list)
    inner = answer.get(ELEMENTS.get(api, ""))
    if name in answer and name not in absent:
        return True, answer[name]
    if isinstance(inner, list) and inner and isinstance(inner[0], dict) and name in inner[0]:
        return True, inner[0][name]
    if name in absent or (isinstance(inner, list) and inner and isinstance(inner[0], dict) and name in _names(inner[0])):
        return False, None
    raise KeyError(name)


def _names(struct: dict[str, Value]) -> list[Value]:
    absent = struct[ABSENT]
    return absent if isinstance(absent, list) else []


def shown(request: dict[str, Value]) -> dict[str, Value]:
    """Return a request as reports show it: of the bytes of an authentication only their length."""
    secret = request.get("auth_bytes")
    return request if not isinstance(secret, bytes) else request | {"auth_bytes": f"{len(secret)} bytes"}


def error_codes(api: str, answer: dict[str, Value]) -> list[Value]:
    """Return the error codes of an answer that an expectation's leading number is compared with: the answer's own, else those of all its
    groups, else those of all its partitions."""
    own = next((answer[name] for name in ("error_code", "partition_error_code") if name in answer), None)
    if own is not None:
        return [own]
    found: list[Value] = []
    for name in LISTS:
        inner = answer.get(name)
        if isinstance(inner, list):
            for each in inner:
                if isinstance(each, dict):
                    found.extend(error_codes(api, each))
    return found
