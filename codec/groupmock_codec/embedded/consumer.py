"""The embedded protocol `consumer` has Subscription and Assignment, in versions 0 to 3 (docs/kafka/embedded-protocols.md).

v1 adds the owned partitions (KIP-429), v2 the generation that they are from (KIP-792), v3 the rack (KIP-881); the Assignment is the same
in all four. Readers take a version above 3 as 3 and ignore what follows the known fields; a negative one is an error.

`decode_*` check every length, `read_*` return as much as can be read, `encode_*` write `message.version`. Brokers pass these bytes on
unread, so their size has no limit: what has more than READ_ELEMENTS is not read at all.
"""

from __future__ import annotations

from typing import Annotated, Final, TypeVar

from ..declare import BYTES, IGNORABLE, INT16, INT32, STRING, Message, Versions, array, nullable, since
from ..errors import DecodeError, EncodeError, Place, TooManyElements
from ..registry import Codec

HIGHEST: Final = 3
READ_ELEMENTS: Final = 30_000
"""The largest number of topics and partitions that the `read_*` functions read of one member, which takes 15 ms."""
M = TypeVar("M", bound=Message)


class TopicPartitions(Message):
    topic: Annotated[str, STRING] = ""
    partitions: Annotated[list[int], array(INT32)] = []


class Subscription(Message):
    """The subscription that a member sends to the leader. `generation_id` is -1 for none; an eager member owns nothing when it joins."""

    version: Annotated[int, INT16] = HIGHEST
    topics: Annotated[list[str], array(STRING)] = []
    user_data: Annotated[bytes | None, BYTES, nullable()] = None
    owned_partitions: Annotated[list[TopicPartitions], array(TopicPartitions), since(1), IGNORABLE] = []
    generation_id: Annotated[int, INT32, since(2), IGNORABLE] = -1
    rack_id: Annotated[str | None, STRING, nullable(), since(3), IGNORABLE] = None


class Assignment(Message):
    """The assignment that the leader sends to a member. A member without an assignment gets no bytes at all, not even a version."""

    version: Annotated[int, INT16] = HIGHEST
    assigned_partitions: Annotated[list[TopicPartitions], array(TopicPartitions)] = []
    user_data: Annotated[bytes | None, BYTES, nullable()] = None


class AssignmentHead(Message):
    """The fields of an Assignment without its user data."""

    version: Annotated[int, INT16] = HIGHEST
    assigned_partitions: Annotated[list[TopicPartitions], array(TopicPartitions)] = []


SUBSCRIPTION: Final = Codec(Subscription, Versions(0, HIGHEST), None)
ASSIGNMENT: Final = Codec(Assignment, Versions(0, HIGHEST), None)
_PARTITIONS: Final = Codec(AssignmentHead, Versions(0, HIGHEST), None)


def decode_subscription(data: bytes) -> Subscription:
    """Decode a Subscription, and keep its version as it was sent. DecodeError if it is cut, a length is wrong or its version is
    negative."""
    return SUBSCRIPTION.decode(_known(data), data, trailing=True)


def decode_assignment(data: bytes) -> Assignment:
    """Decode an Assignment, and keep its version as it was sent. DecodeError if it is cut or empty, a length is wrong or its version is
    negative."""
    return ASSIGNMENT.decode(_known(data), data, trailing=True)


def encode_subscription(message: Subscription) -> bytes:
    """Encode a Subscription in the version that its field `version` names, without the fields that this version lacks. EncodeError if
    that is not 0-3."""
    return SUBSCRIPTION.encode(_writable(message.version), message)


def encode_assignment(message: Assignment) -> bytes:
    """Encode an Assignment in the version that its field `version` names. EncodeError if that is not 0-3."""
    return ASSIGNMENT.encode(_writable(message.version), message)


def read_subscription(data: bytes) -> Subscription | None:
    """Read a Subscription as far as its bytes are valid, with defaults for the remaining fields. None without a version or with too many
    elements."""
    if len(data) < 2:
        return None
    try:
        found = _longest(SUBSCRIPTION, data)
    except TooManyElements:
        return None
    return Subscription(_version(data), _leading_topics(data)) if found is None else found


def read_assignment(data: bytes) -> Assignment | None:
    """Read an Assignment as far as its bytes are valid, with defaults for the remaining fields. None without a version (no assignment
    has no bytes) or with too many elements."""
    if len(data) < 2:
        return None
    try:
        found = _longest(ASSIGNMENT, data)
        if found is not None:
            return found
        partitions = _longest(_PARTITIONS, data)  # The user data are invalid, so only the fields before them are read.
    except TooManyElements:
        return None
    return Assignment(_version(data), [] if partitions is None else partitions.assigned_partitions)


def _version(data: bytes) -> int:
    return int.from_bytes(data[:2], signed=True)


def _known(data: bytes) -> int:
    if len(data) < 2:
        raise DecodeError("embedded consumer protocol cannot be read", Place(f"{len(data)} bytes have no version", "version"))
    version = _version(data)
    if version < 0:
        raise DecodeError("embedded consumer protocol cannot be read", Place(f"negative version {version}", "version"))
    return min(version, HIGHEST)


def _writable(version: int) -> int:
    if not 0 <= version <= HIGHEST:
        raise EncodeError("embedded consumer protocol cannot be written", Place(f"version {version} is not 0-{HIGHEST}", "version"))
    return version


def _longest(codec: Codec[M], data: bytes) -> M | None:
    """Decode the longest valid prefix of the bytes. Each version only adds fields at the end, so a lower one reads what is before a
    break. Raises TooManyElements."""
    for version in range(min(max(_version(data), 0), HIGHEST), -1, -1):
        try:
            return codec.decode(version, data, trailing=True, max_elements=READ_ELEMENTS)
        except TooManyElements:
            raise
        except DecodeError:
            continue
    return None


def _leading_topics(data: bytes) -> list[str]:
    topics: list[str] = []
    at, count = 6, int.from_bytes(data[2:6], signed=True)
    while len(topics) < min(count, READ_ELEMENTS) and at + 2 <= len(data):
        end = at + 2 + int.from_bytes(data[at : at + 2], signed=True)
        if not at + 2 <= end <= len(data):
            break
        topics.append(data[at + 2 : end].decode("utf-8", "replace"))
        at = end
    return topics
