"""Pictures of groups' last seconds, for GET /timeline/{group}, grow with the rows (`timeline.growing`).

Without requests there is no work. A request is answered with the last picture until that is old enough, so pictures take at most a fixed
share of the time, however many pages are open and however large the group is.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

import msgspec

from groupmock_codec.units import NS_PER_S

from ..timeline.forms.html import as_json
from ..timeline.growing import Growing
from ..timeline.scene import scene_of

if TYPE_CHECKING:
    from ..journal.ring import Ring
    from ..journal.rows import Header

MOST_PICTURES: Final = 8
"""At most this many groups have a picture at a time. The picture that was not asked for the longest is dropped."""
MOST_SECONDS: Final = 3600
SHARE: Final = 10
"""A picture is made again when it is SHARE times as old as the time that it took to make."""
OLDEST_S: Final = 5.0
"""The age in seconds at which a picture is always made again."""
AT_ONCE: Final = 200
"""The number of rows that are read before the loop gets a turn."""


class Pictures:
    """The timeline pictures of one cluster, by group. `now` returns the run time in ns."""

    def __init__(self, header: Header, ring: Ring, now: Callable[[], int]) -> None:
        self._header, self._ring, self._now = header, ring, now
        self._kept: OrderedDict[str, Picture] = OrderedDict()

    async def of(self, group: str, seconds: int, scene: bool) -> bytes:
        """Return the picture of a group as JSON: its facts, or the scene that the page draws."""
        kept = self._kept.get(group)
        if kept is None:
            kept = self._kept[group] = Picture(group, self._header, self._ring, self._now)
            if len(self._kept) > MOST_PICTURES:
                self._kept.popitem(last=False)
        self._kept.move_to_end(group)
        return await kept.last(seconds, scene)


class Picture:
    """The timeline picture of one group: what was read from its rows so far, and the JSON that was made last."""

    def __init__(self, group: str, header: Header, ring: Ring, now: Callable[[], int]) -> None:
        self._group, self._header, self._ring, self._now = group, header, ring, now
        self._one_at_a_time = asyncio.Lock()
        self._made: tuple[tuple[int, bool] | None, bytes] = (None, b"")
        self._fresh_until = 0.0
        self._begin()

    def _begin(self) -> None:
        self._growing = Growing(self._group, self._header)
        self._taken = self._ring.dropped
        self._worn = False

    async def last(self, seconds: int, scene: bool) -> bytes:
        """Return the picture of the last seconds, which may be a moment old."""
        async with self._one_at_a_time:
            clock = asyncio.get_running_loop().time
            if self._made[0] != (seconds, scene) or clock() >= self._fresh_until:
                took = await self._catch_up(clock)
                began = clock()
                self._growing.forget(self._now() - MOST_SECONDS * NS_PER_S)
                picture = self._growing.picture(self._now() - seconds * NS_PER_S, self._now())
                self._made = (seconds, scene), as_json(scene_of(picture)) if scene else msgspec.json.encode(picture)
                self._fresh_until = clock() + min(OLDEST_S, SHARE * (took + clock() - began))
            return self._made[1]

    async def _catch_up(self, clock: Callable[[], float]) -> float:
        """Read the new rows and return how long that took in seconds."""
        if self._growing.worn or self._taken < self._ring.dropped:
            # The picture begins anew, because rows were dropped unread, or very many members and partition sets came and went. The kept
            # rows still cover the last seconds.
            self._begin()
        took, taken = 0.0, self._ring.taken
        while self._taken < taken and (rows := self._ring.after(self._taken, min(AT_ONCE, taken - self._taken))):
            began = clock()
            for row in rows:
                self._growing.feed(row)
            self._taken += len(rows)
            took += clock() - began
            await asyncio.sleep(0)
        return took
