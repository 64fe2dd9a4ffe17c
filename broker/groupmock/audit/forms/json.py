"""The JSON form of a report is for programs and has all of its data."""

from __future__ import annotations

import msgspec

from ...text.printable import ascii_json
from ..report import Report


def write(report: Report) -> str:
    """Write one JSON object: `verdict`, `rules` with their texts, `sources` with verdict, counts and findings of each rule."""
    told = msgspec.to_builtins(report)
    told["verdict"] = report.whole.verdict
    for source, plain in zip(report.sources, told["sources"], strict=True):
        for code, tally in source.audit.rules.items():
            plain["audit"]["rules"][code]["verdict"] = tally.verdict
    return ascii_json(msgspec.json.format(msgspec.json.encode(told), indent=1)).decode() + "\n"
