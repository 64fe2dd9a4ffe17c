"""One model, four ways to show it: text for people, JSON for programs, JUnit XML for CI, one HTML page for whoever wants to browse."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from ..verdicts.report_model import Report
from .html import as_html
from .json import as_json
from .junit import as_junit
from .text import as_text

FORMS: Final[Mapping[str, Callable[[Report], str]]] = {"text": as_text, "json": as_json, "junit": as_junit, "html": as_html}
"""The forms of a report, by the word of `--report`."""
