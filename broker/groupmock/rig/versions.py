"""Scripted members choose the versions of their requests here, and not from tables of their own, so that they use a new version of an
API at once."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from groupmock_codec import APIS

from ..config.profiles import DEFAULT, load
from ..core.identity import ApiRange

if TYPE_CHECKING:
    from collections.abc import Iterable

    from groupmock_codec.declare import Message


@cache
def highest(key: int, profile: str = DEFAULT) -> int:
    """Return the highest version of an API that brokers of the profile serve."""
    return load(profile).versions[key][1]


def newest(key: int, message: Message, profile: str = DEFAULT) -> int:
    """Return the newest version that brokers of the profile serve and that has every field of the request. A commit that names its topic
    is not sent in a version that has topic ids, and an OffsetFetch of one group in none that has a list."""
    return APIS[key].request.newest(message, highest(key, profile))


def every_version(keys: Iterable[int]) -> tuple[ApiRange, ...]:
    """Return what a broker advertises that serves every version of these APIs."""
    return tuple(ApiRange(key, APIS[key].versions.lowest, APIS[key].versions.highest) for key in keys)
