"""Makes the answer that refuses a request, with the error in the field where the API version has it, and with the names and ids from the
request.

If the version has an error field for the whole answer, that gets the error, and the other fields get defaults. Otherwise each requested
entity (a group, a topic's partition, a key) is answered with the error: the answer's first list mirrors the request's, field by field.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import TYPE_CHECKING, Any, Final

import msgspec

from groupmock_codec import APIS
from groupmock_codec.declare import Field, fields_of

from .entities import ERRORS, KINDS

if TYPE_CHECKING:
    from groupmock_codec.declare import Message

    from .entities import Level

# In an answer with an error these fields get other values, because their default 0 would be a possible offset, node or port.
REFUSED: Final = {
    "committed_offset": -1, "committed_leader_epoch": -1, "node_id": -1, "port": -1, "high_watermark": -1, "base_offset": -1,
    "leader_id": -1, "records": b"",
}  # fmt: skip
"""Maps a field of an answer to the value that it has when the request is refused."""
SAME: Final = {"partition": "partition_index", "groups_names": "group_id"}
IDENTITIES: Final = ("key", "group_id", "name", "transactional_id")
"""The fields by which an element of an answer repeats a name that the request lists as a plain text."""
NAMES: Final = (
    *IDENTITIES, "topic", "topic_id", "partition", "partition_index", "index", "resource_type", "resource_name", "member_id",
    "group_instance_id", "topic_name", "partition_id", "log_dir", "user", "feature",
)  # fmt: skip
"""Fields of a request that name a group, topic, partition or the like, and that the answer has too."""
STAYS: Final = ("is_internal", "replica_nodes", "isr_nodes", "offline_replicas", "eligible_leader_replicas", "last_known_elr")
"""Fields that a Metadata answer has even for a partition without a leader."""
ASKS_FOR_ALL: Final = ("Metadata",)
"""APIs whose request means everything when it names nothing."""


def cannot(stage: str, api: str, version: int) -> str | None:
    """Return why the answer of this API version cannot be an error, or None if it can."""
    if _top(api, version) is not None:
        return None
    if not any(field.name in ERRORS for path in _paths(APIS[api].response.message, version) for field in path[-1:]):
        return "its answer has no error code"
    if stage == "request" and api in ASKS_FOR_ALL:
        return "its error stands beside each topic of the answer, which is not known before: use stage = 'reply'"
    return None


def refusal(api: str, version: int, request: Message, response: Message | None, code: int) -> Message:
    """Return the answer that refuses a request with an error code. `response` is the real answer if it exists already."""
    made: Message = APIS[api].response.message()
    if _top(api, version) is not None:
        _whole(made, request, version, code)
        return made
    if response is not None and api in ASKS_FOR_ALL:
        marked: Message = _marked(response, version, code)
        return marked
    _mirror(made, request, version, code)
    return made


def refused(element: Any, level: Level, code: int) -> Any:
    """Return an element of an answer with the error and with the fields that say what it is about. All other fields are those of a
    refusal."""
    made = type(element)()
    for name in level.fields.intersection((*NAMES, *STAYS)):
        setattr(made, name, getattr(element, name))
    for name in level.fields.intersection(REFUSED):
        setattr(made, name, REFUSED[name])
    assert level.error is not None
    setattr(made, level.error, code)
    return made


def has_whole_error(api: str, version: int) -> bool:
    """Return whether the answer can refuse the request as a whole."""
    return _top(api, version) is not None


def whole_error(api: str, version: int, response: Any) -> int:
    """Return the error of an answer that refuses the whole request, or 0."""
    return int(response.error_code) if has_whole_error(api, version) else 0


def _whole(made: Any, request: Message, version: int, code: int) -> None:
    _say(made, version, code)
    # An error of JoinGroup repeats the member id, and its protocol name is null (empty before version 7; P1-d4).
    if hasattr(made, "protocol_name") and hasattr(made, "leader"):  # Only a JoinGroup answer has both fields.
        made.member_id = getattr(request, "member_id", "")
        made.protocol_name = None if version >= 7 else ""


def _mirror(made: Message, request: Message, version: int, code: int) -> None:
    """Fill the lists of `made` like the lists of the request, each element with the error."""
    target, source = _refusing(type(made), version), _list(type(request), version)
    if target is None or source is None:
        return
    elements = []
    for asked in getattr(request, source.name) or ():
        element = target.wire.element_wire.struct()
        _copy(element, asked)
        _say(element, version, code)
        if not isinstance(asked, (str, int)) and not _has_error(type(element), version):
            _mirror(element, asked, version, code)
        elements.append(element)
    setattr(made, target.name, elements)


def _copy(element: Any, asked: Any) -> None:
    """Copy the fields that name a group, topic, partition or the like from the request to an element of the answer."""
    if isinstance(asked, str):
        setattr(element, next(each for each in IDENTITIES if each in element.__struct_fields__), asked)
    elif isinstance(asked, int):
        setattr(element, next(each for each in KINDS["partition"] if each in element.__struct_fields__), asked)
    else:
        for field in fields_of(type(asked)):
            for name in (field.name, SAME.get(field.name, "")):
                if name in NAMES and name in element.__struct_fields__:
                    setattr(element, name, getattr(asked, field.name))


def _say(element: Message, version: int, code: int) -> None:
    for field in fields_of(type(element)):
        if field.name in ERRORS and field.present(version):
            setattr(element, field.name, code)
        elif field.name in REFUSED and field.present(version):
            setattr(element, field.name, REFUSED[field.name])


def _marked(message: Any, version: int, code: int) -> Any:
    """Return the real answer with the error in every error field."""
    changed: dict[str, Any] = {}
    for field in fields_of(type(message)):
        value = getattr(message, field.name)
        if field.name in ERRORS and field.present(version):
            changed[field.name] = code
        elif field.wire.kind == "array" and field.wire.element_wire.kind == "struct" and value:
            changed[field.name] = [_marked(each, version, code) for each in value]
    return msgspec.structs.replace(message, **changed)


@cache
def _top(api: str, version: int) -> Field | None:
    fields = fields_of(APIS[api].response.message)
    return next((field for field in fields if field.name == "error_code" and field.present(version)), None)


@cache
def _has_error(message: type[Message], version: int) -> bool:
    return any(field.name in ERRORS and field.present(version) for field in fields_of(message))


@cache
def _list(message: type[Message], version: int) -> Field | None:
    """Return the first list field of the message in this version, which in a request for several things lists these things."""
    return next((field for field in fields_of(message) if field.wire.kind == "array" and field.present(version)), None)


@cache
def _refusing(message: type[Message], version: int) -> Field | None:
    """Return the first list field of an answer whose elements can have errors, else its first list field."""
    found = (path[0] for path in _paths(message, version) if len(path) > 1 and path[-1].name in ERRORS)
    return next(found, None) or _list(message, version)


def _paths(message: type[Message], version: int) -> Iterator[list[Field]]:
    for field in fields_of(message):
        if not field.present(version):
            continue
        yield [field]
        if field.wire.kind == "array" and field.wire.element_wire.kind == "struct":
            yield from ([field, *rest] for rest in _paths(field.wire.element_wire.struct, version))
