"""The user data of the sticky assignors are the previous assignment, without a version in front
(docs/kafka/embedded-protocols.md#client-side-assignors).

v0 has topic partitions, v1 also a generation. kafka-python 3 puts an int16 version before them, which no other client reads.
cooperative-sticky sends four bytes, only the generation.
"""

from __future__ import annotations

from typing import Annotated, Final, NamedTuple

from ..declare import INT32, Message, Versions, array, since
from ..errors import DecodeError
from ..registry import Codec
from .consumer import TopicPartitions


class StickyUserData(Message):
    """The user data of the `sticky` assignor. `generation` is -1 for none, as aiokafka always writes it."""

    previous_assignment: Annotated[list[TopicPartitions], array(TopicPartitions)] = []
    generation: Annotated[int, INT32, since(1)] = -1


STICKY: Final = Codec(StickyUserData, Versions(0, 1), None)


class StickyForm(NamedTuple):
    """The user data of the `sticky` assignor with their form: `version` is 0 or 1, and `prefixed` is True for kafka-python's form."""

    version: int
    prefixed: bool
    data: StickyUserData


def read_sticky(data: bytes | None) -> StickyForm | None:
    """Decode user data of `sticky` in the form that matches all bytes. None for no data and for anything else."""
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
    """Encode user data of the `sticky` assignor in the given form."""
    body = STICKY.encode(form.version, form.data)
    return form.version.to_bytes(2) + body if form.prefixed else body


def read_cooperative_generation(data: bytes | None) -> int | None:
    """Return the generation in user data of `cooperative-sticky`, which are four bytes (-1 before the first assignment), or None for
    other data."""
    return int.from_bytes(data, signed=True) if data is not None and len(data) == 4 else None


def write_cooperative_generation(generation: int) -> bytes:
    """Encode the user data of `cooperative-sticky`."""
    return generation.to_bytes(4, signed=True)
