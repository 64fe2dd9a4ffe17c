"""Represents sets of characters as ranges. A set is a tuple of ranges (first, last), both included, ascending, never adjacent: equal sets
are equal tuples.

Case folding uses orbits: all characters that are the same letter, such as k, K and U+212A (the kelvin sign).
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from functools import cache, lru_cache
from typing import Final

from . import unicode

Ranges = tuple[tuple[int, int], ...]

LAST: Final = 0x10FFFF
ANY: Final[Ranges] = ((0, LAST),)
ANY_BUT_NEWLINE: Final[Ranges] = ((0, 9), (11, LAST))
_DIGIT: Final[Ranges] = ((0x30, 0x39),)
_WORD: Final[Ranges] = ((0x30, 0x39), (0x41, 0x5A), (0x5F, 0x5F), (0x61, 0x7A))
PERL: Final[dict[str, Ranges]] = {"d": _DIGIT, "s": ((0x9, 0xA), (0xC, 0xD), (0x20, 0x20)), "w": _WORD}
"""The Perl classes by the letter after the backslash; an upper-case letter means the complement."""
POSIX: Final[dict[str, Ranges]] = {
    "alnum": ((0x30, 0x39), (0x41, 0x5A), (0x61, 0x7A)),
    "alpha": ((0x41, 0x5A), (0x61, 0x7A)),
    "ascii": ((0x0, 0x7F),),
    "blank": ((0x9, 0x9), (0x20, 0x20)),
    "cntrl": ((0x0, 0x1F), (0x7F, 0x7F)),
    "digit": _DIGIT,
    "graph": ((0x21, 0x7E),),
    "lower": ((0x61, 0x7A),),
    "print": ((0x20, 0x7E),),
    "punct": ((0x21, 0x2F), (0x3A, 0x40), (0x5B, 0x60), (0x7B, 0x7E)),
    "space": ((0x9, 0xD), (0x20, 0x20)),
    "upper": ((0x41, 0x5A),),
    "word": _WORD,
    "xdigit": ((0x30, 0x39), (0x41, 0x46), (0x61, 0x66)),
}


def united(ranges: Iterable[tuple[int, int]]) -> Ranges:
    """Return the union of the ranges, which may be in any order and overlap."""
    merged: list[tuple[int, int]] = []
    for first, last in sorted(ranges):
        if merged and first <= merged[-1][1] + 1:
            merged[-1] = (merged[-1][0], max(last, merged[-1][1]))
        else:
            merged.append((first, last))
    return tuple(merged)


def complement(ranges: Ranges) -> Ranges:
    edges = [-1, *(edge for each in ranges for edge in each), LAST + 1]
    gaps = zip(edges[::2], edges[1::2], strict=True)
    return tuple((before + 1, after - 1) for before, after in gaps if before + 1 <= after - 1)


def holds(ranges: Ranges, code: int) -> bool:
    """True if the set contains the character."""
    index = bisect_right(ranges, (code, LAST)) - 1
    return index >= 0 and code <= ranges[index][1]


@lru_cache(maxsize=1024)
def folded(ranges: Ranges) -> Ranges:
    """Return the set with all characters that differ only in case from a character in the set."""
    orbits = unicode.orbits()
    cased = list(orbits)
    others = [
        (other, other)
        for first, last in ranges
        for code in cased[bisect_left(cased, first) : bisect_right(cased, last)]
        for other in orbits[code]
    ]
    return united([*ranges, *others])


@cache
def of_property(name: str, fold: bool) -> Ranges | None:
    r"""Return the characters of `\p{name}` (a category, a script or Any), or None for an unknown name. `fold`: in any case, as RE2/J's
    tables go."""
    if name == "Any":
        return ANY
    known = unicode.properties().get(name)
    if known is None:
        return None
    return united([*known, *unicode.folded_properties().get(name, ())]) if fold else united(known)
