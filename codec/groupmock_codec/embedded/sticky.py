"""User data of the sticky assignors (docs/kafka/embedded-protocols.md#client-side-assignors): the previous assignment, without a version in
front.

v0: topic partitions; v1: and a generation. kafka-python 3 puts an int16 version before it, which nobody else reads.
cooperative-sticky sends four bytes, the generation alone.
"""

from __future__ import annotations

from typing import Annotated, Final, NamedTuple

from ..declare import INT32, Message, Versions, array, since
from ..errors import DecodeError
from ..registry import Codec
from .consumer import TopicPartitions


class StickyUserData(Message):
    """`generation` -1: none (aiokafka always)."""

    previous_assignment: Annotated[list[TopicPartitions], array(TopicPartitions)] = []
    generation: Annotated[int, INT32, since(1)] = -1


STICKY: Final = Codec(StickyUserData, Versions(0, 1), None)


class StickyForm(NamedTuple):
    """How user data was written: `version` 0 or 1, `prefixed` as kafka-python does."""

    version: int
    prefixed: bool
    data: StickyUserData


def read_sticky(data: bytes | None) -> StickyForm | None:
    """User data of `sticky` in whichever form it is whole; None for none at all and for anything else."""
    if not data:
        return None
    for prefixed in (False, True):
        for version in (1, 0):
            if prefixed and data[:2] != version.to_bytes(2):
                continue
            try:
                return StickyForm(version, prefixed, STICKY.decode(version, data[2:] if prefixed else data))
            except DecodeError:
                continue
    return None


def write_sticky(form: StickyForm) -> bytes:
    """The bytes of that form."""
    body = STICKY.encode(form.version, form.data)
    return form.version.to_bytes(2) + body if form.prefixed else body


def read_cooperative_generation(data: bytes | None) -> int | None:
    """The generation in user data of `cooperative-sticky`: four bytes, -1 before the first assignment; None otherwise."""
    return int.from_bytes(data, signed=True) if data is not None and len(data) == 4 else None


def write_cooperative_generation(generation: int) -> bytes:
    """User data of `cooperative-sticky`."""
    return generation.to_bytes(4, signed=True)
