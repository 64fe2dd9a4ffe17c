"""What a broker said, for forms that people read: the broker is somebody else's, and its words must not steer a terminal or a page."""

from __future__ import annotations

from typing import Any

import msgspec

from groupmock.text.printable import one_line

from ..verdicts.report_model import Report


def readable(report: Report) -> Report:
    """The report with every text of it in one line, escaped where it cannot be seen."""
    return msgspec.convert(_readable(msgspec.to_builtins(report)), Report)


def _readable(value: Any) -> Any:
    if isinstance(value, str):
        return one_line(value)
    if isinstance(value, dict):
        return {_readable(name): _readable(each) for name, each in value.items()}
    return [_readable(each) for each in value] if isinstance(value, list | tuple) else value
