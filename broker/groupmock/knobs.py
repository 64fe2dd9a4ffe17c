"""Reads the knobs that a settings class declares (`core.settings.knob`): names, types, bounds, sentences; parses and checks values."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any, NamedTuple, get_type_hints

import msgspec

from .core.settings import Knob


class BadValue(ValueError):
    """A value that a knob cannot take; the text says which and what it takes."""


class Setting(NamedTuple):
    """One declared knob: `field` is the attribute of its class, `kind` is int, bool or str."""

    field: str
    kind: type
    knob: Knob
    default: Any

    def parse(self, value: object) -> Any:
        """The value as its type, from text or from TOML. Raises BadValue."""
        if self.kind is bool:
            return self._boolean(value)
        if self.kind is int:
            return self._number(value)
        if self.knob.choices and value not in self.knob.choices:
            raise BadValue(f"{self.knob.name} takes {self.takes}, not {value!r}")
        return str(value)

    @property
    def takes(self) -> str:
        """What values there are, in words."""
        if self.kind is bool:
            return "true or false"
        return f"{self.knob.lowest} to {self.knob.highest}" if self.kind is int else " or ".join(self.knob.choices) or "any text"

    def _boolean(self, value: object) -> bool:
        known = {"true": True, "false": False}
        text = str(value).lower()
        if text not in known:
            raise BadValue(f"{self.knob.name} takes true or false, not {value!r}")
        return known[text]

    def _number(self, value: object) -> int:
        try:
            number = int(str(value)) if not isinstance(value, bool) else None
        except ValueError:
            number = None
        if number is None:
            raise BadValue(f"{self.knob.name} takes a whole number, not {value!r}")
        low, high = self.knob.lowest, self.knob.highest
        if (low is not None and number < low) or (high is not None and number > high):
            raise BadValue(f"{self.knob.name} takes {low} to {high}, not {number}")
        return number


@cache
def settings_of(declaring: type[msgspec.Struct]) -> dict[str, Setting]:
    """Kafka name -> setting, for one class of knobs."""
    return {setting.knob.name: setting for setting in _declared(declaring)}


def _declared(declaring: type[msgspec.Struct]) -> Iterator[Setting]:
    hints = get_type_hints(declaring, include_extras=True)
    for info in msgspec.structs.fields(declaring):
        marks = getattr(hints[info.name], "__metadata__", ())
        for mark in marks:
            if isinstance(mark, Knob):
                yield Setting(info.name, hints[info.name].__origin__, mark, info.default)
