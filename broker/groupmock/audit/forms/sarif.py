"""The SARIF form of a report is for code hosts: SARIF 2.1.0 (https://docs.oasis-open.org/sarif/sarif/v2.1.0/sarif-v2.1.0.html). A
finding stands at its rows: line of the journal file = number of the row + 1, because the header is line 1."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import PurePath
from typing import Any, Final
from urllib.parse import quote

import msgspec

from ...text.printable import ascii_json, one_line
from ..report import Report, ReportedFinding, RuleFacts, Source, link_of
from ..verdicts import NOT_JUDGED, Finding

SCHEMA: Final = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
RELATED: Final = 20
"""At most this many further journals of a finding are among its related locations."""
LEVELS: Final = {"error": "error", "warning": "warning"}


def write(report: Report) -> str:
    """Write one run, with every rule among the tool's rules, and waived findings as accepted suppressions."""
    codes = list(report.rules)
    run = {
        "tool": {
            "driver": {
                "name": "groupmock audit",
                "version": report.groupmock,
                "informationUri": "https://github.com/groupmock/groupmock",
                "rules": [_rule(each) for each in report.rules.values()],
            }
        },
        "columnKind": "unicodeCodePoints",
        "results": [_result(found, codes.index(found.whole.rule)) for found in report.findings()],
        "invocations": [
            {
                "executionSuccessful": not report.unknown,
                "toolExecutionNotifications": [*_notices(report), *_not_judged(report)],
            }
        ],
    }
    told = {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}
    return ascii_json(msgspec.json.format(msgspec.json.encode(told), indent=1)).decode() + "\n"


def _notices(report: Report) -> Iterator[dict[str, Any]]:
    for text in [*(text for each in report.sources for text in (*each.notices, *each.audit.holes)), *report.notices]:
        yield {"level": "warning", "message": {"text": one_line(text)}}


def _not_judged(report: Report) -> Iterator[dict[str, Any]]:
    """Yield a notification for each reason why occasions of a rule were not judged, because a result would be shown as an alert."""
    for index, (code, tally) in enumerate(report.whole.rules.items()):
        for reason, times in tally.not_judged.items():
            text = one_line(f"{code}: {times} {NOT_JUDGED}: {reason}")
            yield {"level": "note", "message": {"text": text}, "associatedRule": {"id": code, "index": index}}


def _rule(rule: RuleFacts) -> dict[str, Any]:
    help_uri = next((link for source in rule.source if (link := link_of(source))), None)
    return {
        "id": rule.code,
        "name": rule.code.replace("-", ""),
        "shortDescription": {"text": rule.title},
        "fullDescription": {"text": f"{rule.what} {rule.why}"},
        "help": {"text": f"{rule.fix} (groupmock explain {rule.code})"},
        "defaultConfiguration": {"level": LEVELS[rule.severity]},
        **({"helpUri": help_uri} if help_uri else {}),
    }


def _result(found: ReportedFinding, index: int) -> dict[str, Any]:
    (source, _), finding = found.places[0], found.first
    occasions = [(source, finding, row) for row in finding.rows[:-1]]
    occasions += [(other, each.first, row) for other, each in found.places[1 : 1 + RELATED] for row in each.first.rows[-1:]]
    result = {
        "ruleId": finding.rule,
        "ruleIndex": index,
        "level": LEVELS[finding.severity],
        "message": {"text": one_line(f"{finding.sentence} ({found.client}, {found.often}). Right: {finding.instead}")},
        "occurrenceCount": found.whole.count,
        "locations": [_location(source, finding, row) for row in finding.rows[-1:] or (0,)],
        "relatedLocations": [{"id": number, **_location(*each)} for number, each in enumerate(occasions, 1)],
        # The fingerprint is equal for the same mistake of the same library in the next run, so that a code host does not report the mistake
        # as new.
        "partialFingerprints": {"groupmock/v2": one_line(f"{finding.rule} {found.whole.library or ''}")},
        "properties": {
            "library": found.whole.library, "version": found.whole.version, "members": found.whole.members, "groups": found.whole.groups,
            "firstT": finding.t, "lastT": found.places[-1][1].last.t, "timeline": found.timeline(),
        },
    }  # fmt: skip
    if finding.waived is not None:
        result["suppressions"] = [{"kind": "external", "status": "accepted", "justification": finding.waived}]
    return result


def _location(source: Source, finding: Finding, row: int) -> dict[str, Any]:
    return {
        "physicalLocation": {"artifactLocation": {"uri": _uri(source.name)}, "region": {"startLine": row + 1}},
        "logicalLocations": [{"name": one_line(finding.member or finding.group or "connection"), "kind": "member"}],
    }


def _uri(name: str) -> str:
    """Return the name of a journal relative to the working directory. An absolute path becomes a file URI (SARIF 3.4.3: no leading
    slash)."""
    return PurePath(name).as_uri() if PurePath(name).is_absolute() else quote(name)
