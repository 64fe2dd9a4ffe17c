"""The report of an audit can be written in several forms, each by a file with a function `write(report) -> str`."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any, Final

FORMS: Final = ("text", "json", "junit", "sarif", "html")


def written(form: str, report: Any) -> str:
    """Return the report in the output form with that name."""
    write: Callable[[Any], str] = import_module(f"{__name__}.{form}").write
    return write(report)
