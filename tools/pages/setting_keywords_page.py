"""Write a type with the keywords by which `Broker` takes settings: all of Kafka's settings that groupmock has, with their types."""

from __future__ import annotations

from groupmock.config.declared import all_settings

LONGEST = 141
"""The longest line of the project's Python code, plus the line break before it."""
HEAD = '''"""Settings as keyword arguments of `Broker`. Written by tools/pages/setting_keywords_page.py (`make docs`): do not edit."""

from __future__ import annotations

from typing import Literal, TypedDict


class SettingKeywords(TypedDict, total=False):
    """Kafka's name with underscores for dots, without a leading `groupmock.`: `group_max_size=3`. docs/reference/settings.md has defaults
    and bounds."""
'''


def text() -> str:
    """Return the module, formatted as `ruff format` would."""
    return HEAD + "".join(_field(each.field, each.kind, each.declared.choices) for each in all_settings().values()) + "\n"


def _field(name: str, kind: type, choices: tuple[str, ...]) -> str:
    names = ", ".join(f'"{choice}"' for choice in choices)
    line = f"\n    {name}: " + (f"Literal[{names}]" if names else kind.__name__)
    return line if len(line) <= LONGEST else f"\n    {name}: Literal[\n        {names}\n    ]"
