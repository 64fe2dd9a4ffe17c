"""Encodes and decodes Subscription and Assignment of designs I, II and III of "Incremental Cooperative Rebalancing", as the document
defines them (docs/kafka/cooperative-designs.md#byte-layouts).

The document gives no Version values; here the version is the design: 1, 2, 3. Its Subscription is the same in all three and, with Version
1, equals KIP-429's byte for byte. Its Assignment adds RevokeTopicPartitions, and from Design II on ScheduledRebalanceTimeout, in ms.

Stock clients read the first three fields of a stock Assignment and nothing after them. So `coop-d1` sends the document's bytes as they
are, and `coop-d2`, `coop-d3` have them in the user data of stock version 1 messages (`carry_*`, `carried_*`).

`decode_*` check every length, `read_*` return as much as can be read: missing fields at the end are null or 0, a null list stays null.
`encode_*` write only what a member can obey and refuse the rest; `SUBSCRIPTION` and `ASSIGNMENT` write anything.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Annotated, Final, TypeVar

from ..declare import BYTES, INT16, INT32, STRING, Message, Versions, array, nullable, since
from ..errors import DecodeError, EncodeError, Place, TooManyElements
from ..registry import Codec
from . import consumer
from .consumer import READ_ELEMENTS, TopicPartitions

LOWEST: Final = 1
HIGHEST: Final = 3
# The stock messages that carry the fields of coop-d2 and coop-d3 have this version, the highest with owned partitions that every stock
# leader reads.
CARRIER: Final = 1
NAMES: Final = {"coop-d1": 1, "coop-d2": 2, "coop-d3": 3, "coop-d2-literal": 2}
NESTED: Final = frozenset({"coop-d2", "coop-d3"})
LITERAL: Final = frozenset(NAMES) - NESTED
WRITTEN: Final = "embedded cooperative protocol cannot be written"
READ: Final = "embedded cooperative protocol cannot be read"
M = TypeVar("M", bound=Message)


class DesignSubscription(Message):
    """The subscription that a member sends to the leader. `assigned_topic_partitions` are those it owns; null or empty for a new member."""

    version: Annotated[int, INT16] = LOWEST
    subscribe_topics: Annotated[list[str], array(STRING)] = []
    partition_assignor_data: Annotated[bytes | None, BYTES, nullable()] = b""
    assigned_topic_partitions: Annotated[list[TopicPartitions] | None, array(TopicPartitions), nullable()] = []


class DesignAssignment(Message):
    """The assignment that the leader sends to a member: the member then owns (what it owned - revoked) + assigned. An empty assigned
    list keeps what it owns. If something is revoked, the member gives it up and joins again at once. `scheduled_rebalance_timeout` above
    0: it joins again after so many ms."""

    version: Annotated[int, INT16] = LOWEST
    assigned_topic_partitions: Annotated[list[TopicPartitions] | None, array(TopicPartitions), nullable()] = []
    revoke_topic_partitions: Annotated[list[TopicPartitions] | None, array(TopicPartitions), nullable()] = []
    scheduled_rebalance_timeout: Annotated[int, INT32, since(2)] = 0


class AssignorData(Message):
    """The assignor's own data (PartitionAssignorData) in a Subscription of one of the designs. In d1 it repeats the owned partitions,
    because an aiokafka leader sees nothing after it, and the nonce of the round. In d2 and d3 it is only the nonce, which changes with
    every JoinGroup: otherwise a follower that joins again would get the last round's answer."""

    owned: Annotated[list[TopicPartitions], array(TopicPartitions)] = []
    nonce: Annotated[int, INT32] = 0


SUBSCRIPTION: Final = Codec(DesignSubscription, Versions(LOWEST, HIGHEST), None)
ASSIGNMENT: Final = Codec(DesignAssignment, Versions(LOWEST, HIGHEST), None)
ASSIGNOR_DATA: Final = Codec(AssignorData, Versions(0, 0), None)


def decode_subscription(data: bytes) -> DesignSubscription:
    """Decode a Subscription of the design document. DecodeError if it is cut, a length is wrong, bytes are left over, elements are too
    many or its version is not 1-3."""
    return SUBSCRIPTION.decode(_known(data), data, max_elements=READ_ELEMENTS)


def decode_assignment(data: bytes) -> DesignAssignment:
    """Decode an Assignment of the design document. DecodeError in the same cases as `decode_subscription`."""
    return ASSIGNMENT.decode(_known(data), data, max_elements=READ_ELEMENTS)


def encode_subscription(message: DesignSubscription) -> bytes:
    """Encode a Subscription of the design document. EncodeError for a version that is not 1-3, and for a partition that is listed twice
    or negative."""
    _sound("assigned_topic_partitions", message.assigned_topic_partitions or ())
    return SUBSCRIPTION.encode(_writable(message.version), message)


def encode_assignment(message: DesignAssignment) -> bytes:
    """Encode an Assignment of the design document. EncodeError as in `encode_subscription`, and for a null list, a partition both
    assigned and revoked, and a timeout that is negative or together with revocations."""
    assigned, revoked, timeout = message.assigned_topic_partitions, message.revoke_topic_partitions, message.scheduled_rebalance_timeout
    if assigned is None or revoked is None:
        raise EncodeError(WRITTEN, Place("null", "assigned_topic_partitions" if assigned is None else "revoke_topic_partitions"))
    _sound("assigned_topic_partitions", assigned)
    _sound("revoke_topic_partitions", [*assigned, *revoked])
    if timeout < 0 or (timeout and (message.version < 2 or any(each.partitions for each in revoked))):
        raise EncodeError(
            WRITTEN, Place(f"timeout {timeout} is negative, in Design I or beside revocations", "scheduled_rebalance_timeout")
        )
    return ASSIGNMENT.encode(_writable(message.version), message)


