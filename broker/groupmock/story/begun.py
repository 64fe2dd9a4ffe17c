"""Members that begin to read: a member begins once, when it asks for a partition that it was given."""

from __future__ import annotations

from collections.abc import Mapping

from ..rounds import GroupFold, Partition
from ..rounds.embedded import Partitions
from .people import People

NOTHING: Partitions = frozenset()


class Begun:
    """The beginnings of one group's members. A partition that a member gave up, or claimed no more when it joined again, begins anew."""

    def __init__(self, fold: GroupFold, people: People) -> None:
        self._fold, self._people = fold, people
        self._read: dict[str, Partitions] = {}
        fold.ownership.changed = self._owns

    def _owns(self, member: str, before: Partitions, after: Partitions, *_: object) -> None:
        """Note what a member may read since long ago: what it claims to have had, and what a member has whose beginning is not in the
        rows."""
        if not after and self._fold.given.get(member):
            return  # The member's connection ended, and the coordinator still gives it the same, so it reads on
        newest = self._fold.generation
        if newest is not None and member in newest.claims:
            had = newest.claims[member].owned
        else:
            had = NOTHING if member in self._people.here else after
        read = (self._read.pop(member, NOTHING) & after) | (had & (after - before))
        if read:
            self._read[member] = read

    def asks(self, client_id: str | None, wanted: Mapping[Partition, int]) -> dict[str, dict[Partition, int]]:
        """Return by member id what it begins to read with that Fetch of its client, and from where. A Fetch names no member: of several
        with one client id it is the one that owns the partition."""
        found: dict[str, dict[Partition, int]] = {}
        for member in self._people.ids_of(client_id):
            mine = self._fold.ownership.of(member)
            new = {each: offset for each, offset in wanted.items() if each in mine and each not in self._read.get(member, NOTHING)}
            if new:
                found[member] = new
                self._read[member] = self._read.get(member, NOTHING) | new.keys()
        return found
