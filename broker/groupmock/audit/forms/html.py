"""The HTML form of a report is one file that loads nothing else; names of peers appear only as escaped text."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from typing import Final

from ...text.html_document import document
from ...text.printable import one_line
from ..report import Report, ReportedFinding, RuleFacts, counts, link_of, number, told
from ..verdicts import BROKEN, KEPT, NOT_EXERCISED, NOT_JUDGED, SHOWN, UNKNOWN, VERDICTS, WAIVED, ClientFindings, Tally
from .text import where

PLACES: Final = 10
"""At most this many journals of a finding are listed."""
CLASSES: Final = {
    BROKEN: "broken", UNKNOWN: "unknown", WAIVED: "waived", KEPT: "kept", NOT_JUDGED: "unused", NOT_EXERCISED: "unused",
}  # fmt: skip
STYLE: Final = """
:root { color-scheme: light dark; --line: #8884; --soft: #8881; --kept: #116329; --broken: #b3141d; --unknown: #7d4e00; --quiet: #57606a; }
@media (prefers-color-scheme: dark) { :root { --kept: #56d364; --broken: #ff8f88; --unknown: #e3b341; --quiet: #9aa4ae; } }
* { box-sizing: border-box; }
body { font: 15px/1.5 system-ui, sans-serif; margin: 0 auto; max-width: 72rem; padding: 2rem 1.25rem 4rem; }
h1 { font-size: 1.5rem; margin: 0 0 .25rem; } h2 { font-size: 1.15rem; margin: 2.5rem 0 .75rem; } h3 { font-size: 1rem; margin: 0; }
p { margin: .25rem 0; } code { font: 13px/1.45 ui-monospace, monospace; overflow-wrap: anywhere; }
.kept { color: var(--kept); } .broken { color: var(--broken); } .unknown { color: var(--unknown); }
.unused, .waived, .quiet { color: var(--quiet); }
.counts { display: flex; flex-wrap: wrap; gap: .75rem; margin: 1.25rem 0; padding: 0; list-style: none; }
.counts li { border: 1px solid var(--line); border-radius: .5rem; padding: .5rem 1rem; }
.counts b { display: block; font-size: 1.6rem; line-height: 1.2; font-variant-numeric: tabular-nums; }
article { border-left: 4px solid var(--broken); background: var(--soft); margin: .9rem 0; padding: .6rem .9rem; }
article.warning { border-color: var(--unknown); } article.is-waived { border-color: var(--quiet); }
article dl { display: grid; grid-template-columns: 7.5rem 1fr; gap: .1rem .75rem; margin: .4rem 0 0; }
dt { color: var(--quiet); grid-column: 1; } dd { margin: 0; grid-column: 2; overflow-wrap: anywhere; }
summary { color: var(--quiet); cursor: pointer; }
table { border-collapse: collapse; width: 100%; } th, td { border-top: 1px solid var(--line); padding: .3rem .75rem .3rem 0; }
th, td { text-align: left; vertical-align: top; } thead th { border-top: 0; color: var(--quiet); font-weight: 600; }
@media (max-width: 40rem) { article dl { grid-template-columns: 1fr; } dt, dd { grid-column: 1; } }
@media (max-width: 40rem) { td:nth-child(4), th:nth-child(4) { display: none; } }
@media print { article { break-inside: avoid; } }
"""


def write(report: Report) -> str:
    return document("groupmock audit", STYLE, "\n".join(_body(report)))


def _body(report: Report) -> Iterator[str]:
    whole = report.whole
    yield f"<main><h1>Audit of {number(len(report.sources), 'journal')}</h1>"
    yield f'<p class="quiet">{number(whole.rows, "row")}, {number(whole.groups, "group")}, groupmock {escape(report.groupmock)}</p>'
    yield '<ul class="counts" aria-label="Rules by verdict">'
    for verdict, rules in counts(whole).items():
        yield f'<li class="{CLASSES[verdict]}"><b>{rules}</b>{verdict}</li>'
    yield "</ul>"
    for text in [*report.notices, *(text for each in report.sources for text in (*each.notices, *each.audit.holes))]:
        yield f'<p class="unknown">{_shown(text)}</p>'
    findings = report.findings()
    yield "<h2>Findings</h2>"
    yield from (_finding(found, report.rules[found.whole.rule]) for found in findings)
    if not findings:
        yield '<p class="kept">No rule was broken.</p>'
    yield "<h2>Rules</h2>"
    yield from _rules(report)
    yield "</main>"


def _finding(found: ReportedFinding, rule: RuleFacts) -> str:
    finding, waived = found.first, found.whole.waived is not None
    kind = "is-waived" if waived else finding.severity
    facts = {
        "right": finding.instead,
        "how to mend": rule.fix,
        "client": found.client,
        "how often": found.often,
        "members": found.members,
        "groups": ", ".join(found.whole.groups) + (" and more" if found.whole.more_groups else ""),
        "waived": finding.waived or "",
    }
    shown = "".join(f"<dt>{name}</dt><dd>{_shown(text)}</dd>" for name, text in facts.items() if text)
    places = "".join(f"<dd>{_shown(where(*each))}</dd>" for each in found.places[:PLACES])
    if (hidden := len(found.places) - PLACES) > 0:
        places += f"<dd>and {number(hidden, 'more journal')}</dd>"
    if (command := found.timeline()) is not None:
        places += f"<dt>timeline</dt><dd><code>{_shown(command)}</code></dd>"
    head = f"<h3><code>{finding.rule}</code> {_shown(finding.sentence)}</h3>"
    return f'<article class="{kind}">{head}<dl>{shown}<dt>where</dt>{places}</dl>{_occasions(found)}</article>'


def _occasions(found: ReportedFinding) -> str:
    """Return the single findings that are kept in full, folded, if there are several."""
    whole = found.whole
    singles = [
        (source, each)
        for source, _ in found.places
        for each in source.audit.rules[whole.rule].findings
        if (each.library, each.version, each.waived) == (whole.library, whole.version, whole.waived)
    ][:SHOWN]
    if len(singles) < 2:
        return ""
    items = "".join(f"<li>{_shown(where(source, ClientFindings.of(each)))}: {_shown(each.sentence)}</li>" for source, each in singles)
    return f"<details><summary>{len(singles)} of {whole.count} occasions</summary><ol>{items}</ol></details>"


def _rules(report: Report) -> Iterator[str]:
    yield "<table><thead><tr><th>verdict</th><th>rule</th><th>what it asks</th><th>counts</th></tr></thead><tbody>"
    tallies = report.whole.rules
    for code, tally in sorted(tallies.items(), key=lambda each: (VERDICTS.index(each[1].verdict), each[0])):
        yield _rule(report.rules[code], tally)
    yield "</tbody></table>"


def _rule(rule: RuleFacts, tally: Tally) -> str:
    link = next((found for source in rule.source if (found := link_of(source))), None)
    code = f'<a href="{escape(link)}"><code>{rule.code}</code></a>' if link else f"<code>{rule.code}</code>"
    verdict = f'<td class="{CLASSES[tally.verdict]}">{tally.verdict}</td>'
    return f"<tr>{verdict}<td>{code}</td><td>{_shown(rule.title)}</td><td>{_shown(told(tally))}</td></tr>"


def _shown(text: str) -> str:
    return escape(one_line(text))
