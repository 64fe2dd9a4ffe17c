from __future__ import annotations

import random
from typing import Final

LITERALS: Final = [*"aaabbcAB12-._ é", "ſ", "К", "k", "K", "orders", "x"]
ATOMS: Final = (
    ".",
    "^",
    "$",
    r"\A",
    r"\z",
    r"\b",
    r"\B",
    r"\d",
    r"\D",
    r"\w",
    r"\W",
    r"\s",
    r"\S",
    r"\pL",
    r"\PL",
    r"\p{Lu}",
    r"\p{^Ll}",
    r"\p{Greek}",
    r"\P{Latin}",
    r"\x61",
    r"\x{62}",
    r"\141",
    r"\0",
    r"\n",
    r"\Qa.b\E",
    r"\Q*\E",
    r"\.",
    r"\-",
)
CLASS_PARTS: Final = (
    "a",
    "b",
    "a-c",
    "A-Z",
    "0-9",
    "-",
    r"\d",
    r"\W",
    r"\pN",
    "[:alpha:]",
    "[:^digit:]",
    "[:word:]",
    r"\-",
    r"\x61",
    "é-ü",
    "^",
    "[",
    ".",
)
FLAGS: Final = ("i", "s", "m", "U", "im", "-i", "i-s", "-ms", "")
COUNTS: Final = ("{0}", "{1}", "{2}", "{1,}", "{0,}", "{2,}", "{0,1}", "{1,3}", "{2,4}", "{0,0}", "{,2}", "{", "{1", "{a}", "{01}")
REPETITIONS: Final = ("*", "+", "?", "*?", "+?", "??")
SOUP: Final = (
    *"()[]{}|*+?^$.\\-,:<>=!PQEpxzk0128a",
    "(?",
    "(?P<n>",
    "(?<n>",
    "(?<m>",
    "(?P<",
    "(?:",
    "(?i)",
    "(?i:",
    "(?-",
    "[[:",
    ":]",
    "[^",
    r"\p{",
    r"\x{",
    r"\Q",
    r"\E",
    "{1001}",
    "{3,2}",
    "{1000}",
    "{100000000}",
)


def drawn(dice: random.Random, depth: int = 3) -> str:
    """Draw an expression that is probably valid."""
    parts = [_repeated(dice, depth) for _ in range(dice.randint(1, 4))]
    if dice.random() < 0.25:
        parts.insert(dice.randrange(len(parts) + 1), "|")
    return "".join(parts)


def _repeated(dice: random.Random, depth: int) -> str:
    draw = dice.random()
    part = _part(dice, depth)
    if draw < 0.25:
        return f"{part}{dice.choice(REPETITIONS)}"
    return f"{part}{dice.choice(COUNTS)}" if draw < 0.4 else part


def _part(dice: random.Random, depth: int) -> str:
    draw = dice.random()
    if draw < 0.45:
        return str(dice.choice(LITERALS))
    if draw < 0.65:
        return str(dice.choice(ATOMS))
    if draw < 0.78:
        inside = "".join(dice.choice(CLASS_PARTS) for _ in range(dice.randint(1, 3)))
        return f"[{dice.choice(('', '', '^'))}{inside}]"
    if depth == 0:
        return "a"
    opened = dice.choice(("(", "(", "(?:", f"(?{dice.choice(FLAGS)}:", f"(?P<n{dice.randrange(1000)}>", "(?<n>"))
    if dice.random() < 0.15:
        return f"(?{dice.choice(FLAGS)})"
    return f"{opened}{drawn(dice, depth - 1)})"


def spoilt(dice: random.Random, pattern: str) -> str:
    """Remove, double or insert a few characters, so that the expression is probably invalid."""
    for _ in range(dice.randint(1, 3)):
        at = dice.randrange(len(pattern) + 1)
        what = dice.random()
        if what < 0.4:
            pattern = pattern[:at] + pattern[at + 1 :]
        elif what < 0.5:
            pattern = pattern[:at] + pattern[at : at + 1] + pattern[at:]
        else:
            pattern = pattern[:at] + dice.choice(SOUP) + pattern[at:]
    return pattern


def soup(dice: random.Random) -> str:
    """Join random pieces of regular expression syntax."""
    return "".join(dice.choice(SOUP) for _ in range(dice.randint(1, 8)))


def name(dice: random.Random) -> str:
    """Draw a short text from the characters that the expressions contain."""
    return "".join(dice.choice(LITERALS) for _ in range(dice.randint(0, 5)))


def question(dice: random.Random) -> tuple[str, list[str]]:
    """Draw an expression and texts to match."""
    pattern = drawn(dice)
    draw = dice.random()
    if draw > 0.75:
        pattern = spoilt(dice, pattern)
    elif draw > 0.65:
        pattern = soup(dice)
    return pattern, ["", "a", "ab", "orders", "a\nb", *(name(dice) for _ in range(10))]
