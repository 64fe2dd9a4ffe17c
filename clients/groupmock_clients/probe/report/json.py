"""Write the report as JSON: the model as it is, indented, in printable ASCII."""

from __future__ import annotations

import msgspec

from groupmock.text.printable import ascii_json

from ..verdicts.report_model import Report


def as_json(report: Report) -> str:
    """Return the report as one JSON object and a line end."""
    return ascii_json(msgspec.json.format(msgspec.json.encode(report), indent=1)).decode() + "\n"


def from_json(text: str | bytes) -> Report:
    """Read a report from JSON. Raises msgspec.ValidationError."""
    return msgspec.json.decode(text, type=Report)
