"""Guess from its advertised versions which release of Apache Kafka a broker is like."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final

from groupmock.config import profiles
from groupmock_codec import APIS
from groupmock_codec.declare import Versions

from ..language.exchange import RELEASES

TELLING: Final = (8, 9, 10, 11, 12, 13, 14, 15, 16, 18, 42, 47)
"""The APIs whose version ranges show which release a broker is like: those of groups, and ApiVersions itself."""
NEWER_SHOWN: Final = 5


@dataclass(frozen=True)
class Guess:
    """The release whose version ranges are nearest to those of the broker. `equal` of `compared` ranges are the same as in that release.
    `newer` lists the versions of the broker that the newest known release does not have: ("ApiVersions v6", ...)."""

    release: str
    equal: int
    compared: int
    newer: tuple[str, ...] = ()

    @property
    def sure(self) -> str:
        """Say in words how certain the guess of the release is."""
        if self.newer:
            shown = ", ".join(self.newer[:NEWER_SHOWN]) + (" ..." if len(self.newer) > NEWER_SHOWN else "")
            return f"the broker is newer, and this groupmock knows no newer release: {self.release} has no {shown}"
        if self.equal == self.compared:
            return f"certain: all {self.compared} ranges of the group APIs are {self.release}'s"
        word = "likely" if self.equal * 2 >= self.compared else "a guess"
        return f"{word}: {self.equal} of {self.compared} ranges of the group APIs are {self.release}'s"


def offered_by(release: str) -> dict[int, Versions]:
    """Return the versions that a release advertises, by API key."""
    return {key: Versions(*versions) for key, versions in profiles.load(f"kafka-{release}").versions.items()}


def guess(ranges: Mapping[int, Versions]) -> Guess:
    """Return the release whose version ranges are nearest to the given ones, among equally near releases the newest. A broker with a
    version that the newest known release lacks is newer: it is judged by that release."""
    newest = offered_by(RELEASES[0])
    later = {key: offered.highest for key, offered in sorted(ranges.items()) if key in newest and offered.highest > newest[key].highest}
    if later:
        newer = tuple(f"{APIS[key].name} v{version}" for key, version in later.items())
        return replace(_compared(RELEASES[0], ranges)[1], newer=newer)
    return max((_compared(release, ranges) for release in RELEASES), key=lambda each: each[0])[1]


def _compared(release: str, ranges: Mapping[int, Versions]) -> tuple[tuple[int, int], Guess]:
    theirs = offered_by(release)
    equal = sum(ranges.get(key) == theirs.get(key) for key in TELLING)
    apart = sum(_distance(ranges.get(key), theirs.get(key)) for key in TELLING)
    return (-apart, equal), Guess(release, equal, len(TELLING))


def _distance(one: Versions | None, other: Versions | None) -> int:
    """Count the versions at either end of a range that only one side has. An API that only one side has counts as five."""
    if one is None or other is None:
        return 0 if one is other else 5
    return abs(one.highest - other.highest) + abs(one.lowest - other.lowest)
