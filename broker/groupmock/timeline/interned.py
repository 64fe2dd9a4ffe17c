"""Keep each set of partitions and each text of a picture once, and name it by its index."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import groupby
from typing import TypeVar

from msgspec import structs

from ..rounds import Partitions
from ..text.printable import printable
from .model import Band, Group, Stretch, Topics
from .said import Unsaid

H = TypeVar("H", Band, Stretch)


class Tables:
    """The tables of partition sets and texts, each of which occurs once, in the order of first use."""

    def __init__(self) -> None:
        self.sets: dict[Partitions, int] = {}
        self.texts: dict[str, int] = {}
        self._said: dict[Unsaid, int] = {}

    def held(self, partitions: Partitions) -> int:
        """Return the index of a set of partitions."""
        return self.sets.setdefault(partitions, len(self.sets))

    def text(self, text: str) -> int:
        return self.texts.setdefault(text, len(self.texts))

    def said(self, message: Unsaid | str) -> int:
        """Return the index of a message's text. Equal messages have one text."""
        if isinstance(message, str):
            return self.text(message)
        place = self._said.get(message)
        if place is None:
            place = self._said[message] = self.text(message.said())
        return place

    def begin_texts(self) -> None:
        """Begin a new table of texts, so that another picture has no texts of this one."""
        self.texts.clear()
        self._said.clear()

    def settled(self, groups: Iterable[Group]) -> tuple[list[Group], list[str], list[list[Topics]]]:
        """Return copies of the groups, the names of topics, and the sets of partitions that these groups use. Unused sets are left out, so
        the copies number them anew."""
        wanted, used = list(self.sets), dict[int, int]()

        def renumbered(spans: list[H]) -> list[H]:
            return [structs.replace(each, held=used.setdefault(each.held, len(used))) for each in spans]

        copies = [
            structs.replace(
                group,
                owners=renumbered(group.owners),
                lanes=[
                    structs.replace(lane, bands=renumbered(lane.bands), standbys=renumbered(lane.standbys)) for lane in group.lanes
                ],
            )
            for group in groups
        ]
        topics: dict[str, int] = {}
        sets = [_topics(wanted[place], topics) for place in used]
        return copies, list(topics), sets


def _topics(partitions: Partitions, topics: dict[str, int]) -> list[Topics]:
    by_topic = groupby(sorted(partitions), key=lambda each: each[0])
    return [Topics(topics.setdefault(printable(topic), len(topics)), [number for _, number in each]) for topic, each in by_topic]
