"""Write the results of scenarios as an HTML page: a line per scenario, a column per protocol and client, and in each cell the ownership map
of the run and its figures. The larger a figure is in its line, the darker is its ground."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape
from typing import Final

from groupmock.rounds import ownership_maps
from groupmock.text.html_document import document
from groupmock.timeline.forms.ownership import thumbnail

from . import table
from .catalogue import SCENARIOS, TOUR
from .play import GROUP, RUNNER, Row
from .results import ScenarioResult, ScenarioResults

FIGURES: Final = {"moved": "moved", "unowned_s": "s without owner", "undelivered_s": "s not delivered", "duplicates": "twice"}
"""Maps the fields of Figures that a cell shows to their units."""
DARKEST: Final = 0.5
STYLE: Final = """
:root { color-scheme: light dark; --ink: #16191d; --ground: #fff; --line: #d4d8dd; --quiet: #555b63; --heat: 230,159,0; }
@media (prefers-color-scheme: dark) { :root { --ink: #e8eaed; --ground: #15181c; --line: #363c44; --quiet: #a7adb5; } }
body { margin: 1rem; background: var(--ground); color: var(--ink); font: 14px/1.4 system-ui, sans-serif; }
h1 { font-size: 1.15rem; } p { color: var(--quiet); max-width: 60rem; }
.wide { overflow-x: auto; } table { border-collapse: collapse; }
th, td { border: 1px solid var(--line); padding: .4rem; vertical-align: top; }
th { text-align: left; font-weight: 600; } th small { display: block; font-weight: 400; color: var(--quiet); max-width: 14rem; }
td svg { display: block; border: 1px solid var(--line); } ul { list-style: none; margin: .3rem 0 0; padding: 0; font-size: .82rem; }
li { padding: 0 .3rem; white-space: nowrap; } .bad { color: #b3300a; max-width: 10rem; }
@media (prefers-color-scheme: dark) { .bad { color: #ff8f6b; } }
"""
ABOUT: Final = (
    "In each picture a line is a partition and the colour is the process that owns it: pale while the connection of the owner is gone and "
    "its session still runs, a red line while nobody owns it. Seconds are partition-seconds."
)


def picture(rows: Sequence[Row]) -> str:
    """Return the ownership map of the measured part of a run as a small picture."""
    at = {row["what"]: row["t"] for row in rows if row["kind"] == "client" and row["client"] == RUNNER and row["what"] in ("begin", "end")}
    found = ownership_maps(rows, GROUP)[GROUP]
    # A little of what was before belongs to the picture, because it shows from whom partitions move.
    return thumbnail(found, at["begin"] - (at["end"] - at["begin"]) // 12, at["end"])


def page(results: ScenarioResults) -> str:
    """Return the page as one HTML document."""
    columns = list(dict.fromkeys((each.protocol, each.client) for each in results.results))
    head = "".join(f'<th scope="col">{escape(table.TITLES[protocol])}<small>{escape(client)}</small></th>' for protocol, client in columns)
    lines = "".join(_line(results, name, about, columns) for name, about in ((each.name, each.about) for each in (*SCENARIOS, TOUR)))
    body = (
        f"<main><h1>What a restart, a death or scaling costs a consumer group</h1>"
        f"<p>{escape(table.sizes(results))}</p><p>{escape(ABOUT)}</p>"
        f'<div class="wide" tabindex="0" role="group" aria-label="Table of scenarios"><table><thead><tr><th scope="col">scenario</th>{head}'
        f"</tr></thead><tbody>{lines}</tbody></table></div></main>"
    )
    return document("groupmock scenario table", STYLE, body, drawn=True)


def _line(results: ScenarioResults, name: str, about: str, columns: Sequence[tuple[str, str]]) -> str:
    mine = {(each.protocol, each.client): each for each in results.results if each.scenario == name}
    if not mine:
        return ""
    highest = {field: max((each.figures or {}).get(field, 0.0) for each in mine.values()) for field in FIGURES}
    cells = "".join(f"<td>{''.join(_cell(mine[each], highest)) if each in mine else '&#8211;'}</td>" for each in columns)
    return f'<tr><th scope="row">{escape(name)}<small>{escape(about)}</small></th>{cells}</tr>'


def _cell(result: ScenarioResult, highest: dict[str, float]) -> Iterator[str]:
    yield result.picture
    for problem in [*([result.trouble.splitlines()[0]] if result.trouble else []), *result.broken]:
        yield f'<p class="bad">{escape(problem)}</p>'
    if result.figures is None:
        return
    yield "<ul>"
    for field, unit in FIGURES.items():
        value = result.figures[field]
        share = value / highest[field] if highest[field] else 0.0
        shown = f"{value:.1f}" if field.endswith("_s") else f"{value:g}"
        yield f'<li style="background: rgba(var(--heat),{share * DARKEST:.2f})">{shown} {unit}</li>'
    yield "</ul>"
