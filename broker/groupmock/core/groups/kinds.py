"""The types of group that exist, by name. The module of a type is imported when its first group is needed, because a server listens before
that and most clusters have classic groups only."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Final, TypeGuard

from .classic.type import ClassicGroup
from .type import GroupType

if TYPE_CHECKING:
    from .consumer.type import ConsumerGroup

LATE: Final = {"consumer": "ConsumerGroup", "share": "ShareGroup", "streams": "StreamsGroup"}
"""Maps the folder of each type that is imported late to its class, which the folder's module `type` has."""


@cache
def kinds() -> tuple[type[GroupType], ...]:
    """Return all types of group. The first one is the type of groups which only ever commit, as in Kafka (`simple` groups)."""
    return ClassicGroup, *(getattr(import_module(f".{folder}.type", __package__), name) for folder, name in LATE.items())


def is_consumer(group: GroupType | None) -> TypeGuard[ConsumerGroup]:
    """True for a group of the consumer protocol, whose class need not be imported to see it."""
    return group is not None and group.group_type == "consumer"
