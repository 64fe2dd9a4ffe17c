"""A word that nobody knows, and the known one that was probably meant."""

from __future__ import annotations

from collections.abc import Iterable


def did_you_mean(word: str, known: Iterable[str], most: int = 1, likeness: float = 0.6) -> str:
    """`did you mean X?`, or with `most` above 1 `did you mean X or Y?`; nothing where no word is near. Letters may be small or capital."""
    from difflib import get_close_matches  # only errors need it

    by_lower = {each.lower(): each for each in known}
    near = [by_lower[each] for each in get_close_matches(word.lower(), by_lower, most, likeness)]
    return f"did you mean {' or '.join(near)}?" if near else ""


def hint(word: str, known: Iterable[str]) -> str:
    """The same for the middle of a sentence: ` (did you mean X?)`, or nothing."""
    meant = did_you_mean(word, known)
    return f" ({meant})" if meant else ""
