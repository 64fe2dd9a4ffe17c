"""Measurements and records as data, from which pages are written and tests take expectations."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

RECORDS: Final = Path(__file__).resolve().parent
SHORT: Final = 240
"""The greatest length of an object with nested objects that is written as one line of JSON."""
LONG: Final = 1000
"""The greatest length of an object without nested objects that is written as one line of JSON."""


def save(file: Path, value: Any) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(one_object_a_line(value) + "\n", encoding="utf-8")


def one_object_a_line(value: Any, indent: str = "") -> str:
    """Format JSON so that a diff shows what changed: an entry of a list is a line, and so is an object of moderate size."""
    line = json.dumps(value, ensure_ascii=False)
    entries: list[str] = []
    if isinstance(value, list) and any(isinstance(each, dict | list) for each in value):
        entries = [json.dumps(each, ensure_ascii=False) for each in value]
    elif isinstance(value, dict) and len(line) > (SHORT if any(isinstance(each, dict) for each in value.values()) else LONG):
        entries = [f"{json.dumps(key, ensure_ascii=False)}: {one_object_a_line(each, indent + ' ')}" for key, each in value.items()]
    if not entries:
        return line
    return f"{line[0]}\n" + ",\n".join(f"{indent} {entry}" for entry in entries) + f"\n{indent}{line[-1]}"
