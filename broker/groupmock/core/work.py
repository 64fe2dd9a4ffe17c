"""Work that would take long is split into steps, between which other requests are handled.

Long work (a marker in each of a thousand partitions, the offsets of ten thousand groups) is a generator that yields after each step of less
than a millisecond. `Turn.begin` makes it an effect, as `Replies` is: the driver calls `Core.go_on` for each step and performs its effects
before the next step. A driver with a loop stops when a slice of time is over and goes on in the loop's next iteration. All other drivers do
all of the work where the effect is, so that small work is done before anything else happens.

Kafka has a thread for each partition of __consumer_offsets, so that long work delays only the groups of that partition. Here work that
names groups delays only those: requests that name them, and their timers, wait in order of arrival and are handled after the work, one per
step. Work that names the controller delays other requests to the controller, because Kafka's controller handles one request after the
other. Between two steps of work that names nothing anything may happen, so it reads the present state and never a copy of an earlier one.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Container, Generator, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final, TypeVar

import msgspec

from groupmock_codec import api_keys

if TYPE_CHECKING:
    from .events import Request
    from .timers import Key

S = TypeVar("S")
T = TypeVar("T")
Steps = Iterator[None]
"""An iterator that does a small part of the work with each `next`."""
A_FEW: Final = 16
"""The number of small operations in one step."""
AT_ONCE: Final = 256
"""A request with at most this number of elements is handled in one step."""
Asks = dict[int, Callable[[Any], Iterable[str]]]
"""Maps API keys to a function that returns the groups which a request names, or CONTROLLER."""
CONTROLLER: Final = "the controller"


def _one(message: Any) -> Iterable[str]:
    return (message.group_id,)


def _fetched(message: Any) -> Iterable[str]:
    return [each.group_id for each in message.groups] or (message.group_id,)


OF_OFFSETS: Final[Asks] = {
    **dict.fromkeys((api_keys.OFFSET_COMMIT, api_keys.TXN_OFFSET_COMMIT, api_keys.OFFSET_DELETE), _one),
    api_keys.OFFSET_FETCH: _fetched,
    api_keys.DELETE_GROUPS: lambda message: message.groups_names,
}
"""The requests that read or change committed offsets, or delete a group with its offsets."""
OF_GROUPS: Final[Asks] = {
    **OF_OFFSETS,
    **dict.fromkeys((api_keys.JOIN_GROUP, api_keys.HEARTBEAT, api_keys.LEAVE_GROUP, api_keys.SYNC_GROUP), _one),
    **dict.fromkeys((api_keys.CONSUMER_GROUP_HEARTBEAT, api_keys.SHARE_GROUP_HEARTBEAT, api_keys.STREAMS_GROUP_HEARTBEAT), _one),
    **dict.fromkeys((api_keys.ALTER_SHARE_GROUP_OFFSETS, api_keys.DELETE_SHARE_GROUP_OFFSETS), _one),
    api_keys.DESCRIBE_GROUPS: lambda message: message.groups,
    **dict.fromkeys(
        (api_keys.CONSUMER_GROUP_DESCRIBE, api_keys.SHARE_GROUP_DESCRIBE, api_keys.STREAMS_GROUP_DESCRIBE),
        lambda message: message.group_ids,
    ),
}
"""The requests that read or change a group. A list of groups is none of them: it shows the groups as they are at the moment, as Kafka's
does."""
OF_SHARED_RECORDS: Final[Asks] = dict.fromkeys((api_keys.SHARE_FETCH, api_keys.SHARE_ACKNOWLEDGE), _one)
"""The requests that deliver or acknowledge records of a share group."""
OF_CONTROLLER: Final[Asks] = dict.fromkeys(
    (
        api_keys.CREATE_TOPICS,
        api_keys.DELETE_TOPICS,
        api_keys.CREATE_PARTITIONS,
        api_keys.ALTER_CONFIGS,
        api_keys.INCREMENTAL_ALTER_CONFIGS,
        api_keys.ELECT_LEADERS,
        api_keys.ALTER_PARTITION_REASSIGNMENTS,
    ),
    lambda message: (CONTROLLER,),
)
"""The requests that change topics. Metadata is none of them although it may create topics, because most of them create nothing and would
wait."""


def parts(elements: Sequence[T]) -> Iterator[Sequence[T]]:
    """Divide the elements into parts that are small enough for one step: at most AT_ONCE of them."""
    return (elements[start : start + AT_ONCE] for start in range(0, len(elements), AT_ONCE))


def made(make: Callable[[S], T], elements: Iterable[S]) -> Generator[None, None, list[T]]:
    """Return what `make` returns for each element, in steps of A_FEW elements."""
    found: list[T] = []
    for element in elements:
        if len(found) % A_FEW == A_FEW - 1:
            yield
        found.append(make(element))
    return found


def at_once(steps: Generator[None, None, T]) -> T:
    """Do all steps at once, and return the result."""
    while True:
        try:
            next(steps)
        except StopIteration as done:
            result: T = done.value
            return result


class Work(msgspec.Struct, eq=False):
    """Work in steps that has begun but may not be done. `turn` is updated before each step. No request that `asks` about `groups` is
    handled meanwhile: such requests are `waiting`, and `let_in` is the one that is being handled now."""

    steps: Steps
    turn: Any  # The type is Turn, which cannot be imported here without a circular import.
    groups: Container[str] = ()
    asks: Asks = msgspec.field(default_factory=lambda: OF_GROUPS)
    waiting: deque[Request | Key] = msgspec.field(default_factory=deque)
    let_in: Request | Key | None = None
    over: bool = False


def on(busy: list[Work], group_id: str) -> list[Work]:
    """Return the unfinished work on a group itself, not only on its offsets."""
    return [work for work in busy if work.asks is OF_GROUPS and group_id in work.groups]


def begun_after(busy: list[Work], work: Work) -> Work | None:
    """Return unfinished work on the same groups that began after this work, or None."""
    latest = next((each for each in reversed(busy) if each.groups == work.groups and each.asks is work.asks), work)
    return None if latest is work else latest


def keeps(busy: list[Work], request: Request) -> bool:
    """True if the request names a group on which work is unfinished. The function then stores the request."""
    for work in busy:
        named = work.asks.get(request.key)
        if named is not None and work.let_in is not request and any(group_id in work.groups for group_id in named(request.message)):
            work.waiting.append(request)
            return True
    return False


def defers(busy: list[Work], key: Key) -> bool:
    """True if the timer belongs to a group on which work is unfinished. The function then stores the timer. The group id comes first in
    what a timer is set for."""
    for work in on(busy, key[1]):
        if work.let_in != key:
            work.waiting.append(key)
            return True
    return False
