"""Collect the lanes of one group, one for each member with its stays in the group and its requests."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from ..journal.rows import MemberRow
from ..rounds.group_fold import replaced_by
from ..story.sentences import how_gone
from ..story.words import member_text, shortened, text
from .model import Lane, Life

LANES: Final = 2000
"""At most this many members have lanes of their own."""
OTHERS: Final = "more members"
NOBODY: Final = "clients without a member id"
BEFORE: Final = "it had joined before this journal begins"


class Lanes:
    """The lanes of a group by member id, in the order in which the members were first seen. `left_out` are member ids that share one
    lane, which exists only then."""

    def __init__(self) -> None:
        self.all: list[Lane] = []
        self.left_out = 0
        self._places: dict[str, int] = {}
        self._called: dict[str, int] = {}  # Maps a client id or instance id to the last lane that had it.
        self._spelled: dict[int, str] = {}  # Maps the index of a lane to its exact client id.
        self._shared: dict[str, int] = {}

    def place(self, member_id: str) -> int:
        """Return the index of the member's lane, which is made on first use. "" means requests without a member."""
        place = self._places.get(member_id)
        if place is not None:
            return place
        if not member_id:
            return self._shared_lane(NOBODY)
        if len(self._places) >= LANES:
            self.left_out += 1
            return self._shared_lane(OTHERS)
        self._places[member_id] = len(self.all)
        self.all.append(Lane("", member_id))
        return self._places[member_id]

    def known(self, member_id: str) -> int | None:
        """Return the index of the member's lane, or None."""
        return self._places.get(member_id)

    def meant(self, wanted: str) -> int | None:
        """Return the last lane that belongs to what a user named: a member id, instance id or client id."""
        place = max(self._places.get(wanted, -1), self._called.get(wanted, -1))
        return None if place < 0 else place

    def took_part(self, member_id: str, client_id: str | None, library: str | None) -> int:
        """Note that a client sent a request as this member."""
        place = self.place(member_id)
        if member_id:
            lane = self.all[place]
            if client_id and client_id != self._spelled.get(place):
                self._spelled[place] = client_id
                lane.client_id = self._calls(text(client_id), place)
            lane.library = library or lane.library
        return place

    def member(self, row: MemberRow) -> None:
        """Note that a member joined, left or changed, as a row of the coordinator says."""
        if row.what in ("added", "replaced"):
            old = replaced_by(row.member_id, row.reason)
            if row.what == "replaced":
                self._ends(old, row.t, f"static id {text(row.group_instance_id)} came back as another member", "replaced")
            came = f"takes the place of {member_text(old)}" if row.what == "replaced" else f"joined: {shortened(row.reason)}"
            lane = self._of(row)
            lane.lives.append(Life(row.t, came))
        elif row.what == "removed" or (row.what == "refused" and self._is_here(row.member_id)):
            self._of(row)
            self._ends(row.member_id, row.t, how_gone(row), row.cause or "")

    def all_gone(self, at: int, reason: str) -> None:
        """End all stays of members, because the group is gone."""
        for lane in self.all:
            if lane.lives and lane.lives[-1].until is None:
                self._ends(lane.member_id, at, shortened(reason), "group gone")

    def finished(self) -> Iterator[tuple[int, Lane]]:
        """Yield each lane with its index, after its label was set."""
        for place, lane in enumerate(self.all):
            if not lane.label:
                lane.label = member_text(lane.member_id, lane.instance or lane.client_id or None)
            yield place, lane

    def label(self, member_id: str) -> str:
        """Return the label of a member id."""
        place = self.known(member_id)
        lane = self.all[place] if place is not None else Lane("", member_id)
        return member_text(member_id, lane.instance or lane.client_id or None)

    def _is_here(self, member_id: str) -> bool:
        place = self.known(member_id)
        return place is not None and bool(lives := self.all[place].lives) and lives[-1].until is None

    def _of(self, row: MemberRow) -> Lane:
        place = self.place(row.member_id)
        lane = self.all[place]
        if lane.member_id:
            lane.instance = self._calls(text(row.group_instance_id), place) if row.group_instance_id else lane.instance
            lane.client_id = lane.client_id or self._calls(text(row.client_id or ""), place)
            lane.host = text(row.client_host.lstrip("/")) if row.client_host else lane.host
        return lane

    def _calls(self, name: str, place: int) -> str:
        if name:
            self._called[name] = max(place, self._called.get(name, -1))
        return name

    def _ends(self, member_id: str, at: int, how: str, cause: str) -> None:
        lane = self.all[self.place(member_id)]
        if not lane.lives or lane.lives[-1].until is not None:
            lane.lives.append(Life(min([at, *(each.since for each in lane.bands)]), BEFORE))
        life = lane.lives[-1]
        life.until, life.gone, life.cause = max(at, life.since), how, cause

    def _shared_lane(self, label: str) -> int:
        if label not in self._shared:
            self._shared[label] = len(self.all)
            self.all.append(Lane(label))
        return self._shared[label]