def read_subscription(data: bytes) -> DesignSubscription | None:
    """Read a Subscription as far as its bytes are valid: the remaining fields have their defaults, and the owned partitions are null.
    None without a version. Any version is accepted; what follows the known fields is ignored."""
    found = _longest(_SUBSCRIPTION, data)
    return None if found is None else DesignSubscription(found.version, found.topics, found.data, found.held)


def read_assignment(data: bytes) -> DesignAssignment | None:
    """Read an Assignment as far as its bytes are valid: the remaining fields are null or 0. None without a version. A timeout is read in
    every version, because the document distinguishes Designs I and II only by length; a negative one is read as 0."""
    found = _longest(_ASSIGNMENT, data)
    return None if found is None else DesignAssignment(found.version, found.assigned, found.revoked, max(found.timeout, 0))


def encode_assignor_data(message: AssignorData) -> bytes:
    """Encode the PartitionAssignorData of the design d1."""
    return ASSIGNOR_DATA.encode(0, message)


def read_assignor_data(data: bytes | None) -> AssignorData | None:
    """Read the PartitionAssignorData of d1, or that of d2 and d3, which is only the nonce. None for anything else."""
    if data is not None and len(data) == 4:
        return AssignorData([], int.from_bytes(data, signed=True))
    try:
        return ASSIGNOR_DATA.decode(0, data or b"", max_elements=READ_ELEMENTS)
    except DecodeError:
        return None


def carry_subscription(message: DesignSubscription) -> bytes:
    """Encode a stock Subscription version 1 with the same topics and owned partitions, whose user data are the Subscription of the
    design document (coop-d2, coop-d3)."""
    inner = encode_subscription(message)
    return consumer.encode_subscription(
        consumer.Subscription(CARRIER, message.subscribe_topics, inner, message.assigned_topic_partitions or [])
    )


def carry_assignment(message: DesignAssignment, full: list[TopicPartitions]) -> bytes:
    """Encode a stock Assignment version 1 of everything that the member then owns, whose user data are the Assignment of the design
    document (coop-d2, coop-d3)."""
    return consumer.encode_assignment(consumer.Assignment(CARRIER, full, encode_assignment(message)))


def carried_subscription(user_data: bytes | None) -> DesignSubscription | None:
    """Decode the design document's Subscription in the user data of a stock Subscription. None if it is missing, cut, or of no known
    design."""
    try:
        return decode_subscription(user_data) if user_data else None
    except DecodeError:
        return None


def carried_assignment(user_data: bytes | None) -> DesignAssignment | None:
    """Decode the design document's Assignment in the user data of a stock Assignment. None if it is missing, cut, or of no known design."""
    try:
        return decode_assignment(user_data) if user_data else None
    except DecodeError:
        return None


def unstock_assignment(data: bytes) -> DesignAssignment | None:
    """Decode an Assignment of the design document that fills the bytes exactly, or return None if a stock client could read all bytes as
    well. What is a stock Assignment as well (nothing revoked in Design I) gives None, because bytes without a protocol name do not tell."""
    try:
        consumer.ASSIGNMENT.decode(min(max(_version(data), 0), consumer.HIGHEST), data, max_elements=READ_ELEMENTS)
    except TooManyElements:
        return None
    except DecodeError:
        return carried_assignment(data)
    return None


class _SubscriptionPrefix(Message):
    """A Subscription with an artificial version per prefix, so that the longest valid prefix can be decoded."""

    version: Annotated[int, INT16] = 0
    topics: Annotated[list[str], array(STRING), since(1)] = []
    data: Annotated[bytes | None, BYTES, nullable(), since(2)] = None
    held: Annotated[list[TopicPartitions] | None, array(TopicPartitions), nullable(), since(3)] = None


class _AssignmentPrefix(Message):
    version: Annotated[int, INT16] = 0
    assigned: Annotated[list[TopicPartitions] | None, array(TopicPartitions), nullable(), since(1)] = None
    revoked: Annotated[list[TopicPartitions] | None, array(TopicPartitions), nullable(), since(2)] = None
    timeout: Annotated[int, INT32, since(3)] = 0


_SUBSCRIPTION: Final = Codec(_SubscriptionPrefix, Versions(0, 3), None)
_ASSIGNMENT: Final = Codec(_AssignmentPrefix, Versions(0, 3), None)


def _version(data: bytes) -> int:
    return int.from_bytes(data[:2], signed=True)


def _known(data: bytes) -> int:
    if len(data) < 2:
        raise DecodeError(READ, Place(f"{len(data)} bytes have no version", "version"))
    return _writable(_version(data), DecodeError, READ)


def _writable(version: int, error: type[DecodeError | EncodeError] = EncodeError, what: str = WRITTEN) -> int:
    if not LOWEST <= version <= HIGHEST:
        raise error(what, Place(f"version {version} is not {LOWEST}-{HIGHEST}", "version"))
    return version


def _sound(field: str, held: Iterable[TopicPartitions]) -> None:
    counts = Counter((each.topic, partition) for each in held for partition in each.partitions)
    wrong = sorted(each for each, count in counts.items() if count > 1 or each[1] < 0)
    if wrong:
        raise EncodeError(WRITTEN, Place(f"{wrong[0][0]}-{wrong[0][1]} is listed twice or below 0", field))


def _longest(codec: Codec[M], data: bytes) -> M | None:
    for fields in range(codec.versions.highest, -1, -1):
        try:
            return codec.decode(fields, data, trailing=True, max_elements=READ_ELEMENTS)
        except TooManyElements:
            return None
        except DecodeError:
            continue
    return None
