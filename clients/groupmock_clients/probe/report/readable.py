"""Escape a report's texts for people, because texts from a foreign broker must not control a terminal or a page."""

from __future__ import annotations

from typing import Any

import msgspec

from groupmock.text.printable import one_line

from ..verdicts.report_model import Report


def readable(report: Report) -> Report:
    """Return the report with each text in one line and unprintable characters escaped."""
    return msgspec.convert(_readable(msgspec.to_builtins(report)), Report)


def _readable(value: Any) -> Any:
    if isinstance(value, str):
        return one_line(value)
    if isinstance(value, dict):
        return {_readable(name): _readable(each) for name, each in value.items()}
    return [_readable(each) for each in value] if isinstance(value, list | tuple) else value
