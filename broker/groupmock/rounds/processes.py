"""Tell the processes behind the members of one group apart. A process keeps its name when it comes back as another member."""

from __future__ import annotations

from bisect import bisect_left, insort
from typing import Final, NamedTuple

from .rebalance_model import name_of

REMEMBERED: Final = 1_000
"""The most former members whose process is kept."""
UNNAMED: Final = "unnamed"
"""The name of a process whose client id is empty."""


class Place(NamedTuple):
    """The identity of a process: its instance id or client id, and its number among the processes with this name, from 1."""

    name: str
    number: int

    @property
    def label(self) -> str:
        """Return the name, with the number if it is not the first process of that name."""
        name = self.name or UNNAMED
        return name if self.number == 1 else f"{name} ({self.number})"


class Numbers:
    """The numbers of the processes of one name. Finding the lowest free one takes the same time for any number of processes, because
    thousands of members with one client id may come at once."""

    __slots__ = ("_free", "_highest")

    def __init__(self) -> None:
        self._free: list[int] = []  # The numbers up to the highest that nobody has, in ascending order.
        self._highest = 0

    @property
    def lowest(self) -> int:
        """The lowest number that is free."""
        return self._free[0] if self._free else self._highest + 1

    def take(self, number: int) -> None:
        """Take a number that is free."""
        if number <= self._highest:
            del self._free[bisect_left(self._free, number)]
        else:
            self._free += range(self._highest + 1, number)
            self._highest = number

    def give_back(self, number: int) -> bool:
        """Make a number free for another process, and return True if no number is taken any more."""
        insort(self._free, number)
        return len(self._free) == self._highest


class Processes:
    """Maps the members of a group to processes.

    A process is named by the member's group.instance.id or client id. Members of one name that are connected at the same time are numbered
    in the order in which they come. A member that comes takes the lowest number that no connected member of its name has, so a process that
    restarts is the same process, even while the session of its former member still runs.
    """

    __slots__ = ("_before", "_connected", "_numbers", "_places")

    def __init__(self) -> None:
        self._places: dict[str, Place] = {}  # Maps member ids to processes.
        self._connected: dict[Place, str] = {}  # Maps processes to their connected member.
        self._numbers: dict[str, Numbers] = {}  # Maps names of several processes to their numbers.
        self._before: dict[str, Place] = {}  # Maps ids of the members that left last to their processes.

    def comes(self, member: str, called: str | None) -> None:
        """Note that a member has a connection. `called` is its instance id or client id, which is used if the member id has no name."""
        old = self._places.get(member)
        if old is not None and self._connected.get(old) == member:
            return
        name = old.name if old is not None else _name(member, called)
        place = old if old is not None and old not in self._connected else Place(name, self._lowest(name))
        if place.number > 1 or name in self._numbers:
            self._numbers_of(name).take(place.number)
        self._connected[place] = member
        self._places[member] = place

    def _lowest(self, name: str) -> int:
        """Return the lowest number that no connected process of the name has."""
        return 1 if name not in self._numbers and Place(name, 1) not in self._connected else self._numbers_of(name).lowest

    def _numbers_of(self, name: str) -> Numbers:
        numbers = self._numbers.get(name)
        if numbers is None:
            numbers = self._numbers[name] = Numbers()
            if Place(name, 1) in self._connected:
                numbers.take(1)
        return numbers

    def hangs_up(self, member: str) -> None:
        """Note that the member's connection ended, or that the member is gone. Another member may be the same process from now on."""
        place = self._places.get(member)
        if place is not None and self._connected.get(place) == member:
            del self._connected[place]
            numbers = self._numbers.get(place.name)
            if numbers is not None and numbers.give_back(place.number):
                del self._numbers[place.name]

    def goes(self, member: str) -> None:
        """Note that a member was removed. Its process is remembered, because a row may still name the member as a last owner."""
        self.hangs_up(member)
        place = self._places.pop(member, None)
        if place is not None:
            self._before[member] = place
            if len(self._before) > REMEMBERED:
                del self._before[next(iter(self._before))]

    def __contains__(self, member: object) -> bool:
        return member in self._places

    def of(self, member: str) -> str:
        """Return the name of a member's process, with its number unless that is 1."""
        place = self._places.get(member) or self._before.get(member)
        return place.label if place is not None else _name(member, None) or UNNAMED


def _name(member: str, called: str | None) -> str:
    """Return the name in a member id that the coordinator made (KIP-394), or else what the client is called. Members of consumer groups
    draw ids without a name (KIP-848)."""
    name = name_of(member)
    return name if name != member or called is None else called
