"""Draw ownership maps alone, as SVG: several below one another on one axis of time, or one as a small picture without words."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from html import escape
from typing import Final, NamedTuple

from groupmock_codec.units import NS_PER_S

from ...rounds import JOINT, OWNED, PALE, SHARED, UNKNOWN, UNOWNED, OwnershipMap, Span
from ...rounds.tasks import place_name
from ...story.words import count
from ...text.printable import one_line
from ..signs import HUES, PATTERNS
from ..words import by_number, clock_text, step_of

WIDTH, LEFT, RIGHT = 1060, 74, 14
HEADING, HEAD, MOVES, ROW, BELOW = 26, 30, 16, 12, 26
CHARACTER: Final = 5.6
"""The approximate width of a character of the labels."""
RED, INK, QUIET, CALM = "#b3300a", "#16191d", "#555b63", "#117a65"
STYLE: Final = (
    f"text{{font:10px 'DejaVu Sans',system-ui,sans-serif;fill:{INK}}}.h{{font-size:14px;font-weight:600}}"
    ".s{font-size:12px;font-weight:400}"
    f".q{{fill:{QUIET}}}.n{{font-weight:600}}.r{{fill:{RED};font-weight:600}}.m{{text-anchor:middle}}.e{{text-anchor:end}}"
    ".o{paint-order:stroke;stroke:#fff;stroke-width:3px}"
)
TILES: Final = tuple(path for name, (path, _) in PATTERNS.items() if name.startswith("own"))
LEGEND: Final = (
    (PALE, "connection gone, session still runs"),
    (UNOWNED, "nobody owns it"),
    (SHARED, "two members own it"),
    (JOINT, "several members of a share group read it"),
)


class Panel(NamedTuple):
    """A panel of the picture has one map. Its figures count from `begin` (ns) on. `steps` are drawn above it: what was done, and when.
    `about` says in a few words what is special about it."""

    title: str
    found: OwnershipMap
    begin: int = 0
    steps: Sequence[tuple[int, str]] = ()
    about: str = ""

    @property
    def told(self) -> tuple[int, int | None, float]:
        """Return how many rebalances there were, how many partitions they moved, and for how many partition-seconds nobody owned one."""
        over = [each for each in self.found.rebalances if each.ended is not None and each.ended > self.begin and not each.first_join]
        moved = None if any(each.moved is None for each in over) else sum(each.moved or 0 for each in over)
        return len(over), moved, self.found.lasted(PALE, UNOWNED, begin=self.begin) / NS_PER_S


def pictured(panels: Sequence[Panel], heading: str = "") -> str:
    """Return maps below one another as one SVG document. Each process has the same colour in all of them. `heading` says above them
    what was done."""
    colours = colours_of(each for panel in panels for each in panel.found.processes)
    owned = [span.since for panel in panels for spans in panel.found.spans.values() for span in spans if span.state == OWNED]
    end = max((panel.found.end for panel in panels), default=1)
    begin = min(owned, default=0)
    sheet = _Sheet(begin - (end - begin) // 50, end, colours, heading)
    return "\n".join(sheet.lines(panels)) + "\n"


def thumbnail(found: OwnershipMap, begin: int, end: int, wide: int = 150, high: int = 60) -> str:
    """Return a map as a small SVG element without words, from `begin` to `end` (ns)."""
    scale, row = wide / max(1, end - begin), high / max(1, len(found.spans))
    painter = _Painter(colours_of(found.processes), lambda at: (min(max(at, begin), end) - begin) * scale, end)
    shapes = "".join(shape for place, spans in enumerate(found.spans.values()) for shape in painter.row(spans, place * row, row))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{wide}" height="{high}" viewBox="0 0 {wide} {high}" aria-hidden="true">'
        f'{painter.patterns()}<rect width="{wide}" height="{high}" fill="#fff"/>{shapes}</svg>'
    )


def colours_of(processes: Iterable[str]) -> dict[str, int]:
    """Return the number of each process's colour. Equal names have equal colours."""
    return {name: place for place, name in enumerate(sorted(set(processes), key=by_number))}


class _Painter:
    """Draws the rows of partitions. `x` maps a time to a place."""

    def __init__(self, colours: Mapping[str, int], x: Callable[[int], float], end: int) -> None:
        self._colours, self._x, self._end = colours, x, end

    def patterns(self) -> str:
        wanted = max(self._colours.values(), default=0) // len(HUES)
        tiles = [(f"own{number}", path, INK) for number, path in enumerate(TILES[:wanted], 1)] + [("two", TILES[-1], RED)]
        made = (
            f'<pattern id="{name}" width="6" height="6" patternUnits="userSpaceOnUse"><path d="{path}" stroke="{colour}"/></pattern>'
            for name, path, colour in tiles
        )
        return f"<defs>{''.join(made)}</defs>"

    def row(self, spans: Iterable[Span], y: float, high: float) -> Iterator[str]:
        for span in spans:
            left = self._x(span.since)
            wide = self._x(self._end if span.until is None else span.until) - left
            yield self.shape(span.state, span.processes, left, y, wide, high)

    def shape(self, state: str, processes: tuple[str, ...], x: float, y: float, wide: float, high: float) -> str:
        """Return the shape of one span in its row."""
        box = f'x="{x:.1f}" y="{y + high * 0.06:.1f}" width="{max(0.6, wide):.1f}" height="{high * 0.88:.1f}"'
        if state == UNOWNED:
            return f'<rect x="{x:.1f}" y="{y + high * 0.4:.1f}" width="{max(0.6, wide):.1f}" height="{high * 0.2:.1f}" fill="{RED}"/>'
        if state == SHARED:
            return f'<rect {box} fill="url(#two)" stroke="{RED}" stroke-width=".6"/>'
        if state == JOINT:
            return f'<rect {box} fill="{CALM}" fill-opacity=".35"/>'
        if state == UNKNOWN:
            return f'<rect {box} fill="#eceff2"/>'
        number = self._colours[processes[0]]
        opacity = ' fill-opacity=".35"' if state == PALE else ""
        shape = f'<rect {box} fill="{HUES[number % len(HUES)]}"{opacity}/>'
        pattern = number // len(HUES)
        return shape + (f'<rect {box} fill="url(#own{(pattern - 1) % len(TILES) + 1})" fill-opacity=".5"/>' if pattern else "")


