"""Make the picture of one group during a run, which grows with each row and can be taken at any time.

It is the picture of a part of a journal (`builder`), in which unfinished spans are drawn as far as they have come. Memory does not grow
with the run: less is kept than for a whole journal, and what ended long ago is forgotten. If very many members came and went, the picture
is `worn`, and has to be begun anew.
"""

from __future__ import annotations

from typing import Final, Protocol

from msgspec import structs

from ..journal.rows import Header
from ..version import __version__
from .builder import BothDots, Limits, TimelineBuilder
from .interned import Tables
from .model import APIS, EXPECTED, WAITS, Group, Lane, Mark, Source, Timeline
from .record_track import lasting_records
from .said import said

MOST_SETS: Final = 5_000
MORE_LANES: Final = 500
"""The picture should be made anew after this many members have come and gone."""


class Forgetful(Protocol):
    """A collection that can forget items which have ended."""

    def forget(self, before: int) -> None:
        """Forget everything that ended before a time (ns)."""


class Growing(TimelineBuilder):
    """Makes the picture of one group from the rows of a run, passed to `feed` in order."""

    most_others = 0  # The list of other groups stays empty, because their names are never printed here.

    def __init__(self, group: str, header: Header | None) -> None:
        super().__init__("", header, Tables(), group)
        self._group = group
        self._lanes_at_first: int | None = None

    def limits(self) -> Limits:
        """Return how many items are kept, which are fewer than for a journal, because the picture is sent again and again."""
        return Limits(6_000, 6_000, 1_000, 10_000)

    @property
    def worn(self) -> bool:
        """Return whether so much of the picture is about the past that it should be made anew."""
        lanes = len(self._tracks[self._group].lanes.all) if self._group in self._tracks else 0
        return len(self._tables.sets) > MOST_SETS or lanes > (self._lanes_at_first or 0) + MORE_LANES

    def forget(self, before: int) -> None:
        """Forget everything that ended before a time (ns of the run)."""
        room = self._room
        kept: list[Forgetful] = [
            self._routine,
            self._special,
            self._events,
            *self._tracks.values(),
            room.bands,
            room.owners,
        ]
        for each in kept:
            each.forget(before)

    def picture(self, begin: int, end: int) -> Timeline:
        """Return the picture from `begin` to `end` (ns of the run). `end` is the time of the last row or later."""
        self.until(end)
        begin, end = max(0, begin), self._now
        self._tables.begin_texts()
        groups = [self._so_far(begin, end)] if self._group in self._tracks else []
        if groups and self._lanes_at_first is None:
            self._lanes_at_first = len(self._tracks[self._group].lanes.all)
        groups, topics, sets = self._tables.settled(groups)
        header = self._header
        events = [each for (group, *_), found in self._events.items() if group is None for each in found if each.until >= begin]
        source = Source(
            "", header.run if header else "", "", header.profile if header else "", header.epoch_ns if header else 0, begin, end,
            [*self._left_out()], sorted(events, key=lambda each: each.at), headline=self.transactions.headline(end),
        )  # fmt: skip
        return Timeline(__version__, [source], groups, topics, sets, [*self._tables.texts], expected=(*EXPECTED, WAITS))

    def _so_far(self, begin: int, end: int) -> Group:
        fold = self._rebalances.groups[self._group]
        fold.spend(end)
        for asked in self._asked.values():
            for member in asked.members:
                self._tracks[self._group].lanes.place(member)
        found = self._tracks[self._group].group(0, BothDots(self._special, self._routine), self._events, fold, under_way=fold.rebalance)
        found.headline = self.headlines.of(self._group)
        self._without_answer(found, end)
        found.states = [each for each in found.states if each.until is None or each.until >= begin]
        found.owners = [each for each in found.owners if each.until is None or each.until >= begin]
        found.rounds = [each for each in found.rounds if each.ended is None or each.ended >= begin]
        found.generations = [each for each in found.generations if each.began >= begin]
        found.events = [each for each in found.events if each.until >= begin]
        found.records = lasting_records(found.records, begin)
        self._seen_lanes(found, begin)
        return found

    def _without_answer(self, found: Group, end: int) -> None:
        """Add marks for the requests that still wait for an answer, with the time that they have waited."""
        text = self._tables.text
        for row, _, members in self._asked.values():
            api, since = APIS.index(row.api_name), max(0, end - row.received)
            asked = text(f"{row.api_name} v{row.api_version}: {said(row)}")
            mark = Mark(row.t, row.t, api, text(WAITS), 1, since, row.seq, asked, text(""))
            for member in members:
                found.lanes[self._tracks[self._group].lanes.place(member)].marks.append(mark)

    def _seen_lanes(self, found: Group, begin: int) -> None:
        """Remove the lanes of members that show nothing in the drawn time."""
        kept: list[Lane] = []
        for lane in found.lanes:
            lives = [each for each in lane.lives if each.until is None or each.until >= begin]
            bands = [each for each in lane.bands if each.until is None or each.until >= begin]
            marks = [each for each in lane.marks if max(each.until, each.at + each.latency) >= begin]
            events = [each for each in lane.events if each.until >= begin]
            standbys = [each for each in lane.standbys if each.until is None or each.until >= begin]
            if lives or bands or marks or events:
                kept.append(structs.replace(lane, lives=lives, bands=bands, marks=marks, events=events, standbys=standbys))
        found.lanes = kept
