"""The heat table of `groupmock scenario table --report html`: a page with a line per scenario and a column per protocol and client.

Each cell has the ownership map of one run, the moves, the time without an owner and the generations. The background of a figure says how
much that is beside the other protocols in the same scenario; the numbers say the same without colour.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from html import escape
from typing import Final

from groupmock.text.html_document import document
from groupmock.text.printable import one_line

from .catalogue import SCENARIOS, TOUR
from .results import ScenarioResult, ScenarioResults
from .table import TITLES, sizes

LEVELS: Final = 4
"""The number of shades above none."""
MEASURES: Final = {
    "moved": ("moved", "partitions that another process got than had them before"),
    "unowned_s": ("s unowned", "partition-seconds without an owner"),
    "generations": ("generations", "generations, or in consumer groups epochs, that the group went through"),
}
"""Maps a field of Figures to its unit in a cell, and to what the legend says about it."""
OF_PICTURES: Final = (
    "In each picture a line is a partition and the colour is the process that owns it: pale while the connection of the owner is gone and "
    "its session still runs, a red line while nobody owns it."
)
Place = tuple[str, str, str]
"""The scenario, protocol and client of a cell."""
STYLE: Final = """
:root { color-scheme: light dark; --paper: #fff; --ink: #1a1a1a; --quiet: #555b63; --line: #d4d8dd; --bad: #a3161f;
--h1: #fdf0e0; --h2: #fbd9b0; --h3: #f7b774; --h4: #ee9440; }
@media (prefers-color-scheme: dark) { :root { --paper: #16181a; --ink: #ececec; --quiet: #a7adb5; --line: #3a3d40; --bad: #ff9a92;
--h1: #33261a; --h2: #4d3518; --h3: #6b4415; --h4: #8a5310; } }
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 1.5rem 1.25rem 3rem; background: var(--paper); color: var(--ink); font: 15px/1.45 system-ui, sans-serif; }
h1 { font-size: 1.5rem; margin: 0 0 .25rem; } p { max-width: 60rem; margin: .25rem 0 .75rem; } .quiet { color: var(--quiet); }
.key { display: flex; flex-wrap: wrap; gap: .4rem 1.25rem; list-style: none; margin: 0 0 1rem; padding: 0; }
.wide { overflow-x: auto; } .wide:focus-visible { outline: 2px solid; }
table { border-collapse: collapse; } th, td { border: 1px solid var(--line); padding: .35rem .5rem; text-align: left; vertical-align: top; }
thead th { white-space: nowrap; vertical-align: bottom; } th .quiet { display: block; font-weight: 400; font-size: .8125rem; }
tbody th { min-width: 12rem; max-width: 16rem; position: sticky; left: 0; background: var(--paper); }
td ul { list-style: none; margin: 0; padding: 0; } td li { padding: .05rem .4rem; white-space: nowrap; font-variant-numeric: tabular-nums; }
.most { font-weight: 700; } .bad { color: var(--bad); } td .map { margin-bottom: .3rem; } .map svg { display: block; }
li, .shade { -webkit-print-color-adjust: exact; print-color-adjust: exact; } .shade { padding: 0 .5rem; }
.h1 { background: var(--h1); } .h2 { background: var(--h2); } .h3 { background: var(--h3); } .h4 { background: var(--h4); }
@page { size: landscape; }
@media print { body { padding: 0; } .wide { overflow: visible; } tr { break-inside: avoid; } table { width: 100%; table-layout: fixed; }
table, th .quiet { font-size: 7pt; } th, td { padding: 2pt; } tbody th { position: static; min-width: 0; } td li { white-space: normal; }
.map svg { width: 100%; height: auto; } }
""".strip()


def page(results: ScenarioResults) -> str:
    """Return the page as one HTML document."""
    found = {(each.scenario, each.protocol, each.client): each for each in results.results}
    columns = [(name, client) for name in TITLES for client in dict.fromkeys(each[2] for each in found if each[1] == name)]
    drawn = any(each.picture for each in results.results)
    body = [
        "<main><h1>Scenarios: what each protocol costs</h1>",
        f'<p class="quiet">{escape(one_line(sizes(results)))}</p>',
        f"<p>A stronger colour is more than elsewhere in the same line: {''.join(_shades())}. The most of a line is <b>bold</b>.</p>",
        '<ul class="key">',
        *(f"<li><b>{unit}</b> {about}</li>" for unit, about in MEASURES.values()),
        "</ul>",
        *([f"<p>{OF_PICTURES}</p>"] if drawn else []),
        '<div class="wide" role="region" tabindex="0" aria-label="Scenarios by protocol"><table>',
        f"<thead><tr><th>scenario</th>{''.join(_head(*column) for column in columns)}</tr></thead><tbody>",
        *(line for scenario in (*SCENARIOS, TOUR) for line in _line(scenario.name, scenario.about, columns, found)),
        "</tbody></table></div></main>",
    ]
    return document("groupmock scenarios", STYLE, "\n".join(body), drawn=drawn)


def _shades() -> Iterator[str]:
    for level in range(LEVELS + 1):
        yield f'<span class="shade h{level}">{("none", "a little", "some", "much", "the most")[level]}</span>'


def _head(protocol: str, client: str) -> str:
    return f'<th scope="col">{escape(TITLES[protocol])}<span class="quiet">{escape(client)}</span></th>'


def _line(
    scenario: str, about: str, columns: Sequence[tuple[str, str]], found: Mapping[Place, ScenarioResult]
) -> Iterator[str]:  # fmt: skip
    places = [(scenario, *column) for column in columns]
    if not any(place in found for place in places):
        return
    figures = [result.figures for place in places if (result := found.get(place)) is not None and result.figures is not None]
    most = {name: _most([each[name] for each in figures]) for name in MEASURES}
    yield f'<tr><th scope="row">{scenario}<span class="quiet">{escape(about)}</span></th>'
    for place in places:
        yield f"<td>{_cell(found.get(place), most)}</td>"
    yield "</tr>"


def _most(values: Sequence[float]) -> float:
    """Return the greatest value, or infinity if the values do not differ, because then no cell of the line stands out."""
    return max(values) if len(set(values)) > 1 else math.inf


def _cell(result: ScenarioResult | None, most: Mapping[str, float]) -> str:
    if result is None:
        return '<span class="quiet">not played</span>'
    if result.figures is None:
        return f'<span class="bad">{_text((result.trouble or "unknown").splitlines()[0])}</span>'
    shown = f'<div class="map">{result.picture}</div>' if result.picture else ""
    broken = "".join(f'<div class="bad">{_text(each)}</div>' for each in result.broken)
    return f"{shown}<ul>{''.join(_figure(name, result.figures[name], most[name]) for name in MEASURES)}</ul>{broken}"


def _figure(name: str, value: float, most: float) -> str:
    level = level_of(value, most)
    unit = MEASURES[name][0].removesuffix("s") if name == "generations" and value == 1 else MEASURES[name][0]
    number = f"{value:.1f}" if name.endswith("_s") else f"{value:g}"
    return f'<li class="h{level}{" most" if level == LEVELS and value == most else ""}">{number} {unit}</li>'


def level_of(value: float, most: float) -> int:
    """Return the shade of a value, from 0 (nothing) to LEVELS, beside the greatest value of its line."""
    return math.ceil(LEVELS * value / most)


def _text(text: str) -> str:
    return escape(one_line(text))
