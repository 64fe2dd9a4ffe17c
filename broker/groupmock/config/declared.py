"""Finds the settings that a class declares with `core.setting_declarations.setting`, and parses and checks their values."""

from __future__ import annotations

from functools import cache
from typing import Any

import msgspec

from ..core.java.numbers import trimmed, whole_number
from ..core.settings import Declaration, declarations
from ..text.printable import brief


class BadValue(ValueError):
    """Raised if a setting does not take a value. The message names the setting and the values that it takes."""


class Setting(msgspec.Struct, frozen=True):
    """A setting is declared by a field of a class. `field` is the attribute of its class, `kind` is int, bool or str."""

    field: str
    kind: type
    declared: Declaration
    default: Any

    def parse(self, value: object) -> Any:
        """Convert a value from text or TOML to the setting's type. Raises BadValue."""
        if self.kind is bool:
            return self._boolean(value)
        if self.kind is int:
            return self._number(value)
        if self.declared.choices and value not in self.declared.choices:
            raise BadValue(f"{self.declared.name} takes {self.takes}, not {brief(value)}")
        return str(value)

    @property
    def takes(self) -> str:
        """A description of the values that the setting takes."""
        if self.kind is bool:
            return "true or false"
        if self.kind is int:
            return f"{self.declared.lowest} to {self.declared.highest}"
        return " or ".join(self.declared.choices) or "any text"

    def _boolean(self, value: object) -> bool:
        known = {"true": True, "false": False}
        text = str(value).lower()
        if text not in known:
            raise BadValue(f"{self.declared.name} takes true or false, not {brief(value)}")
        return known[text]

    def _number(self, value: object) -> int:
        # Python counts TOML's `true` as an int, so booleans are excluded.
        number = whole_number(trimmed(str(value)), 63) if not isinstance(value, bool) else None
        if number is None:
            raise BadValue(f"{self.declared.name} takes a whole number, not {brief(value)}")
        low, high = self.declared.lowest, self.declared.highest
        if (low is not None and number < low) or (high is not None and number > high):
            raise BadValue(f"{self.declared.name} takes {low} to {high}, not {number}")
        return number


@cache
def settings_of(declaring: type[msgspec.Struct]) -> dict[str, Setting]:
    """Return the settings that a class declares, by Kafka's name."""
    defaults = {info.name: info.default for info in msgspec.structs.fields(declaring)}
    return {declared.name: Setting(field, kind, declared, defaults[field]) for field, kind, declared in declarations(declaring)}


@cache
def all_settings() -> dict[str, Setting]:
    """Return every setting of the core, of the network limits and of secured listeners by Kafka's name."""
    from ..core.settings import Settings
    from ..security.settings import SecuritySettings
    from .limits import Limits

    return {**settings_of(Settings), **settings_of(Limits), **settings_of(SecuritySettings)}
