"""Some parts of a message have a special form in its row: embedded subscriptions and assignments are decoded, and large record payloads
are left out."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import msgspec

from groupmock_codec.api_keys import ALTER_USER_SCRAM_CREDENTIALS, JOIN_GROUP, SASL_AUTHENTICATE, SYNC_GROUP
from groupmock_codec.declare import Message, Wire, fields_of

from ..journal.rows import Payload

if TYPE_CHECKING:
    from collections.abc import Callable

    from .seen import Named

BIG: Final = 1024
SECRETS: Final = frozenset((SASL_AUTHENTICATE, ALTER_USER_SCRAM_CREDENTIALS))
"""APIs whose requests contain a secret that no journal may keep, because clients authenticate themselves with it."""
EMBEDDED_BYTES: Final = 500_000
"""At most this many bytes of embedded subscriptions and assignments are decoded for one row, equal ones once; the rest is shown as bytes.
Reading costs at most 0.1 us a byte."""
EACH: Final = 20
"""Each member adds this many bytes to what counts against `EMBEDDED_BYTES`, because even a few bytes cost as much time to decode. The
row of a group of 10,000 members still shows each member's assignment."""
CONSUMER: Final = "consumer"
CONNECT: Final = "connect"

Places = Iterator[tuple[str, bytes, str | None]]


class Details(NamedTuple):
    """The content of a message as its row shows it."""

    message: Any
    embedded: dict[str, Any] | None = None
    payloads: list[Payload] | None = None


def details_of(codec: Named, message: Message | None, wanted: bool, protocol_type: str | None = None) -> Details:
    """Return the content of a message for its row, with decoded embedded bytes and digests of large payloads. Nothing that costs time is
    done if `wanted` is False.

    `protocol_type` is the group's, if the message itself does not have it (SyncGroup below version 5, replies below JoinGroup 7)."""
    if message is None or not wanted:
        return Details(message)
    if codec.key in EMBEDDED:
        return Details(message, _embedded(codec.key, message, protocol_type))
    if has_records(type(message)):
        return _without_payloads(message)
    return Details(message)


def _embedded(key: int, message: Message, protocol_type: str | None) -> dict[str, Any] | None:
    kind = getattr(message, "protocol_type", None) or protocol_type
    readers = _readers(kind)
    if readers is None:
        return None
    found: dict[str, Any] = {}
    # Decoded bytes are cached, because most members of a group send the same bytes.
    read: dict[tuple[bytes, str | None], dict[str, Any]] = {}
    room = EMBEDDED_BYTES
    for path, data, name in EMBEDDED[key](message):
        decoded = read.get((data, name))
        if decoded is None:
            room -= EACH + len(data)
            if room < 0:
                break
            decoded = read[data, name] = _read(readers[0 if path.endswith("metadata") else 1], data, name, kind)
        for below, value in decoded.items():
            found[path + below] = value
    return found or None


def _read(reader: Callable[[bytes], Any], data: bytes, name: str | None, kind: str | None) -> dict[str, Any]:
    """Return the decoded subscription or assignment of one member, with a path as key for each part ("" for all of it)."""
    message = reader(data) if data else None
    if message is None:
        return {}
    return {"": message} if kind != CONSUMER else {"": message} | _design_in(message, data, name)


def _design_in(message: Message, data: bytes, name: str | None) -> dict[str, Any]:
    """Decode the part of a cooperative assignor's subscription that stock clients do not have. `name` is the protocol's name, or None if
    the message has none (SyncGroup below version 5). The assignor is then recognized by bytes that are no stock message, or by user data
    of a documented form."""
    from groupmock_codec.embedded import consumer, designs

    if name is not None and name not in designs.NAMES:
        return {}
    if isinstance(message, consumer.Assignment):
        return _assignment_of_a_design(message.user_data, data, name)
    assert isinstance(message, consumer.Subscription)
    return _subscription_of_a_design(message.user_data, name)


def _assignment_of_a_design(user_data: bytes | None, data: bytes, name: str | None) -> dict[str, Any]:
    from groupmock_codec.embedded import designs

    literal = designs.unstock_assignment(data) if name is None else designs.read_assignment(data) if name in designs.LITERAL else None
    if literal is not None:
        return {"": literal}
    carried = designs.carried_assignment(user_data)
    return {} if carried is None else {".user_data": carried}


def _subscription_of_a_design(user_data: bytes | None, name: str | None) -> dict[str, Any]:
    from groupmock_codec.embedded import designs

    found: dict[str, Any] = {}
    carried = designs.carried_subscription(user_data)
    if carried is not None:
        found[".user_data"] = carried
        user_data = carried.partition_assignor_data
    told = designs.read_assignor_data(user_data) if name else None
    return found if told is None else found | {".partition_assignor_data": told}


