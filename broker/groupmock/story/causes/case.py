"""The facts about one group that every cause may look at."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, NamedTuple

from groupmock_codec.units import NS_PER_S

from ..evidence import Evidence, Reading, Refusal
from ..people import Person
from ..words import seconds

if TYPE_CHECKING:
    from ...rounds import Partition
    from ...rounds.embedded import Partitions
    from ..tale import Tale

SOON: Final = NS_PER_S
"""A client that only changes its connection is back within this time (ns), and a reader waits longer than this for an open transaction."""


class Likely(NamedTuple):
    """A likely cause in a sentence, which names the rows of its pattern by their times. `members` are the ids of members whose later
    refusals it explains."""

    sentence: str
    members: frozenset[str] = frozenset()


@dataclass(slots=True)
class Case:
    """The facts that a cause may use: the story of a group (`tale`), the time `now` (ns of the run), whether these are all rows of the run
    (`whole`), the existing `topics`, and the client libraries by client id. `explained` has the members that a cause was found for."""

    tale: Tale
    now: int
    whole: bool
    topics: Collection[str] = ()
    libraries: Mapping[str | None, str] = field(default_factory=dict)
    explained: set[str] = field(default_factory=set)

    @property
    def evidence(self) -> Evidence:
        return self.tale.evidence

    @property
    def here(self) -> Iterable[Person]:
        return self.tale.people.here.values()

    @property
    def everybody(self) -> Iterator[tuple[Person, int | None]]:
        """Yield the former and present members, each with when it was removed, or None. A failed test may have closed its clients."""
        yield from ((each.person, each.at) for each in self.evidence.gone.values())
        yield from ((each, None) for each in self.here)

    def name(self, member: str) -> str:
        return self.tale.people.name(member)

    def refusals(self, *apis: str, errors: Iterable[str] = ()) -> Iterator[Refusal]:
        """Yield the refusals of these APIs and errors that no fault rule made."""
        wanted = frozenset(errors)
        for each in self.evidence.refusals.values():
            if each.api in apis and not each.made and (not wanted or each.error in wanted):
                yield each

    def assigned_to(self, member: str) -> Partitions:
        """Return the partitions of a member, also if its connection has ended."""
        planned = frozenset(each for each, owner in self.tale.owners.items() if owner == member)
        return planned or self.tale.fold.given.get(member) or self.evidence.owned_last(member)

    def readings(self, member: str) -> Iterator[tuple[Partition, Reading]]:
        """Yield the partitions that a member read and was sent records of, with the last reading of each."""
        for partition, kept in self.evidence.readings.items():
            mine = [each for each in kept if each.member == member and each.sent is not None]
            if mine:
                yield partition, mine[-1]


def at(ns: int) -> str:
    """Return a time of the run in words."""
    return f"at {seconds(ns)}"
