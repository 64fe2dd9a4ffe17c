"""The first line of a group's story: the group as it is now."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, NamedTuple

from ..rounds import Partition
from ..rounds.rebalance_model import DEAD, EMPTY
from .words import count, offsets_text, text

if TYPE_CHECKING:
    from .tale import Tale


Ends = Callable[[str, int], tuple[int, int] | None]
"""Topic and partition -> where its log ends, and where its records do: behind these are only transaction markers. None: not known."""


class ServerView(NamedTuple):
    """A group as its server has it. `leader`: member id; `members`: how many; `lag` None: unknown;
    `only_markers`: is all of that lag transaction markers?"""

    state: str
    generation: int
    protocol: str | None
    leader: str | None
    members: int
    committed: Mapping[Partition, int]
    lag: int | None
    only_markers: bool = False


def head(tale: Tale, view: ServerView | None, ends: Ends | None, whole: bool) -> str:
    """`view`: what the server has, where that is known; else the rows say it, and `ends` how long the logs are. `whole`: are these all
    rows of the run?"""
    known = view if view is not None else _of_rows(tale, ends)
    if not known.state and not whole:
        return f"{text(tale.fold.name)}: its state is not in these rows"
    parts = [known.state or "not there yet", f"generation {known.generation}"]
    if known.protocol and known.state not in (EMPTY, DEAD, ""):
        parts.append(text(known.protocol))
    parts.append(count(known.members, "member") + (f" ({tale.people.name(known.leader)} leads)" if known.leader else ""))
    if view is None and not (whole and tale.committed.known):
        parts.append("committed offsets unknown")
    elif known.committed and known.lag is not None:
        parts.append(f"lag {known.lag}" + (" (only transaction markers)" if known.lag and known.only_markers else ""))
    elif known.committed:
        parts.append(f"committed {offsets_text(known.committed)}")
    elif known.generation > 0:
        parts.append("nothing committed")
    return f"{text(tale.fold.name)}: {', '.join(parts)}"


def _of_rows(tale: Tale, ends: Ends | None) -> ServerView:
    fold, offsets = tale.fold, tale.committed.offsets
    found = {each: ends(*each) for each in offsets} if ends is not None else {}
    known = [(offsets[each], end) for each, end in found.items() if end is not None]
    lag = sum(max(0, end - committed) for committed, (end, _) in known) if known and len(known) == len(offsets) else None
    markers = not any(records > committed for committed, (_, records) in known)
    return ServerView(fold.state, fold.epoch or 0, fold.protocol, fold.leader, fold.size or 0, offsets, lag, markers)
