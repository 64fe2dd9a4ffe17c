"""Patterns that peers bring for transactional ids (KIP-1152), matched within a budget.

Kafka reads them by RE2/J, whose time is linear in pattern and text. Python's matcher tries one way after the other: `(a+)+b` takes twice
as long with every `a`, and all of the cluster waits. So a pattern is judged before it is tried: what repeats a group is refused, and of
what is left the ways are counted, a factor of the text's length for each repetition and of two for each choice.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

MOST_WAYS: Final = 4_000_000
"""Some ten milliseconds."""
_ATOMS: Final = re.compile(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]", re.DOTALL)
"""An escaped character, or a set of characters: one character to the matcher, whatever stands in it."""
_REPEATED_GROUP: Final = re.compile(r"\)(?:[*+]|\{)")
_VERBOSE: Final = re.compile(r"\(\?[a-zA-Z]*x")
"""The flag that lets blanks stand anywhere, between a group and what repeats it too; RE2 has none."""
_REPETITION: Final = re.compile(r"[*+]|\{")
_CHOICE: Final = re.compile(r"\||(?<!\()\?")


class Unreadable(ValueError):
    """A pattern that is none, or that is not tried here. Its text says why."""


def compiled(pattern: str, texts: Iterable[str]) -> re.Pattern[str]:
    """The pattern, if it can be matched with all of these texts. Raises Unreadable."""
    try:
        found = re.compile(pattern)
    except (re.error, RecursionError, OverflowError) as problem:
        raise Unreadable(f"it is no regular expression: {problem}") from None
    plain = _ATOMS.sub("x", pattern)
    if _VERBOSE.search(plain):
        raise Unreadable("it has the flag x")
    if _REPEATED_GROUP.search(plain):
        raise Unreadable("it repeats a group: say it without, here every way would be tried")
    repetitions, choices = len(_REPETITION.findall(plain)), len(_CHOICE.findall(plain))
    if choices > MOST_WAYS.bit_length() or sum((len(text) + 1) ** min(repetitions, 20) for text in texts) << choices > MOST_WAYS:
        raise Unreadable(f"{repetitions} repetitions and {choices} choices are too many for the ids that there are")
    return found
