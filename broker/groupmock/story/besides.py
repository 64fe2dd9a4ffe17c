"""Write the sections of a story that are not about groups: those about transactional ids and about clients that were never served."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from itertools import islice
from typing import Final

from .causes import MOST
from .not_served import NotServed
from .transactional import Transactions

NOBODY_CAME: Final = "no client has connected"
SHOWN: Final = 20


def besides(
    transactions: Transactions, not_served: NotServed, now: int, since: int, after_groups: bool, whole: bool, topics: Collection[str]
) -> Iterator[str]:
    """Yield the sections that are not about groups, with a blank line between two. `now`, `since` are ns of the run; `after_groups`:
    groups come before them; `whole`: these are all rows of the run; `topics`: those that exist."""
    parts = list(transactions.sections(now))
    if transactions.others:
        parts.append(["(more transactional ids are not told)"])
    lines = [line.text for line in not_served.lines(whole) if line.at >= since]
    more = [f"{'...':>9}  and {len(lines) - SHOWN} more"] if len(lines) > SHOWN else []
    if lines:
        likely = [f"  {line}" for line in islice(not_served.likely(now, whole, topics), MOST)]
        parts.append(["clients that were not served:", *likely, *lines[:SHOWN], *more])
    if whole and not not_served.connected and not after_groups and not parts:
        parts.append([NOBODY_CAME])
    for place, part in enumerate(parts):
        yield from ([""] if after_groups or place else [])
        yield from part
