"""Regular expressions give the same verdicts, messages and matches as RE2/J, with which Kafka 4.3 reads subscriptions."""

from __future__ import annotations

import base64
import random
from collections.abc import Iterable
from itertools import pairwise
from pathlib import Path
from typing import Final

from regex_stories import question

from groupmock.core.re2j import unicode
from groupmock.core.re2j.classes import complement, folded, of_property
from groupmock.core.re2j.matching import compiled
from groupmock.core.re2j.syntax import TOO_LARGE, RegexRefused

from .oracle import run

RELEASE: Final = "4.3.0"
PROGRAM: Final = Path(__file__).with_name("KafkaRegexes.java")
SEEDS: Final = range(8)
EACH: Final = 2_500
LAST: Final = 0x2FFFF


def _asked(questions: Iterable[tuple[str, list[str]]]) -> list[str]:
    lines = [" ".join(base64.b64encode(text.encode()).decode() for text in (pattern, *texts)) for pattern, texts in questions]
    return run(RELEASE, PROGRAM, "\n".join(lines) + "\n").split("\n")[:-1]


def _ours(pattern: str, texts: list[str]) -> str:
    try:
        matcher = compiled(pattern)
    except RegexRefused as refused:
        return f"refused {refused.detail}"
    return "".join("01"[matcher.matches(text)] for text in texts)


def test_drawn_expressions() -> None:
    questions = [question(dice) for seed in SEEDS for dice in [random.Random(seed)] for _ in range(EACH)]
    pairs = zip(questions, _asked(questions), strict=True)
    found = [(asked, theirs, ours) for asked, theirs in pairs if (ours := _ours(*asked)) != theirs]
    assert [each for each in found if each[2] != f"refused {TOO_LARGE}"] == []
    assert len(found) < len(questions) // 1000


def _visible(ranges: Iterable[tuple[int, int]]) -> str:
    """Format character ranges like the Java program, which leaves out some planes and invalid characters."""
    hidden = complement(complement(tuple(ranges)))  # The character ranges are complemented twice, which returns a sorted copy.
    cuts = [(first, min(last, LAST)) for first, last in hidden if first <= LAST]
    kept = [part for first, last in cuts for part in ((first, min(last, 0xD7FF)), (max(first, 0xE000), last)) if part[0] <= part[1]]
    return " ".join(f"{first}-{last}" for first, last in kept)


def test_every_category_and_script() -> None:
    names = [*unicode.properties(), "Any"]
    asked = [(f"{flag}\\p{{{name}}}", flag, name) for name in names for flag in ("", "(?i)")]
    theirs = _asked((pattern, []) for pattern, _, _ in asked)
    wrong = [
        pattern
        for (pattern, flag, name), told in zip(asked, theirs, strict=True)
        if told != _visible(of_property(name, fold=flag != "") or ())
    ]
    assert wrong == []


def test_every_letter_in_any_case() -> None:
    there_and_back = [code for code, orbit in unicode.orbits().items() if all(unicode.orbits()[other] == orbit for other in orbit)]
    questions = [
        (f"(?i)\\x{{{code:x}}}", [chr(other) for other in (*unicode.orbits()[code], before, after)])
        for before, code in pairwise(there_and_back)
        for after in (code + 1,)
    ]
    told = _asked(questions)
    assert [asked for asked, theirs in zip(questions, told, strict=True) if _ours(*asked) != theirs] == []
    assert folded(((0x4B, 0x4B),)) == ((0x4B, 0x4B), (0x6B, 0x6B), (0x212A, 0x212A))
