"""Make the first line of a group's story, which describes the group as it is now."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

from groupmock_codec.group_states import DEAD, EMPTY

from ..rounds import Partition
from .words import count, offsets_text, text

if TYPE_CHECKING:
    from .tale import Tale


class ServerView(NamedTuple):
    """The state of a group as its server knows it. `leader` is a member id, `members` a number, and `lag` is None if unknown.
    `only_markers` is true if all of the lag is transaction markers."""

    state: str
    generation: int
    protocol: str | None
    leader: str | None
    members: int
    committed: Mapping[Partition, int]
    lag: int | None
    only_markers: bool = False


def head(tale: Tale, view: ServerView | None, whole: bool) -> str:
    """Return the first line of the story. `view` is the server's group if known; otherwise the rows describe the group. `whole` says
    that these are all rows of the run."""
    known = view if view is not None else _of_rows(tale)
    if not known.state and not whole:
        return f"{text(tale.fold.name)}: its state is not in these rows"
    parts = [known.state or "not there yet", f"generation {known.generation}"]
    if known.protocol and known.state not in (EMPTY, DEAD, ""):
        parts.append(text(known.protocol))
    parts.append(count(known.members, "member") + (f" ({tale.people.name(known.leader)} leads)" if known.leader else ""))
    if view is None and not (whole and tale.committed.known):
        parts.append("committed offsets unknown")
    elif known.lag is not None and (known.committed or tale.fold.protocol_type == "share"):
        parts.append(f"lag {known.lag}" + (" (only transaction markers)" if known.lag and known.only_markers else ""))
    elif known.committed:
        parts.append(f"committed {offsets_text(known.committed)}")
    elif known.generation > 0 and tale.fold.protocol_type != "share":  # A share group has start offsets of share partitions instead.
        parts.append("nothing committed")
    return f"{text(tale.fold.name)}: {', '.join(parts)}"


def _of_rows(tale: Tale) -> ServerView:
    fold = tale.fold
    return ServerView(fold.state, fold.epoch or 0, fold.protocol, fold.leader, fold.size or 0, tale.committed.offsets, None)
