"""Suggest known words that are spelled like an unknown word."""

from __future__ import annotations

from collections.abc import Iterable


def did_you_mean(word: str, known: Iterable[str], most: int = 1, likeness: float = 0.6) -> str:
    """Return `did you mean X?`, or with `most` above 1 `did you mean X or Y?`. The text is empty if no known word is near. Case is
    ignored."""
    from difflib import get_close_matches  # This import is late, because only errors need it.

    by_lower = {name.lower(): name for name in known}
    near = [by_lower[name] for name in get_close_matches(word.lower(), by_lower, most, likeness)]
    return f"did you mean {' or '.join(near)}?" if near else ""


def hint(word: str, known: Iterable[str]) -> str:
    """Return a suggestion for the middle of a sentence, ` (did you mean X?)`, or an empty text."""
    meant = did_you_mean(word, known)
    return f" ({meant})" if meant else ""
