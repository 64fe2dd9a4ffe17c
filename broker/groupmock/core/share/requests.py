"""Checks and takes the acknowledgements of a ShareFetch or a ShareAcknowledge, which both requests have in the same form."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from functools import wraps
from typing import TYPE_CHECKING, Final, Protocol, TypeVar

from groupmock_codec import error_codes
from groupmock_codec.acknowledge_types import REJECT, RENEW

from .acknowledging import AcknowledgedBatch, Acknowledgement, RequestFailed
from .answers import Answer, in_order

if TYPE_CHECKING:
    from ..events import Request
    from ..turn import Turn
    from .sessions import Slot
    from .shares import Shares

FEATURE: Final = "share.version"
LONGEST_ID: Final = 36
RENEWAL_SINCE: Final = 2
"""Since this version of both requests a lock may be renewed (KIP-1222)."""
PARTITION_COST: Final = 6
SLOT_COST: Final = 3
PART_COST: Final = 3
Denied = Callable[[Iterable[str]], Collection[str]]


class Batch(Protocol):
    first_offset: int
    last_offset: int
    acknowledge_types: list[int]


class NamedPartition(Protocol):
    partition_index: int

    @property
    def acknowledgement_batches(self) -> Sequence[Batch]: ...


class NamedTopic(Protocol):
    topic_id: bytes

    @property
    def partitions(self) -> Sequence[NamedPartition]: ...


class Acknowledging(Protocol):
    """The fields that ShareFetchRequest and ShareAcknowledgeRequest have in common."""

    group_id: str | None
    member_id: str | None
    is_renew_ack: bool

    @property
    def topics(self) -> Sequence[NamedTopic]: ...


class HasShares(Protocol):
    @property
    def shares(self) -> Shares: ...


C = TypeVar("C", bound=HasShares)


def finished(handle: Callable[[C, Request, Turn], None]) -> Callable[[C, Request, Turn], None]:
    """Let the handler of an API finish what its acknowledgements have begun (Shares.finish)."""

    @wraps(handle)
    def handle_and_finish(cluster: C, request: Request, turn: Turn) -> None:
        handle(cluster, request, turn)
        cluster.shares.finish(turn)

    return handle_and_finish


def is_off(turn: Turn) -> bool:
    """True if the cluster serves no share groups, by its finalized features (SG-05)."""
    return turn.environment.levels.get(FEATURE) == 0


def misnamed(group_id: str | None, member_id: str | None) -> bool:
    """True if the request names no group, or no member id of at most 36 characters (SG-163)."""
    return group_id is None or not member_id or len(member_id) > LONGEST_ID


def work(topics: Iterable[NamedTopic]) -> tuple[int, int, int]:
    """Return how many partitions and types of acknowledgements a request names, and how many runs of records they can make."""
    partitions = types = parts = 0
    for topic in topics:
        partitions += 1 + len(topic.partitions)
        for partition in topic.partitions:
            for batch in partition.acknowledgement_batches:
                types += 1 + len(batch.acknowledge_types)
                parts += max(1, len(batch.acknowledge_types))
    return partitions, types, parts


def acknowledge(
    shares: Shares, denied_of: Denied, turn: Turn, request: Request, asked: Acknowledging, secured: bool
) -> dict[Slot, Answer]:
    """Take all acknowledgements of a request, and return the result by partition, in the order of the answer. `denied_of` returns those of
    the topics that the sender may not read; `secured` says whether there is an authorizer. Partitions without acknowledgements are in the
    result if others are acknowledged. Raises RequestFailed, when some partitions may have been acknowledged."""
    highest = RENEW if request.version >= RENEWAL_SINCE else REJECT
    named = {(topic.topic_id, each.partition_index): each.acknowledgement_batches for topic in asked.topics for each in topic.partitions}
    if not named:
        return {}
    names = {slot: shares.topics.name_of(slot[0]) for slot in named}
    if secured and None in names.values():
        raise RequestFailed  # Kafka asks the authorizer about a topic without a name.
    denied = denied_of(dict.fromkeys(name for name in names.values() if name is not None))
    answers: dict[Slot, Answer] = {}
    accepted = []
    for slot, batches in named.items():
        name, checked = names[slot], read(batches, highest, asked.is_renew_ack)
        if name is None:
            answers[slot] = error_codes.UNKNOWN_TOPIC_ID, None
        elif checked is None:
            answers[slot] = error_codes.INVALID_REQUEST, None
        elif name in denied:
            answers[slot] = error_codes.TOPIC_AUTHORIZATION_FAILED, None
        elif shares.topics.find(name, slot[1]) is None:
            answers[slot] = error_codes.UNKNOWN_TOPIC_OR_PARTITION, None
        else:
            accepted.append((slot, checked))
    taken = any(checked for _, checked in accepted)
    checked_of = dict(accepted) if taken else {}
    ordered = in_order(checked_of, names, copied=False)
    shares.look(turn, request.node, asked.group_id or "", ordered)
    for slot in ordered:
        checked = checked_of[slot]
        answers[slot] = (error_codes.NONE, None)
        if checked:
            answers[slot] = shares.acknowledge(turn, request.node, asked.group_id or "", asked.member_id or "", slot, checked)
    return {slot: answers[slot] for slot in in_order(answers, names, copied=taken)}


def read(batches: Sequence[Batch], highest: int, renews: bool) -> list[AcknowledgedBatch] | None:
    """Return the batches with their types put together where neighbours have the same, or None if one is malformed (SG-204, SG-205)."""
    checked, before = [], -1
    for batch in batches:
        first, last, kinds = batch.first_offset, batch.last_offset, batch.acknowledge_types
        if first > last or first < before or not kinds or (len(kinds) > 1 and len(kinds) != last - first + 1):
            return None
        if min(kinds) < 0 or max(kinds) > highest or (not renews and RENEW in kinds):
            return None
        before = last
        checked.append(AcknowledgedBatch(first, last, _parts(first, last, kinds), len(kinds) > 1))
    return checked


def _parts(first: int, last: int, kinds: Sequence[int]) -> list[Acknowledgement]:
    if len(kinds) == 1:
        return [Acknowledgement(first, last, kinds[0])]
    parts, begun = [], 0
    for place in range(1, len(kinds) + 1):
        if place == len(kinds) or kinds[place] != kinds[begun]:
            parts.append(Acknowledgement(first + begun, first + place - 1, kinds[begun]))
            begun = place
    return parts
