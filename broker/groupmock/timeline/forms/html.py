"""The HTML form of a picture is one page that loads nothing else. Its own script (`assets`) draws the picture, which is embedded as
JSON; names of peers are only text."""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import Final

import msgspec

from ...text.html_document import document
from ...text.printable import ascii_json
from ..model import Timeline

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
<label>Group <select id="group"><option value="">all groups</option></select></label>
<label>Filter <input type="search" id="filter" autocomplete="off" spellcheck="false"></label>
<span class="quiet" id="count" role="status"></span>
<span class="quiet" id="span"></span>
</div>
"""
SECTIONS: Final = """
<section id="picture" aria-label="Picture">
<div id="stage">
<div id="scroll" tabindex="0" role="group" aria-label="Lanes">
<div id="inner">
<div id="held"><div id="corner">time of the run</div></div>
<div id="under"><canvas id="canvas" role="img" aria-label="Lanes over time; the table has the same facts"></canvas></div>
<ol id="labels"></ol>
</div>
</div>
<aside id="details" aria-label="Details" tabindex="0"><h2 id="what">Details</h2><dl id="facts"></dl></aside>
</div>
<div id="paper"></div>
<ul id="legend" aria-label="Legend"></ul>
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
BODY: Final = f"""
<header>
<h1>Timeline</h1>
<p id="about"></p>
<ul id="notices"></ul>{TOOLS}<noscript><p>This page draws with its own script, which is switched off here.
<code>groupmock timeline JOURNAL -o out.svg</code> needs none.</p></noscript>
</header>
<main>{SECTIONS}</main>
"""
"""The HTML elements that hold the picture. The live page has the same elements, and its script finds them by their ids."""


def write(timeline: Timeline) -> str:
    style, script = _assets()
    return document("groupmock timeline", style, BODY, script=script, data=as_data(timeline))


def as_data(timeline: Timeline) -> str:
    """Return the picture as JSON for a page: printable ASCII without `<`, so that nothing in it can end its HTML element."""
    return ascii_json(msgspec.json.encode(timeline)).decode().replace("<", "\\u003c")


@cache
def _assets() -> tuple[str, str]:
    folder = files("groupmock.timeline") / "assets"
    style = (folder / "timeline.css").read_text(encoding="utf-8")
    return style, "\n".join((folder / name).read_text(encoding="utf-8") for name in SCRIPTS)
