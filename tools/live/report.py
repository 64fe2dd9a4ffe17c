"""Write the report of `make live`: text, JUnit XML and one self-contained HTML page."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from html import escape
from typing import Final
from xml.etree import ElementTree as XML

from groupmock.text.html_document import document
from groupmock_clients.probe.report.html import STYLE
from groupmock_clients.probe.report.junit import UNPRINTABLE

from .tries import BROKEN, FAILED, MISSING, OK, SKIPPED, UNSTABLE, VERDICTS, Case

Results = Mapping[str, Sequence[Case]]
"""Maps a part of `make live` to its cases."""
CLASSES: Final = {OK: "kept", BROKEN: "broken", UNSTABLE: "unknown", MISSING: "na", SKIPPED: "na"}
"""Maps a verdict to the CSS class of a similar verdict in the probe's style sheet."""


def as_text(results: Results) -> str:
    """Format a line per part, then each case that is not ok with its output."""
    lines = [f"{'part':16} {'seconds':>8}  {'cases':>5}  what became of them"]
    for part, cases in results.items():
        seconds = sum(each.seconds for each in cases)
        lines.append(f"{part:16} {seconds:8.0f}  {len(cases):5}  {_counts(cases)}")
    for part, case in _by_verdict(results):
        if case.verdict not in (OK, SKIPPED):
            lines += ["", f"{case.verdict.upper()} {part}: {case.name}", *(f"    {line}" for line in case.text.splitlines()[-40:])]
    everything = [case for cases in results.values() for case in cases]
    return "\n".join([*lines, "", f"all together: {_counts(everything)}", ""])


def _counts(cases: Iterable[Case]) -> str:
    counted = Counter(each.verdict for each in cases)
    return ", ".join(f"{counted[verdict]} {verdict}" for verdict in VERDICTS if counted[verdict]) or "nothing was tried"


def _by_verdict(results: Results) -> list[tuple[str, Case]]:
    found = [(part, case) for part, cases in results.items() for case in cases]
    return sorted(found, key=lambda each: VERDICTS.index(each[1].verdict))


def as_junit(results: Results) -> str:
    """Format the results as JUnit XML. `failure` is broken, with a `rerunFailure` for each further try. `flakyFailure`, as Surefire
    writes it, is a failed try of a case that passed in another try: readers that know it show the case as unstable, others as passed.
    `skipped` is skipped or missing."""
    root = XML.Element("testsuites", name="make live")
    for part, cases in results.items():
        suite = XML.SubElement(root, "testsuite", name=part, time=f"{sum(each.seconds for each in cases):.3f}")
        for case in cases:
            _testcase(suite, part, case)
        for name, tag in (("tests", "testcase"), ("failures", "testcase/failure"), ("skipped", "testcase/skipped")):
            suite.set(name, str(len(suite.findall(tag))))
    XML.indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + XML.tostring(root, encoding="unicode") + "\n"


def _testcase(suite: XML.Element, part: str, case: Case) -> None:
    element = XML.SubElement(suite, "testcase", classname=part, name=_clean(case.name), time=f"{case.seconds:.3f}")
    if case.verdict in (SKIPPED, MISSING):
        XML.SubElement(element, "skipped", message=_clean(f"{case.verdict}: {case.text}"))
    failed = [each for each in case.tries if each.outcome == FAILED]
    tags = ["flakyFailure"] * len(failed) if case.verdict == UNSTABLE else ["failure", *["rerunFailure"] * (len(failed) - 1)]
    for each, tag in zip(failed, tags, strict=bool(failed)):
        XML.SubElement(element, tag, message=_clean(each.text.strip().rpartition("\n")[2]), type=case.verdict).text = _clean(each.text)


def _clean(text: str) -> str:
    """Replace control characters, which XML cannot express."""
    return UNPRINTABLE.sub("\ufffd", text)


def as_html(results: Results) -> str:
    """Format one page in the probe's style, with broken and unstable cases first."""
    return document("groupmock: make live", STYLE, "\n".join(_body(results)))


def _body(results: Results) -> Iterator[str]:
    counted = Counter(case.verdict for cases in results.values() for case in cases)
    yield "<h1>make live</h1>"
    yield '<p class="quiet">What the machine’s load or chance may decide: up to three tries each. Nothing here refuses a change.</p>'
    yield '<section class="counts" aria-label="Cases by verdict">'
    yield from (f'<div class="{CLASSES[each]}"><b>{counted[each]}</b>{each}</div>' for each in VERDICTS)
    yield "</section>\n<h2>Parts</h2>\n<table><tr><th>part<th>seconds<th>cases<th>what became of them</tr>"
    for part, cases in results.items():
        cells = (part, f"{sum(each.seconds for each in cases):.0f}", str(len(cases)), _counts(cases))
        yield f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in cells)}</tr>"
    yield "</table>\n<h2>Cases</h2>"
    for part, case in _by_verdict(results):
        yield _details(part, case)


def _details(part: str, case: Case) -> str:
    said = f"<pre>{escape(case.text)}</pre>" if case.text else f'<p class="quiet">{case.seconds:.1f} s</p>'
    head = f'<span class="verdict {CLASSES[case.verdict]}">{case.verdict}</span><code>{escape(part)}</code><code>{escape(case.name)}</code>'
    return f"<details{' open' * (case.verdict == BROKEN)}><summary>{head}</summary>{said}</details>"
