"""Write the report as one self-contained HTML page. All text from journals is escaped."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from html import escape
from typing import Final

from groupmock.text.html_document import document

from ..tables import job_of
from .ask import shown
from .draw import COLOURS, INK
from .first_screen import TO_DO, Link, Part, Sentence, first_step
from .shapes import Cell, ColumnHead, Excerpt, Shown

DARK_INK: Final = ("#ececec", "#a6a6a6", "#3c3c3c")
DARK_COLOURS: Final = ("#5fb4ec", "#ff9a4d", "#3fcb9b", "#eaa4cb", "#e0b93c", "#8ed0f7", "#c39bd3", "#aaaaaa")
STYLE: Final = """
:root { color-scheme: light dark; --paper: #fdfdfc; --line: #ddd; --head: #f2f2ef; --link: #0b5a93; --todo: #8a3d00; %(light)s }
@media (prefers-color-scheme: dark) {
:root { --paper: #16181a; --line: #3a3d40; --head: #202326; --link: #7cc0f5; --todo: #ffb27a; %(dark)s }
}
* { box-sizing: border-box }
body { margin: 0; background: var(--paper); color: var(--ink0); font: 16px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, sans-serif }
main, header, nav { max-width: 64rem; margin: 0 auto; padding: 0 1rem }
h1 { font-size: 1.6rem; margin: 1.5rem 0 .25rem }
h2 { font-size: 1.3rem; margin: 2.5rem 0 .25rem; padding-top: 1rem; border-top: 1px solid var(--line) }
h3 { font-size: 1.05rem; margin: 1.6rem 0 .25rem }
p { margin: .25rem 0 .75rem; max-width: 46rem } .quiet { color: var(--ink1); font-size: .875rem }
a { color: var(--link) } nav ul { columns: 16rem; column-gap: 2rem; padding-left: 1.2rem; margin: .5rem 0 } nav .none { color: var(--ink1) }
#first > ol { padding-left: 1.6rem; margin: .75rem 0 1.5rem; font-size: 1.125rem }
#first > ol > li { margin: .5rem 0; max-width: 56rem } #first ol ol { font-size: 1rem; padding-left: 1.4rem }
#first a { font-weight: 600; overflow-wrap: anywhere }
.start { margin: .75rem 0 0; max-width: 56rem; font-size: 1.125rem; font-weight: 600 }
.todo { color: var(--todo) } b.quiet { font-weight: 400 } code { font: .9em ui-monospace, monospace; overflow-wrap: anywhere }
.short { margin: .5rem 0 } .short h2 { display: inline; font-size: 1rem; border: 0; padding: 0; margin: 0 .5rem 0 0 }
.short p { display: inline; color: var(--ink1) }
.wide { overflow-x: auto; margin: .5rem 0 1rem } .wide:focus-visible { outline: 2px solid var(--link) }
table { border-collapse: collapse; font-size: .875rem; line-height: 1.35 }
th, td { padding: .3rem .6rem; border-bottom: 1px solid var(--line); text-align: left; vertical-align: top }
th, td { max-width: 26rem; overflow-wrap: break-word }
th { background: var(--head); font-weight: 600; vertical-align: bottom }
tbody th { background: none; font-weight: 400; min-width: 7rem; vertical-align: top }
th .unit { font-weight: 400; color: var(--ink1) }
.n { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap } thead .n { white-space: normal }
figure { margin: .5rem 0 1rem; max-width: 40rem }
figure svg { width: 100%%; height: auto; display: block } svg text { font-family: inherit }
figure svg * { stroke-linejoin: round; stroke-linecap: butt }
@media print { .wide { overflow: visible } tr, figure, #first { break-inside: avoid } nav { display: none } }
""".strip()


def page(title: str, about: str, sections: Iterable[Shown], first: Sequence[Sentence] = ()) -> str:
    """Return the report as a page of HTML 5. `about` says in plain text what the page was made of, and `first` is its first screen."""
    shown_sections = list(sections)
    style = STYLE % {"light": _hues(INK, COLOURS), "dark": _hues(DARK_INK, DARK_COLOURS)}
    parts = [
        f"<header><h1>{escape(title)}</h1>\n<p>{escape(about)}</p></header>",
        "<main>",
        *_first_screen(first),
        *_contents(shown_sections),
        *(line for each in shown_sections for line in _section(each)),
        "</main>",
    ]
    return document(title, style, "\n".join(parts), drawn=True)


def _hues(ink: Iterable[str], colours: Iterable[str]) -> str:
    named = [("ink", ink), ("hue", colours)]
    return " ".join(f"--{name}{place}: {value};" for name, values in named for place, value in enumerate(values))


def _first_screen(sentences: Sequence[Sentence]) -> Iterator[str]:
    if not sentences:
        return
    yield f'<section id="first" aria-label="What rebalances cost">\n<p class="start">{_parts(first_step(sentences))}</p>\n<ol>'
    for each in sentences:
        advice = f' <b class="{"todo" if each.advice.startswith(TO_DO) else "quiet"}">{_code(each.advice)}</b>' if each.advice else ""
        lines = "".join(f"<li>{_parts(line)}</li>" for line in each.lines)
        yield f"<li>{_parts(each.parts)}{advice}{f'<ol>{lines}</ol>' if lines else ''}</li>"
    yield "</ol>\n</section>"


def _parts(parts: Sequence[Part]) -> str:
    return "".join(f'<a href="{escape(each.target)}">{escape(each.text)}</a>' if isinstance(each, Link) else _code(each) for each in parts)


def _code(text: str) -> str:
    """Return an escaped text in which a command between backquotes is marked as code."""
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", escape(text))


def _contents(sections: Iterable[Shown]) -> Iterator[str]:
    yield '<nav aria-label="Contents">\n<ul>'
    for each in sections:
        note = ' <span class="none">(not in this lake)</span>' if each.missing else ""
        yield f'<li><a href="#{each.anchor()}">{escape(each.section.title)}</a>{note}</li>'
    yield "</ul>\n</nav>"


def _section(each: Shown) -> Iterator[str]:
    section = each.section
    line = _only_line(each)
    short = "" if line is None else ' class="short"'
    yield f'<section id="{each.anchor()}" aria-labelledby="{each.anchor()}-title"{short}>'
    yield f'<h2 id="{each.anchor()}-title">{escape(section.title)}</h2>'
    if line is not None:
        yield f"<p>{line}</p>"
    else:
        yield f"<p>{escape(section.about)}</p>"
        for place, answer in enumerate(each.answers):
            yield from _answer(answer, each.anchor(place), each.plots.get(place))
    yield "</section>"


def _only_line(each: Shown) -> str | None:
    """Return the line of a section without a table, or None if the section has one."""
    table = each.section.table
    if each.missing:
        return f"This lake has no table {escape(table)}: <code>groupmock pipeline {escape(job_of(table))} IN LAKE</code> makes it."
    if each.trouble is not None:
        return f"Table {escape(table)} cannot be read: {escape(each.trouble)}"
    return escape(each.section.none) if each.empty else None


def _answer(answer: Excerpt, anchor: str, plot: str | None) -> Iterator[str]:
    if not answer.rows:
        yield f'<p class="quiet" id="{anchor}">{escape(answer.title)}: none.</p>'
        return
    yield f'<h3 id="{anchor}">{escape(answer.title)}</h3>'
    if answer.about:
        yield f"<p>{escape(answer.about)}</p>"
    if plot is not None:
        yield f"<figure>{plot}</figure>"
    yield f'<div class="wide" role="region" tabindex="0" aria-label="{escape(answer.title)}">\n<table>'
    yield f"<thead><tr>{''.join(map(_head, answer.heads))}</tr></thead>\n<tbody>"
    for row in answer.rows:
        cells = zip(row, answer.heads, strict=True)
        yield f"<tr>{''.join(_cell(value, head, not place) for place, (value, head) in enumerate(cells))}</tr>"
    yield "</tbody>\n</table>\n</div>"
    yield from _notes(answer)


def _notes(answer: Excerpt) -> Iterator[str]:
    notes = [answer.note] if answer.note else []
    notes += [f"The first {len(answer.rows)}; there are more."] if answer.more else []
    notes += [f"Not in this table: {', '.join(answer.lacking)}."] if answer.lacking else []
    if notes:
        yield f'<p class="quiet">{escape(" ".join(notes))}</p>'


def _head(head: ColumnHead) -> str:
    unit = f' <span class="unit">{escape(head.unit)}</span>' if head.unit else ""
    return f'<th scope="col"{_class(head)}>{escape(head.text)}{unit}</th>'


def _cell(value: Cell, head: ColumnHead, first: bool) -> str:
    text = escape(shown(value))
    return f'<th scope="row"{_class(head)}>{text}</th>' if first else f"<td{_class(head)}>{text}</td>"


def _class(head: ColumnHead) -> str:
    return ' class="n"' if head.number else ""