def _readers(kind: str | None) -> tuple[Callable[[bytes], Message | None], Callable[[bytes], Message | None]] | None:
    """Return the readers of a member's metadata and of its assignment for a known protocol type. The readers never raise."""
    if kind == CONSUMER:
        from groupmock_codec.embedded import consumer

        return consumer.read_subscription, consumer.read_assignment
    if kind == CONNECT:
        from groupmock_codec.embedded import connect

        return _forgiving(connect.decode_metadata), _forgiving(connect.decode_assignment)
    return None


def _forgiving(decode: Callable[[bytes], Message]) -> Callable[[bytes], Message | None]:
    def read(data: bytes) -> Message | None:
        try:
            return decode(data)
        except ValueError:
            return None

    return read


def _in_join(message: Any) -> Places:
    if hasattr(message, "protocols"):
        for place, protocol in enumerate(message.protocols):
            yield f"protocols[{place}].metadata", protocol.metadata, protocol.name
    else:
        for place, member in enumerate(message.members):
            yield f"members[{place}].metadata", member.metadata, message.protocol_name


def _in_sync(message: Any) -> Places:
    name = message.protocol_name
    if hasattr(message, "assignments"):
        for place, entry in enumerate(message.assignments):
            yield f"assignments[{place}].assignment", entry.assignment, name
    else:
        yield "assignment", message.assignment, name


EMBEDDED: Final[dict[int, Callable[[Any], Places]]] = {JOIN_GROUP: _in_join, SYNC_GROUP: _in_sync}


def without_secret(message: Any, frame: bytes) -> tuple[Any, bytes]:
    """Return a request that contains a secret, and its frame, with zeros in place of each secret. The lengths stay, so that the frame
    can be replayed; bytes behind the message are dropped, because nobody knows what they are."""
    from groupmock_codec import APIS
    from groupmock_codec.headers import decode_request_header

    header, body = decode_request_header(frame)
    bare = _BARE[header.api_key](message)
    return bare, frame[:body] + APIS[header.api_key].request.encode(header.api_version, bare)


def without_token(message: Any) -> Any:
    """Return a SaslAuthenticate request or answer with zeros in place of its token."""
    return msgspec.structs.replace(message, auth_bytes=bytes(len(message.auth_bytes)))


def _without_passwords(message: Any) -> Any:
    upsertions = [
        msgspec.structs.replace(each, salt=bytes(len(each.salt)), salted_password=bytes(len(each.salted_password)))
        for each in message.upsertions
    ]
    return msgspec.structs.replace(message, upsertions=upsertions)


_BARE: Final[dict[int, Callable[[Any], Any]]] = {
    SASL_AUTHENTICATE: without_token,
    ALTER_USER_SCRAM_CREDENTIALS: _without_passwords,
}


class Digested(msgspec.Struct, frozen=True):
    """Record bytes that were removed from a message are described by their number and their sha256 in hex."""

    length: int
    digest: str

    def __len__(self) -> int:
        return self.length


@cache
def has_records(message: type[Message]) -> bool:
    """True if messages of this type can contain records."""
    return any(holds_records(field.wire) for field in fields_of(message))


def holds_records(wire: Wire) -> bool:
    """True if the wire type is records or contains records."""
    element = wire.element
    if wire.kind == "records":
        return True
    if isinstance(element, Wire):
        return holds_records(element)
    return element is not None and has_records(element)


def _without_payloads(message: Message) -> Details:
    """Return a copy of the message in which record batches above 1 KiB are null. The rest is shared with the original."""
    payloads: list[Payload] = []
    copy = _stripped(message, "", payloads)
    return Details(copy, None, payloads or None)


def _stripped(message: Message, path: str, payloads: list[Payload]) -> Message:
    changed: dict[str, Any] = {}
    for field in fields_of(type(message)):
        value = getattr(message, field.name)
        where = f"{path}{field.name}"
        if field.wire.kind == "records":
            if value is not None and len(value) > BIG:
                digest = value.digest if isinstance(value, Digested) else _sha256(value)
                payloads.append(Payload(path=where, length=len(value), digest=digest))
                changed[field.name] = None
        elif holds_records(field.wire):
            changed[field.name] = [_stripped(entry, f"{where}[{place}].", payloads) for place, entry in enumerate(value)]
    return msgspec.structs.replace(message, **changed) if changed else message


def _sha256(data: bytes | memoryview) -> str:
    from hashlib import sha256  # This import is late, because a server that starts needs no digest.

    return sha256(data).hexdigest()