class _Sheet:
    """A picture of several maps from `begin` to `end`."""

    def __init__(self, begin: int, end: int, colours: dict[str, int], heading: str) -> None:
        self._begin, self._end, self._colours, self._heading = begin, end, colours, heading
        self._top = HEADING if heading else 0
        self._scale = (WIDTH - LEFT - RIGHT) / max(1, end - begin)
        self._painter = _Painter(colours, self._x, end)

    def lines(self, panels: Sequence[Panel]) -> Iterator[str]:
        y, body = self._top + 52.0, list[str]()
        for panel in panels:
            high, lines = self._panel(panel, y)
            body += lines
            y += high
        height = round(y + 4)
        named = f"Ownership maps: {', '.join(panel.title for panel in panels)}"
        yield f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" viewBox="0 0 {WIDTH} {height}" role="img">'
        yield f"<title>{_plain(named)}</title><style>{STYLE}</style>{self._painter.patterns()}"
        yield f'<rect width="{WIDTH}" height="{height}" fill="#fff"/>'
        if self._heading:
            yield self._text(10, 20, self._heading, "h")
        yield from self._legend({span.state for panel in panels for spans in panel.found.spans.values() for span in spans})
        yield from self._axis(height)
        yield from body
        yield "</svg>"

    def _x(self, at: int) -> float:
        return LEFT + (min(max(at, self._begin), self._end) - self._begin) * self._scale

    def _legend(self, states: Collection[str]) -> Iterator[str]:
        """Explain the colours, and the states that the maps have."""
        x, y = 10.0, self._top
        entries: list[tuple[str, tuple[str, ...], str]] = [(OWNED, (name,), name) for name in self._colours]
        entries += [(state, tuple(self._colours)[:3] if state == PALE else (), words) for state, words in LEGEND if state in states]
        for state, processes, words in entries:
            for place, process in enumerate(processes or ("",)):
                wide = 18 / max(1, len(processes))
                yield self._painter.shape(state, (process,), x + place * wide, y + 8, wide, 12)
            yield self._text(x + 23, y + 18, words, "s")
            x += 38 + 6.3 * len(words)

    def _axis(self, bottom: int) -> Iterator[str]:
        step = step_of(self._end - self._begin, 12)
        for at in range(-(-self._begin // step) * step, self._end + 1, step):
            x = self._x(at)
            yield f'<path d="M{x:.1f} {self._top + 44}V{bottom}" stroke="#dfe3e8"/>'
            yield self._text(min(max(x, LEFT), WIDTH - RIGHT - 6), self._top + 40, clock_text(at, step), "q m")

    def _panel(self, panel: Panel, y: float) -> tuple[float, list[str]]:
        rebalances, moved, unowned = panel.told
        told = (
            f"{count(rebalances, 'rebalance')} moved "
            + ("an unknown number of" if moved is None else f'<tspan class="n">{moved}</tspan>')
            + (" partition; " if moved == 1 else " partitions; ")
        )
        told += f'without an owner: <tspan class="r">{unowned:.1f} partition-seconds</tspan>'
        about = f' <tspan class="s q">{_plain(panel.about)}</tspan>' if panel.about else ""
        lines = [f'<text class="h" x="10" y="{y + 18:.1f}">{_plain(panel.title)}{about}</text>']
        lines.append(f'<text class="s e" x="{WIDTH - RIGHT}" y="{y + 18:.1f}">{told}</text>')
        top = y + HEAD + (MOVES if panel.steps else 0)
        bottom = top + MOVES + ROW * len(panel.found.spans)
        for at, words in panel.steps:
            x = self._x(at)
            lines.append(f'<path d="M{x:.1f} {y + HEAD + 3:.1f}V{bottom:.1f}" stroke="{QUIET}" stroke-dasharray="2 2"/>')
            lines.append(self._text(x + 3, y + HEAD + 10, words, "q o"))
        lines += self._moves(panel, top + 11)
        top += MOVES
        for place, ((topic, number), spans) in enumerate(panel.found.spans.items()):
            lines.append(self._text(LEFT - 6, top + place * ROW + ROW - 3, place_name(topic, number), "q e"))
            lines += self._painter.row(spans, top + place * ROW, ROW)
        return bottom + BELOW - y, lines

    def _moves(self, panel: Panel, y: float) -> Iterator[str]:
        """Write over each rebalance how many partitions it moved. Where there is no room for two labels, the larger number is kept."""
        over = [each for each in panel.found.rebalances if each.ended is not None and each.ended > panel.begin]
        used: list[tuple[float, float]] = []
        for each in sorted(over, key=lambda each: -(each.moved or 0)):
            label = "? moved" if each.moved is None else f"{each.moved} moved"
            x, half = self._x(each.ended or 0), CHARACTER * len(label) / 2 + 3
            if all(x + half <= left or x - half >= right for left, right in used):
                used.append((x - half, x + half))
                yield self._text(x, y, label, "m o n" if each.moved else "m o")

    def _text(self, x: float, y: float, text: str, css: str) -> str:
        return f'<text class="{css}" x="{x:.1f}" y="{y:.1f}">{_plain(text)}</text>'


def _plain(text: str) -> str:
    return escape(one_line(text))
