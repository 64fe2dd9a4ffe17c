"""The JUnit form of a report is for CI servers: a test suite for each journal, a test case for each rule."""

from __future__ import annotations

import re
from typing import Final
from xml.etree import ElementTree as XML

from ...text.printable import lines
from ..report import Report, RuleFacts, Source, reported, told
from ..verdicts import BROKEN, KEPT, NOT_JUDGED, UNKNOWN, WAIVED, Tally
from .text import finding_lines

UNPRINTABLE: Final = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def write(report: Report) -> str:
    """Write a test case for each rule. `failure`: broken, if the rule's severity is error; `error`: unknown; `skipped`: waived, not
    judged or not exercised. A warning passes, with its findings in `system-out`."""
    root = XML.Element("testsuites", name=f"groupmock audit {report.groupmock}")
    for source in report.sources:
        _suite(root, report, source)
    for name in ("tests", "failures", "errors", "skipped"):
        root.set(name, str(sum(int(suite.get(name, "0")) for suite in root)))
    XML.indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + XML.tostring(root, encoding="unicode") + "\n"


def _suite(root: XML.Element, report: Report, source: Source) -> None:
    suite = XML.SubElement(root, "testsuite", name=_clean(source.name))
    for code, tally in source.audit.rules.items():
        _case(suite, report.rules[code], source, tally)
    broken = [*source.notices, *source.audit.holes]
    if broken:
        case = XML.SubElement(suite, "testcase", classname="journal", name="the journal is whole")
        XML.SubElement(case, "error", message=_clean(broken[0]), type="incomplete").text = _clean("\n".join(broken))
    cases = suite.findall("testcase")
    suite.set("tests", str(len(cases)))
    for name, tag in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
        suite.set(name, str(sum(case.find(tag) is not None for case in cases)))


def _case(suite: XML.Element, rule: RuleFacts, source: Source, tally: Tally) -> None:
    case = XML.SubElement(suite, "testcase", classname="audit", name=f"{rule.code} {rule.title}", time="0.000")
    verdict, found = tally.verdict, [each for each in reported([source]) if each.whole.rule == rule.code]
    unseen = [f"{times} {NOT_JUDGED}: {reason}" for reason, times in tally.not_judged.items()]
    text = _clean("\n".join([*(line for each in found for line in finding_lines(each)), *unseen]))
    if verdict == BROKEN and rule.severity == "error":
        first = f"{found[0].first.sentence} ({found[0].client}, {found[0].often})" if found else rule.title
        XML.SubElement(case, "failure", message=_clean(first), type=verdict).text = f"{text}\nhow to mend it: {rule.fix}"
    elif verdict == UNKNOWN:
        XML.SubElement(case, "error", message=_clean(tally.crashed or verdict), type=verdict)
    elif verdict in (BROKEN, KEPT):
        if text:
            XML.SubElement(case, "system-out").text = text
    else:
        reason = found[0].whole.waived if verdict == WAIVED and found else None
        message = f"{verdict}: {reason}" if reason else told(tally) or verdict
        XML.SubElement(case, "skipped", message=_clean(message))


def _clean(text: str) -> str:
    """Escape control characters, which XML cannot contain, and invisible characters."""
    return UNPRINTABLE.sub("\ufffd", lines(text))
