"""Write the report as one self-contained HTML page without scripts or fonts from elsewhere."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from typing import Final

from groupmock.text.html_document import document

from ..verdicts.outcome import BROKEN, KEPT, MAY_BE_RELEASE, NOT_APPLICABLE, UNKNOWN, VERDICTS
from ..verdicts.report_model import BrokenDialogue, ExchangeResult, Report, RowResult, told
from .readable import readable

CLASSES: Final = {KEPT: "kept", BROKEN: "broken", MAY_BE_RELEASE: "newer", UNKNOWN: "unknown", NOT_APPLICABLE: "na"}
SHOWN_FIRST: Final = {BROKEN: 0, MAY_BE_RELEASE: 1}
STYLE: Final = """
:root { color-scheme: light dark; --line: #8884; --soft: #8881; }
:root { --kept: #1a7f37; --broken: #cf222e; --newer: #8250df; --unknown: #9a6700; --na: #6e7781; }
@media (prefers-color-scheme: dark) { :root { --kept: #3fb950; --broken: #ff7b72; --newer: #d2a8ff; --unknown: #d29922; --na: #8b949e; } }
* { box-sizing: border-box; }
body { font: 15px/1.5 system-ui, sans-serif; margin: 0 auto; max-width: 76rem; padding: 2rem 1.25rem 4rem; }
h1 { font-size: 1.5rem; margin: 0 0 .25rem; } h2 { font-size: 1.1rem; margin: 2.5rem 0 .75rem; }
p { margin: .25rem 0; } .quiet { color: var(--na); }
.counts { display: grid; gap: .75rem; grid-template-columns: repeat(auto-fit, minmax(9rem, 1fr)); margin: 1.5rem 0; }
.counts div { border: 1px solid var(--line); border-radius: .5rem; padding: .75rem 1rem; }
.counts b { display: block; font-size: 1.75rem; line-height: 1.2; font-variant-numeric: tabular-nums; }
.kept { color: var(--kept); } .broken { color: var(--broken); } .newer { color: var(--newer); }
.unknown { color: var(--unknown); } .na { color: var(--na); }
.filter { display: flex; flex-wrap: wrap; gap: 1rem; margin: 0 0 .75rem; }
details { border-top: 1px solid var(--line); padding: .4rem .25rem; } details:last-of-type { border-bottom: 1px solid var(--line); }
summary { cursor: pointer; display: grid; gap: 0 1rem; grid-template-columns: 7.5rem 13rem 1fr; }
summary::marker { content: ""; } summary:hover { background: var(--soft); } summary code { overflow-wrap: anywhere; }
details > :not(summary) { margin-left: 8.5rem; } .verdict { font-weight: 600; }
table { border-collapse: collapse; width: 100%; } td, th { text-align: left; vertical-align: top; padding: .15rem .75rem .15rem 0; }
th { font-weight: 600; white-space: nowrap; width: 6rem; } td { overflow-wrap: anywhere; }
code, pre { font: 13px/1.45 ui-monospace, monospace; }
pre { background: var(--soft); overflow-x: auto; padding: .75rem; border-radius: .375rem; }
.case { border-left: 3px solid var(--broken); margin: .75rem 0 .75rem 8.5rem; padding-left: .75rem; }
@media (max-width: 48rem) { summary { grid-template-columns: 1fr; } details > :not(summary), .case { margin-left: 0; } }
""" + "\n".join(f"body:has(#show-{name}:not(:checked)) details.is-{name} {{ display: none; }}" for name in CLASSES.values())


def as_html(report: Report) -> str:
    report = readable(report)
    return document(f"groupmock probe: {report.broker.address}", STYLE, "\n".join(_body(report)))


def _body(report: Report) -> Iterator[str]:
    broker = report.broker
    shown = [verdict for verdict in VERDICTS if broker.newer or verdict != MAY_BE_RELEASE]
    yield f"<h1>{escape(broker.address)} against Apache Kafka {escape(broker.release)}</h1>"
    when = f"{report.started}, {report.seconds:.0f} s, groupmock {report.groupmock}"
    yield f'<p class="quiet">{escape(broker.sure)}. {escape(when)}</p>'
    yield f'<section class="counts" aria-label="Rows by verdict">{"".join(_count(report, verdict) for verdict in shown)}</section>'
    for death in report.deaths:
        yield f'<p class="broken">{escape(told(death))}</p>'
    yield '<div class="filter" role="group" aria-label="Show">'
    for verdict in shown:
        yield f'<label class="{CLASSES[verdict]}"><input type="checkbox" id="show-{CLASSES[verdict]}" checked> {verdict}</label>'
    yield "</div>"
    results = {each.name: each for each in report.exchanges}
    yield "<h2>Rows</h2>"
    for row in sorted(report.rows, key=lambda each: SHOWN_FIRST.get(each.verdict, 2)):
        yield from _row(row, results)
    yield "<h2>The broker's settings</h2><table>"
    for name, value in broker.settings.items():
        note = ' <span class="quiet">measured</span>' if name in broker.measured else ""
        yield f"<tr><td><code>{escape(name)}</code></td><td><code>{escape(value)}</code>{note}</td></tr>"
    yield "</table>"
    if report.left_behind:
        yield f"<p>Left behind, could not be deleted: {escape(', '.join(report.left_behind))}</p>"


def _count(report: Report, verdict: str) -> str:
    rows, exchanges = report.counts["rows"][verdict], report.counts["exchanges"][verdict]
    return f'<div class="{CLASSES[verdict]}"><b>{rows}</b>rows {verdict}<br><span class="quiet">{exchanges} dialogues</span></div>'


def _row(row: RowResult, results: dict[str, ExchangeResult]) -> Iterator[str]:
    kind = CLASSES[row.verdict]
    opened = " open" if row.verdict in SHOWN_FIRST else ""
    yield f'<details class="is-{kind}"{opened}><summary><span class="verdict {kind}">{row.verdict}</span>'
    yield f"<code>{escape(row.row)}</code><span>{escape(row.says)}</span></summary>"
    facts = {"why": row.why, "from": ", ".join(part for part in (row.kip, row.place) if part)}
    facts["reason"] = row.detail
    facts["dialogues"] = f"{row.kept} of {row.of} kept" if row.of else ""
    yield _table(facts)
    for name in row.exchanges:
        broken = results[name].broken
        if broken is not None:
            yield from _case(results[name], broken)
    yield "</details>"


def _case(result: ExchangeResult, broken: BrokenDialogue) -> Iterator[str]:
    yield f'<div class="case"><p><b>{escape(result.name)}</b> {escape(result.title)}</p>'
    yield _table({"at": f"{broken.place}  {broken.step}", "sent": broken.sent, "expected": broken.expected, "seen": broken.seen})
    yield "".join(f"<p>{escape(problem)}</p>" for problem in broken.problems)
    if result.transcript:
        yield f"<pre>{escape(chr(10).join(result.transcript))}</pre>"
    yield "</div>"


def _table(facts: dict[str, str]) -> str:
    rows = "".join(f"<tr><th>{escape(name)}</th><td>{escape(text)}</td></tr>" for name, text in facts.items() if text)
    return f"<table>{rows}</table>"
