"""The HTML form of a picture is one page that loads nothing else. Its own script (`assets`) draws the scene, which is embedded as
compressed JSON; names of peers are only text."""

from __future__ import annotations

import zlib
from base64 import b64encode
from functools import cache
from html import escape
from importlib.resources import files
from typing import Final

import msgspec

from ...text.html_document import document
from ...text.printable import ascii_json
from ..model import Timeline
from ..scene import Scene, scene_of
from ..signs import DARK, FORCED, LIGHT
from .svg import legend

ASSETS: Final = files("groupmock.timeline") / "assets"
SCRIPTS: Final = ("1_rows.js", "2_draw.js", "3_page.js")
TOOLS: Final = """
<div class="tools" role="group" aria-label="View">
<button type="button" id="out" aria-label="Zoom out">&minus;</button>
<button type="button" id="in" aria-label="Zoom in">+</button>
<button type="button" id="left" aria-label="Earlier">&larr;</button>
<button type="button" id="right" aria-label="Later">&rarr;</button>
<button type="button" id="home">Whole run</button>
<button type="button" id="compact" aria-pressed="false">Low rows</button>
<button type="button" id="as-table" aria-pressed="false">Table</button>
<button type="button" id="theme">Light / dark</button>
<button type="button" id="save-svg">Save SVG</button>
<button type="button" id="save-png">Save PNG</button>
<label>Group <select id="group"><option value="">all groups</option></select></label>
<label>Order <select id="order"><option value="client">by client</option><option value="arrival">as they came</option></select></label>
<label>Filter <input type="search" id="filter" autocomplete="off" spellcheck="false"></label>
<span class="quiet" id="count" role="status"></span>
<span class="quiet" id="span"></span>
</div>
"""
SECTIONS: Final = f"""
<section id="picture" aria-label="Picture">
<div id="stage">
<div id="scroll" tabindex="0" role="group" aria-label="Lanes">
<div id="inner">
<div id="held"><div id="corner">time of the run</div></div>
<div id="under"><canvas id="canvas" role="img" aria-label="Lanes over time; the table has the same facts"></canvas></div>
<ol id="labels"></ol>
</div>
</div>
<div id="tip" hidden></div>
<aside id="details" aria-label="Details" tabindex="0"><h2 id="what">Details</h2><dl id="facts"></dl></aside>
</div>
<div id="paper"></div>
<ul id="legend" aria-label="Legend">{legend()}</ul>
<p id="keys" class="quiet"><kbd>&larr;</kbd> <kbd>&rarr;</kbd> earlier and later, <kbd>+</kbd> <kbd>&minus;</kbd> zoom,
<kbd>Home</kbd> the whole run, <kbd>&uarr;</kbd> <kbd>&darr;</kbd> other lanes, <kbd>Tab</kbd> through the marks of a lane;
drag to move, wheel over the axis or with <kbd>Ctrl</kbd> to zoom.</p>
</section>
<section id="table" aria-label="Table" hidden>
<h2>Table</h2>
<div class="pages"><button type="button" id="earlier">Earlier rows</button> <span id="place" role="status"></span>
<button type="button" id="later">Later rows</button></div>
<div class="wide" tabindex="0" role="group" aria-label="Table of facts"><table id="facts-table">
<caption>Everything that the picture shows, in the order of time; the filter above applies.</caption>
<thead><tr><th scope="col">second</th><th scope="col">lasted</th><th scope="col">group</th><th scope="col">member</th>
<th scope="col">what</th><th scope="col">result</th><th scope="col">more</th></tr></thead>
<tbody id="body"></tbody>
</table></div>
</section>
"""
COMPARED: Final = '<table id="comparison">'
BODY: Final = f"""
<header>
<h1>Timeline</h1>
<p id="about"></p>
<ul id="headlines" aria-label="What happened"></ul>
{COMPARED}</table>
<ul id="notices"></ul>{TOOLS}<noscript><p>This page draws with its own script, which is switched off here.
<code>groupmock timeline JOURNAL -o out.svg</code> needs none.</p></noscript>
</header>
<main>{SECTIONS}</main>
"""
"""The HTML elements that hold the picture. The live page has the same elements, and its script finds them by their ids."""


def write(timeline: Timeline) -> str:
    data = b64encode(zlib.compress(as_json(scene_of(timeline)), 9)).decode()
    body = BODY.replace(COMPARED, COMPARED + _compared(timeline), 1)
    return document("groupmock timeline", style(), body, script=_script(), data=f'"{data}"')


def _compared(timeline: Timeline) -> str:
    """Return what differs between two journals, as the rows of a table."""
    if not timeline.comparisons:
        return ""
    heads = ["", *(each.name for each in timeline.sources), "difference"]
    several = len(timeline.comparisons) > 1
    rows = [
        [f"{comparison.group}: {figure.name}" if several else figure.name, figure.before, figure.after, figure.difference]
        for comparison in timeline.comparisons
        for figure in comparison.figures
    ]
    return "".join(
        f'<tr><th scope="row">{escape(row[0])}</th>{"".join(f"<{tag}>{escape(cell)}</{tag}>" for cell in row[1:])}</tr>'
        for tag, row in [("th", heads), *(("td", row) for row in rows)]
    )


def as_data(timeline: Timeline) -> str:
    """Return the scene as JSON for a page: printable ASCII without `<`, so that nothing in it can end its HTML element."""
    return ascii_json(as_json(scene_of(timeline))).decode().replace("<", "\\u003c")


def as_json(scene: Scene) -> bytes:
    """Return a scene as JSON, in which each item's `since` counts from that of the item before it in its row. Small numbers compress
    better."""
    for row in scene.rows:
        last = 0
        for item in row.items:
            last, item.since = item.since, item.since - last
    return msgspec.json.encode(scene)


@cache
def style() -> str:
    """Return the style of the picture, with its colours."""
    light, dark, forced = (_colours(roles) for roles in (LIGHT, DARK, FORCED))
    return (
        f":root {{ color-scheme: light dark; {light} }}\n"
        f'@media (prefers-color-scheme: dark) {{ :root:not([data-theme="light"]) {{ {dark} }} }}\n'
        f':root[data-theme="dark"] {{ color-scheme: dark; {dark} }}\n:root[data-theme="light"] {{ color-scheme: light; }}\n'
        f"@media (forced-colors: active) {{ :root:root {{ {forced} }} }}\n"
        f'@media print {{ :root, :root[data-theme="dark"], :root:not([data-theme="light"]) {{ color-scheme: light; {light} }} }}\n'
    ) + (ASSETS / "timeline.css").read_text(encoding="utf-8")


def _colours(roles: dict[str, str]) -> str:
    return " ".join(f"--{role}: {colour};" for role, colour in roles.items())


@cache
def _script() -> str:
    return "\n".join((ASSETS / name).read_text(encoding="utf-8") for name in SCRIPTS)
