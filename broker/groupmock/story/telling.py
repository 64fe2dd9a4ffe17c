"""Tell a story, or only what keeps a group from making progress, out of rows that are all there."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from ..journal.read import UnknownRow
from ..journal.rows import Row
from ..text.printable import one_line
from .besides import NOBODY_CAME, SHOWN
from .head import ServerView
from .teller import MOST, Sessions, StoryTeller


def tell(
    rows: Iterable[Row | UnknownRow],
    *,
    group: str | None = None,
    member: str | None = None,
    since: int = 0,
    seed: int | None = None,
    journal: str | None = None,
    dropped: int = 0,
    views: Mapping[str, ServerView] | None = None,
    now: int | None = None,
    sessions: Sessions | None = None,
    most: int = MOST,
) -> Iterator[str]:
    """Yield the story line by line, each line safe for a terminal. `rows` in the journal's order, a stream of any length.

    `group`: this one alone, else each in a section; `member`: lines about it and about the whole group (client id, instance id, `anna#d7e8`
    or member id); `since`: ns of the run; `seed`, `journal`: for the last line; `dropped`: rows before these that are gone; `views`: group
    -> what its server has, `sessions`: group -> member id -> when its session ends, each where the caller knows; `now`: ns of the run
    (None: the time of the last row); `most`: lines of a section. Raises NotTold, once the rows are read.
    """
    teller = StoryTeller(group, since=since, most=most, member=member)
    for row in rows:
        teller.feed(row)
    teller.close(now, sessions)
    yield from map(one_line, teller.sections(dropped, views))
    last = [f"seed {seed}"] if seed is not None else []
    last += [f"journal: {journal}", f"`groupmock story {journal}` tells all of it"] if journal is not None else []
    if last:
        yield one_line(" · ".join(last))


def obstacles(rows: Iterable[Row], group: str, *, now: int, sessions: Sessions, dropped: int) -> list[str]:
    """Say what keeps a group from making progress: the members it waits for, and clients that were never served. The arguments are those
    of `tell`."""
    teller = StoryTeller(group)
    for row in rows:
        teller.feed(row)
    found = [*teller.likely(group, now, not dropped), *teller.awaited(group, now, sessions)]
    found += teller.not_served.likely(now, not dropped, teller.topics)
    found += [line.told() for line in teller.not_served.lines(whole=not dropped)[:SHOWN]]
    if not teller.not_served.connected and not dropped:
        found.append(NOBODY_CAME)
    return list(map(one_line, found))
