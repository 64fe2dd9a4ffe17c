"""The form in which a setting is declared, next to its field. `config.resolve` reads names, types, defaults and descriptions from it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import get_type_hints

import msgspec

INT_MAX = 2**31 - 1
LONG_MAX = 2**63 - 1


class Declaration(msgspec.Struct, frozen=True):
    """The declaration of one setting: its name in Kafka, a sentence, bounds, and the values that a text may have."""

    name: str
    about: str
    lowest: int | None = None
    highest: int | None = None
    choices: tuple[str, ...] = ()


def setting(name: str, about: str, lowest: int | None = None, highest: int | None = INT_MAX, choices: tuple[str, ...] = ()) -> Declaration:
    """Declare a setting by its name in Kafka and a sentence about it. The bounds of a number are inclusive; `choices` are the texts that
    are allowed."""
    return Declaration(name, about, lowest, highest, choices)


def declarations(declaring: type[msgspec.Struct]) -> Iterator[tuple[str, type, Declaration]]:
    """Yield each field of the class with its plain type and its declaration, in the order of the class."""
    for field, hint in get_type_hints(declaring, include_extras=True).items():
        for mark in getattr(hint, "__metadata__", ()):
            if isinstance(mark, Declaration):
                yield field, hint.__origin__, mark
