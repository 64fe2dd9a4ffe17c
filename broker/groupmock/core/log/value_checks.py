"""Checks config values like the validators of Kafka's ConfigDef. Each returns Kafka's words for what is wrong, or None."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

Check = Callable[[str], str | None]
ListCheck = Callable[[str, Sequence[str]], str | None]
"""A function of a config's name and entries that returns Kafka's message for a bad list, or None."""


def bad_value(name: str, value: str, why: str) -> str:
    """Return the text of Kafka's ConfigException."""
    return f"Invalid value {value} for configuration {name}: {why}"


LONGEST_VALUE: Final = 32767
"""The largest number of bytes in a string of Kafka's protocol."""
TOO_LONG: Final = f"The configuration value cannot be added because it exceeds the maximum value size of {LONGEST_VALUE} bytes."


def too_long(value: str) -> bool:
    """True if the value is too long for an answer of DescribeConfigs. An APPEND can make one out of values that a request can hold."""
    return len(value) > LONGEST_VALUE or len(value.encode("utf-8", "surrogatepass")) > LONGEST_VALUE


def fine(_: str) -> str | None:
    """Accept any value, because the config has no validator."""
    return None


def at_least(lowest: float) -> Check:
    """Return a check that accepts numbers from a lower bound on."""

    def check(value: str) -> str | None:
        return f"Value must be at least {lowest}" if float(value) < lowest else None  # Java's comparison lets NaN pass, too.

    return check


def between(lowest: float, highest: float) -> Check:
    """Return a check that accepts numbers between two bounds."""

    def check(value: str) -> str | None:
        if float(value) < lowest:
            return f"Value must be at least {lowest}"
        return f"Value must be no more than {highest}" if float(value) > highest else None

    return check


def compression_level(lowest: int, highest: int) -> Check:
    """Return a check that accepts a compression level, or -1 for the codec's default."""

    def check(value: str) -> str | None:
        fits = int(value) == -1 or lowest <= int(value) <= highest
        return None if fits else f"Value must be between {lowest} and {highest} or equal to -1"

    return check


def one_of(*words: str) -> Check:
    def check(value: str) -> str | None:
        return None if value in words else f"String must be one of: {', '.join(words)}"

    return check


def words(*known: str) -> ListCheck:
    """Return a check that accepts a list of the known words. Before Kafka 4 an empty list is refused, too."""
    refuse = one_of(*known)

    def check(name: str, entries: Sequence[str]) -> str | None:
        return next((bad_value(name, entry, why) for entry in entries if (why := refuse(entry)) is not None), None)

    return check


def something(name: str, entries: Sequence[str]) -> str | None:
    """Accept a list whose entries are not empty (Kafka 4: ConfigDef.ValidList)."""
    return None if all(entries) else f"Configuration '{name}' values must not be empty."


def words_or_nothing(*known: str) -> ListCheck:
    """Return a check that accepts a list of the known words, or an empty list. Since Kafka 4 an empty entry is refused with words of its
    own."""
    before = words(*known)

    def check(name: str, entries: Sequence[str]) -> str | None:
        return next((why for entry in entries if (why := before(name, [entry]) if entry else something(name, [entry])) is not None), None)

    return check


def each_once(check_entries: ListCheck) -> ListCheck:
    """Return a check that accepts a list without equal entries that also passes `check_entries`. Broker configs are so since Kafka 4.4."""

    def check(name: str, entries: Sequence[str]) -> str | None:
        if len(set(entries)) < len(entries):
            return f"Configuration '{name}' values must not be duplicated."
        return check_entries(name, entries)

    return check
