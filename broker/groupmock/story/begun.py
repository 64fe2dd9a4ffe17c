"""Find the first fetch of an assigned partition, with which a member begins to read the partition."""

from __future__ import annotations

from collections.abc import Mapping

from ..rounds import Generation, GroupFold, Partition
from ..rounds.embedded import Partitions
from .people import People

NOTHING: Partitions = frozenset()


class Begun:
    """Remembers which partitions the members of one group have begun to read. A partition that a member gave up, or no longer claimed
    when it joined again, begins anew. `_cut` has the generations in which connections of members ended."""

    def __init__(self, fold: GroupFold, people: People) -> None:
        self._fold, self._people = fold, people
        self._read: dict[str, Partitions] = {}
        self._cut: dict[str, Generation | None] = {}

    def owns(self, member: str, before: Partitions, after: Partitions) -> None:
        """Note partitions that a member reads already: those that it claims to own, or all its partitions if its start is not in the
        rows."""
        newest = self._fold.generation
        if not after and (self._fold.given.get(member) or self._fold.ownership.is_pale(member)):
            # The member's connection ended, and the coordinator still assigns it the same partitions, so it continues to read.
            self._cut[member] = newest
            return
        read, cut = self._read.pop(member, NOTHING), self._cut.pop(member, newest)
        if newest is not None and member in newest.claims:
            had = newest.claims[member].owned
            if cut is not newest:
                read &= had  # The member has joined again since its connection ended.
        else:
            had = NOTHING if member in self._people.here else after
        read = (read & after) | (had & (after - before))
        if read:
            self._read[member] = read

    def goes(self, member: str) -> None:
        """Forget a member that is no member any more."""
        self._read.pop(member, None)
        self._cut.pop(member, None)

    def asks(self, client_id: str | None, wanted: Mapping[Partition, int]) -> dict[str, dict[Partition, int]]:
        """Return the partitions that members begin to read with this Fetch of their client, by member id, with the offsets. A Fetch
        names no member; among members with one client id it belongs to the partition's owner."""
        found: dict[str, dict[Partition, int]] = {}
        for member in self._people.ids_of(client_id):
            mine = self._fold.ownership.of(member)
            new = {each: offset for each, offset in wanted.items() if each in mine and each not in self._read.get(member, NOTHING)}
            if new:
                found[member] = new
                self._read[member] = self._read.get(member, NOTHING) | new.keys()
        return found
