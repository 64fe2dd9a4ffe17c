"""The JSON form of a report is for programs and has all of its data."""

from __future__ import annotations

from typing import Any

import msgspec

from ...text.printable import ascii_json
from ..report import Report, ReportedFinding


def write(report: Report) -> str:
    """Write one JSON object: `verdict`, `findings` (one for each rule and client library), `rules` with their texts, and `sources` with the
    verdict, the counts and the single findings of each rule."""
    told = msgspec.to_builtins(report)
    told["verdict"] = report.whole.verdict
    told["findings"] = [_finding(each) for each in report.findings()]
    for source, plain in zip(report.sources, told["sources"], strict=True):
        for code, tally in source.audit.rules.items():
            plain["audit"]["rules"][code]["verdict"] = tally.verdict
    return ascii_json(msgspec.json.format(msgspec.json.encode(told), indent=1)).decode() + "\n"


def _finding(found: ReportedFinding) -> dict[str, Any]:
    plain: dict[str, Any] = msgspec.to_builtins(found.whole)
    del plain["last"]  # Times of different journals cannot be compared.
    plain["first"] = msgspec.to_builtins(found.first)
    journals = [{"name": source.name, "count": each.count, "first_t": each.first.t, "last_t": each.last.t} for source, each in found.places]
    return plain | {"journals": journals, "timeline": found.timeline()}
