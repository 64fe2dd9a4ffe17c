"""The work that one request can cause is estimated before it is done, and a request above the limit is refused.

**What is counted.** A request of a few bytes can cause any amount of work: a count of 2^31-1 partitions, one group named a thousand times,
a list of everything there is. Handlers that multiply work first compute its price: a number of elements, each of so many units. A unit is a
microsecond of work on the machine where the prices were measured, with decoding and encoding (`python -m tools.budgets`). The price does
not depend on a clock, so every replay of a run refuses the same requests. What an element carries (names, metadata, assignments) may be of
any length, so it is counted in bytes.

**What is refused.** `groupmock.request.max.work` is 50 ms and `groupmock.answer.max.bytes` keeps an answer and its copies within 32 MB, and
no real client comes near either. Kafka has no such bounds, because it has many request threads and a large heap. If Kafka has an error for
such a request, that error is the answer (POLICY_VIOLATION (44) for CreateTopics and CreatePartitions). Otherwise the connection is closed
with a sentence, as for a frame that is too large, because a client would retry an unknown error for ever.

**When.** The price of all elements is checked before anything is changed, so that a request is executed or refused, never half executed.
State that a peer builds up by many requests is bounded where it is built (`groupmock.cluster.max.partitions`), so that listing all of it
stays possible.

Each handler declares the price of its own work, next to that work. The test does not know the prices: it counts steps and bytes of every
API and field (tests/unit/budgets).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sized
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from .settings import Settings


CHARACTERS_PER_UNIT: Final = 20


LONGEST_TEXT: Final = 32_767
"""The largest number of UTF-8 bytes in a string of Kafka's protocol."""
LONG: Final = LONGEST_TEXT // 4


class OverBudget(Exception):
    """A request would cost too much, and nothing of it was done. The text for the row names the cost, the limit, and the setting that
    raises it."""


class Ration:
    """The work, and the bytes of the answer, that one request may still cause."""

    __slots__ = ("_bytes", "_most_bytes", "_most_work", "_work")

    def __init__(self, settings: Settings) -> None:
        self._most_work, self._most_bytes = settings.request_max_work, settings.answer_max_bytes
        self._work = self._bytes = 0

    def take(self, elements: int, each: int = 1, size: int = 0) -> None:
        """Deduct elements with `each` units of work, and `size` bytes, from what the request may still cause. After OverBudget nothing
        may be built."""
        self._work += elements * each
        self._bytes += size
        if self._work > self._most_work:
            raise OverBudget(
                f"this request asks for {self._work} units of work or more (about a microsecond each) where groupmock.request.max.work "
                f"allows {self._most_work}: ask for less at once, or raise that setting"
            )
        if self._bytes > self._most_bytes:
            raise OverBudget(
                f"the answer would have {self._bytes} bytes or more where groupmock.answer.max.bytes allows {self._most_bytes}: "
                "ask for less at once, or raise that setting"
            )

    def take_names(self, names: Collection[str], each: int) -> None:
        """Deduct the work of names and of hashing them: names may be as long as a frame, and Kafka's maps are in the order of hashes."""
        self.take(len(names) * each + sum(map(len, names)) // CHARACTERS_PER_UNIT)


def fitting(text: str) -> str:
    """Cut a text to a length that an answer can have, because a name or value may be as long as a frame."""
    if len(text) <= LONG:
        return text
    return text.encode("utf-8", "replace")[:LONGEST_TEXT].decode("utf-8", "ignore")


def take(settings: Settings, elements: int, each: int = 1) -> None:
    """Raise OverBudget if this number of elements, with `each` units of work for each, exceeds the work limit of a request."""
    if elements * each > settings.request_max_work:
        Ration(settings).take(elements, each)


def within(groups: Iterable[Sized]) -> int:
    """Return the total number of elements in these collections."""
    return sum(map(len, groups))
