"""The keywords by which `Broker` takes settings, as a type: every one of Kafka's settings that groupmock has, with its type."""

from __future__ import annotations

from groupmock.config import all_settings

MOST = 100
HEAD = '''"""Settings as keyword arguments of `Broker`. Written by tools/pages/setting_keywords_page.py (`make docs`): do not edit."""

from __future__ import annotations

from typing import Literal, TypedDict


class SettingKeywords(TypedDict, total=False):
    """Kafka's name with underscores for dots, without a leading `groupmock.`: `group_max_size=3`. docs/reference/settings.md has defaults
    and bounds."""
'''


def text() -> str:
    """The module."""
    return HEAD + "".join(f"\n    {each.field}: {_type(each.kind, each.declared.choices)}" for each in all_settings().values()) + "\n"


def _type(kind: type, choices: tuple[str, ...]) -> str:
    names = ", ".join(f'"{choice}"' for choice in choices)
    if not names:
        return kind.__name__
    reason = "  # noqa: E501  # Java's class names" if len(names) > MOST else ""
    return f"Literal[{names}]{reason}"
