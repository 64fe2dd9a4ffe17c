"""Designs I, II and III of "Incremental Cooperative Rebalancing": Subscription and Assignment as the document draws them
(docs/kafka/cooperative-designs.md#byte-layouts).

The document gives no Version values; here the version is the design: 1, 2, 3. Its Subscription is the same in all three and, with
Version 1, KIP-429's Subscription byte for byte. Its Assignment adds RevokeTopicPartitions, and from Design II on
ScheduledRebalanceTimeout, in ms.

Stock clients read the first three fields of a stock Assignment and nothing behind them. So `coop-d1` sends the document's bytes as they
are, and `coop-d2`, `coop-d3` carry them in the user data of stock version 1 messages (`carry_*`, `carried_*`).

`decode_*` are strict on every length, `read_*` give what could be read of anything: missing trailing fields are null or 0, a null list
stays null. `encode_*` write only what a member can obey and refuse the rest; `SUBSCRIPTION` and `ASSIGNMENT` write anything.
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
CARRIER: Final = 1  # of the stock messages around d2 and d3: the highest that every stock leader reads with owned partitions
NAMES: Final = {"coop-d1": 1, "coop-d2": 2, "coop-d3": 3, "coop-d2-literal": 2}
NESTED: Final = frozenset({"coop-d2", "coop-d3"})
LITERAL: Final = frozenset(NAMES) - NESTED
WRITTEN: Final = "embedded cooperative protocol cannot be written"
READ: Final = "embedded cooperative protocol cannot be read"
M = TypeVar("M", bound=Message)


class DesignSubscription(Message):
    """Member to leader. `assigned_topic_partitions`: what it holds; null or empty for a new member."""

    version: Annotated[int, INT16] = LOWEST
    subscribe_topics: Annotated[list[str], array(STRING)] = []
    partition_assignor_data: Annotated[bytes | None, BYTES, nullable()] = b""
    assigned_topic_partitions: Annotated[list[TopicPartitions] | None, array(TopicPartitions), nullable()] = []


class DesignAssignment(Message):
    """Leader to member, which then holds (what it held - revoked) + assigned: an empty assigned list repeats what it holds.

    Something revoked: hand it over and join again at once. `scheduled_rebalance_timeout` above 0: join again after so many ms.
    """

    version: Annotated[int, INT16] = LOWEST
    assigned_topic_partitions: Annotated[list[TopicPartitions] | None, array(TopicPartitions), nullable()] = []
    revoke_topic_partitions: Annotated[list[TopicPartitions] | None, array(TopicPartitions), nullable()] = []
    scheduled_rebalance_timeout: Annotated[int, INT32, since(2)] = 0


class AssignorData(Message):
    """PartitionAssignorData. d1: what the member holds again, since an aiokafka leader sees nothing behind it, and the nonce of the round.

    In d2 and d3 the nonce alone. It changes with every JoinGroup, or a follower that joins again would be told the last round.
    """

    owned: Annotated[list[TopicPartitions], array(TopicPartitions)] = []
    nonce: Annotated[int, INT32] = 0


SUBSCRIPTION: Final = Codec(DesignSubscription, Versions(LOWEST, HIGHEST), None)
ASSIGNMENT: Final = Codec(DesignAssignment, Versions(LOWEST, HIGHEST), None)
ASSIGNOR_DATA: Final = Codec(AssignorData, Versions(0, 0), None)


def decode_subscription(data: bytes) -> DesignSubscription:
    """DecodeError if it is cut, a length is wrong, bytes are left over, there are too many elements or its version is not 1-3."""
    return SUBSCRIPTION.decode(_known(data), data, max_elements=READ_ELEMENTS)


def decode_assignment(data: bytes) -> DesignAssignment:
    """DecodeError as above."""
    return ASSIGNMENT.decode(_known(data), data, max_elements=READ_ELEMENTS)


def encode_subscription(message: DesignSubscription) -> bytes:
    """The bytes. EncodeError for a version that is not 1-3, and for a partition listed twice or below 0."""
    _sound("assigned_topic_partitions", message.assigned_topic_partitions or ())
    return SUBSCRIPTION.encode(_writable(message.version), message)


def encode_assignment(message: DesignAssignment) -> bytes:
    """The bytes. EncodeError as above; for a null list, a partition both assigned and revoked, a timeout below 0 or beside revocations."""
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
    """What could be read of a Subscription: fields from a break on are at their defaults, and what it holds is null then.

    None if there is no version. Any version will do; what follows the known fields is ignored.
    """
    found = _longest(_SUBSCRIPTION, data)
    return None if found is None else DesignSubscription(found.version, found.topics, found.data, found.held)


def read_assignment(data: bytes) -> DesignAssignment | None:
    """What could be read of an Assignment: fields from a break on are null or 0. None as above.

    A timeout is read whatever the version: the document tells Designs I and II apart by length alone. Below 0 it is none: 0.
    """
    found = _longest(_ASSIGNMENT, data)
    return None if found is None else DesignAssignment(found.version, found.assigned, found.revoked, max(found.timeout, 0))


def encode_assignor_data(message: AssignorData) -> bytes:
    """PartitionAssignorData of d1."""
    return ASSIGNOR_DATA.encode(0, message)


def read_assignor_data(data: bytes | None) -> AssignorData | None:
    """PartitionAssignorData of d1, and of d2 and d3, where it is the nonce alone; None for anything else."""
    if data is not None and len(data) == 4:
        return AssignorData([], int.from_bytes(data, signed=True))
    try:
        return ASSIGNOR_DATA.decode(0, data or b"", max_elements=READ_ELEMENTS)
    except DecodeError:
        return None


def carry_subscription(message: DesignSubscription) -> bytes:
    """A stock Subscription version 1 with the same topics and holdings whose user data is the document's: coop-d2, coop-d3."""
    inner = encode_subscription(message)
    return consumer.encode_subscription(
        consumer.Subscription(CARRIER, message.subscribe_topics, inner, message.assigned_topic_partitions or [])
    )


def carry_assignment(message: DesignAssignment, full: list[TopicPartitions]) -> bytes:
    """A stock Assignment version 1 of all that the member then holds, whose user data is the document's: coop-d2, coop-d3."""
    return consumer.encode_assignment(consumer.Assignment(CARRIER, full, encode_assignment(message)))


def carried_subscription(user_data: bytes | None) -> DesignSubscription | None:
    """The document's Subscription in a stock one's user data; None if that is none, cut, or of no known design."""
    try:
        return decode_subscription(user_data) if user_data else None
    except DecodeError:
        return None


def carried_assignment(user_data: bytes | None) -> DesignAssignment | None:
    """The document's Assignment in a stock one's user data; None as above."""
    try:
        return decode_assignment(user_data) if user_data else None
    except DecodeError:
        return None


def unstock_assignment(data: bytes) -> DesignAssignment | None:
    """The literal Assignment in these bytes, if a stock reader would not read all of them and the document's does to the last byte.

    What a stock Assignment says as well (nothing revoked in Design I) is None: who sees only bytes, and no protocol name, cannot tell.
    """
    try:
        consumer.ASSIGNMENT.decode(min(max(_version(data), 0), consumer.HIGHEST), data, max_elements=READ_ELEMENTS)
    except TooManyElements:
        return None
    except DecodeError:
        return carried_assignment(data)
    return None


class _SubscriptionPrefix(Message):
    """A Subscription whose versions are its prefixes: the longest that can be read is what stands before a break."""

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
