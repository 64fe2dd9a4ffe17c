"""Checks of config values, like ConfigDef's validators. Each returns Kafka's words for what is wrong, or None."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

Check = Callable[[str], str | None]
ListCheck = Callable[[str, Sequence[str]], str | None]
"""Returns Kafka's words for what is wrong with a list: (name, entries)."""


def bad_value(name: str, value: str, why: str) -> str:
    """Return the text of Kafka's ConfigException."""
    return f"Invalid value {value} for configuration {name}: {why}"


LONGEST_VALUE: Final = 32767
"""The most bytes of a string in Kafka's protocol."""
TOO_LONG: Final = f"The configuration value cannot be added because it exceeds the maximum value size of {LONGEST_VALUE} bytes."


def too_long(value: str) -> bool:
    """True if DescribeConfigs could not tell the value. An APPEND can make one out of values that a request can hold."""
    return len(value) > LONGEST_VALUE or len(value.encode("utf-8", "surrogatepass")) > LONGEST_VALUE


def fine(_: str) -> str | None:
    """Accept any value, because the config has no validator."""
    return None


def at_least(lowest: float) -> Check:
    """Accept numbers from a lower bound on."""

    def check(value: str) -> str | None:
        return f"Value must be at least {lowest}" if float(value) < lowest else None  # Java's comparisons let NaN pass

    return check


def between(lowest: float, highest: float) -> Check:
    """Accept numbers between two bounds."""

    def check(value: str) -> str | None:
        if float(value) < lowest:
            return f"Value must be at least {lowest}"
        return f"Value must be no more than {highest}" if float(value) > highest else None

    return check


def compression_level(lowest: int, highest: int) -> Check:
    """Accept a level, or -1 for the codec's own."""

    def check(value: str) -> str | None:
        fits = int(value) == -1 or lowest <= int(value) <= highest
        return None if fits else f"Value must be between {lowest} and {highest} or equal to -1"

    return check


def one_of(*words: str) -> Check:
    def check(value: str) -> str | None:
        return None if value in words else f"String must be one of: {', '.join(words)}"

    return check


def words(*known: str) -> ListCheck:
    """Accept a list of known words. Before Kafka 4 an empty list is refused, too."""
    refuse = one_of(*known)

    def check(name: str, entries: Sequence[str]) -> str | None:
        return next((bad_value(name, entry, why) for entry in entries if (why := refuse(entry)) is not None), None)

    return check


def something(name: str, entries: Sequence[str]) -> str | None:
    """Accept entries that are not empty (Kafka 4: ConfigDef.ValidList)."""
    return None if all(entries) else f"Configuration '{name}' values must not be empty."


def words_or_nothing(*known: str) -> ListCheck:
    """Accept a list of known words. Since Kafka 4 an empty entry is refused with words of its own."""
    before = words(*known)

    def check(name: str, entries: Sequence[str]) -> str | None:
        return next((why for entry in entries if (why := before(name, [entry]) if entry else something(name, [entry])) is not None), None)

    return check
