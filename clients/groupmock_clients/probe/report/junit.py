"""Write the report as JUnit XML: a test suite of rows and one of exchanges, and one of the server if it died."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final
from xml.etree import ElementTree as XML

from ..verdicts.outcome import BROKEN, KEPT
from ..verdicts.report_model import DeathFact, ExchangeResult, Report, RowResult, told
from .readable import readable

UNPRINTABLE: Final = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def as_junit(report: Report) -> str:
    """Return JUnit XML in which a broken row (rule) is a `failure`, and an unknown or not applicable one is `skipped` with the reason."""
    report = readable(report)
    root = XML.Element("testsuites", name=f"groupmock probe {report.broker.address}", time=f"{report.seconds:.3f}")
    _suite(root, "rows", report, [_row(each) for each in report.rows])
    _suite(root, "exchanges", report, [_exchange(each) for each in report.exchanges])
    if report.deaths:
        _suite(root, "server", report, [_died(number, each) for number, each in enumerate(report.deaths, 1)])
    for name in ("tests", "failures", "skipped"):
        root.set(name, str(sum(int(suite.get(name, "0")) for suite in root)))
    XML.indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + XML.tostring(root, encoding="unicode") + "\n"


def _suite(root: XML.Element, name: str, report: Report, cases: Iterable[XML.Element]) -> None:
    suite = XML.SubElement(root, "testsuite", name=name, timestamp=report.started, hostname=report.broker.address, errors="0")
    properties = XML.SubElement(suite, "properties")
    facts = {"release": report.broker.release, "sure": report.broker.sure, **report.broker.settings}
    for key, value in facts.items():
        XML.SubElement(properties, "property", name=key, value=_clean(value))
    suite.extend(cases)
    found = suite.findall("testcase")
    suite.set("tests", str(len(found)))
    suite.set("failures", str(sum(each.find("failure") is not None for each in found)))
    suite.set("skipped", str(sum(each.find("skipped") is not None for each in found)))
    suite.set("time", f"{sum(float(each.get('time', '0')) for each in found):.3f}")


def _row(row: RowResult) -> XML.Element:
    case = XML.Element("testcase", classname="rows", name=f"{row.row} {_clean(row.says)}".strip(), time="0.000")
    why = f"\nwhy it matters: {row.why} ({row.kip or row.place})" if row.why else ""
    _judge(case, row.verdict, row.detail, row.detail + why)
    return case


def _exchange(result: ExchangeResult) -> XML.Element:
    case = XML.Element("testcase", classname="exchanges", name=f"{result.name} {_clean(result.title)}", time=f"{result.seconds:.3f}")
    _judge(case, result.verdict, result.detail, "\n".join(result.transcript))
    return case


def _died(number: int, death: DeathFact) -> XML.Element:
    case = XML.Element("testcase", classname="server", name=f"the server stays up ({number})", time="0.000")
    _judge(case, BROKEN, told(death), "\n".join(death.dialogues))
    return case


def _judge(case: XML.Element, verdict: str, detail: str, text: str) -> None:
    if verdict == BROKEN:
        XML.SubElement(case, "failure", message=_clean(detail), type="broken").text = _clean(text)
    elif verdict != KEPT:
        XML.SubElement(case, "skipped", message=_clean(f"{verdict}: {detail}"))


def _clean(text: str) -> str:
    """Replace control characters, which XML cannot express."""
    return UNPRINTABLE.sub("\ufffd", text)
