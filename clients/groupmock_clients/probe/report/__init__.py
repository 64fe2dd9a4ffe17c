"""Reports of a probe: text for people, JSON for programs, JUnit XML for CI, and one HTML page for browsing."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from ..verdicts.report_model import Report
from .html import as_html
from .json import as_json
from .junit import as_junit
from .text import as_text

FORMS: Final[Mapping[str, Callable[[Report], str]]] = {"text": as_text, "json": as_json, "junit": as_junit, "html": as_html}
"""Maps each value of `--report` to the function that formats the report."""
