"""The facts about the records in a ShareFetch or ShareAcknowledge, which a rule can check."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from groupmock_codec.acknowledge_types import ACKNOWLEDGE_TYPES

if TYPE_CHECKING:
    from groupmock_codec.declare import Message


def acknowledgements(request: Message | None) -> tuple[str, ...]:
    """Return the names of the types of acknowledgements in a request."""
    numbers = {number for batch in _acknowledged(request) for number in batch.acknowledge_types}
    return tuple(ACKNOWLEDGE_TYPES.get(number, str(number)) for number in sorted(numbers))


def records(request: Message | None, response: Message | None) -> list[tuple[int, int]]:
    """Return the first and last offset of each batch that a request acknowledges or that its answer delivers."""
    return [(batch.first_offset, batch.last_offset) for batch in (*_acknowledged(request), *_delivered(response))]


def deliveries(response: Message | None) -> tuple[int, ...]:
    """Return how often the records in an answer have been delivered."""
    return tuple(sorted({batch.delivery_count for batch in _delivered(response)}))


def _acknowledged(request: Any) -> Iterator[Any]:
    for topic in getattr(request, "topics", None) or ():
        for partition in getattr(topic, "partitions", None) or ():
            yield from getattr(partition, "acknowledgement_batches", None) or ()


def _delivered(response: Any) -> Iterator[Any]:
    for topic in getattr(response, "responses", None) or ():
        for partition in getattr(topic, "partitions", None) or ():
            yield from getattr(partition, "acquired_records", None) or ()
