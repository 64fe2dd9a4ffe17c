"""The SVG form is a static picture for paper, issues and pull requests. A text in it says what had no room."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from html import escape
from textwrap import wrap
from typing import Final

from ...text.printable import one_line
from ..comparing import sentence
from ..model import Timeline
from ..scene import Item, Scene, SceneRow, scene_of
from ..signs import HUES, LIGHT, PATTERNS, ROUTINE, SIGNS, SPECIAL, TILE, Part, Sign
from ..words import clock_text, step_of

WIDTH, LEFT, RIGHT, AXIS = 1400, 190, 14, 26
LANES: Final = 300
"""At most this many members get a lane in a picture. A user who wants more names a group, or uses the HTML form."""
MOST: Final = 40_000
"""At most this many elements are drawn in a picture."""
HEADLINES: Final = 5
"""At most this many headlines are above the picture."""
HEADLINE_WIDE: Final = 200
"""The number of characters after which a headline is continued in the next line."""
THIN: Final = 2
"""Marks of one sign are left out if they are closer than this many pixels."""
BOLD: Final = 0.8
"""A large bold text has room for this share of the characters of a text of normal size."""
NARROW, BROAD = frozenset("fijltrI.,:;|!'()[]/ "), frozenset("mwMW@%&\u2026")
STYLE: Final = (
    f"text{{font:11px system-ui,sans-serif;dominant-baseline:central}}.q{{fill:{LIGHT['quiet']}}}"
    ".b{font-weight:600}.h{font-weight:600;font-size:13px}"
    ".i{font-size:10px;font-weight:700;text-anchor:middle}.e{text-anchor:end}.a{text-anchor:middle}"
    f".o{{paint-order:stroke;stroke:{LIGHT['ground']};stroke-width:3px;stroke-linejoin:round}}"
)


def write(timeline: Timeline) -> str:
    """Return the picture as one SVG 1.1 document."""
    return "\n".join(_Sheet(scene_of(timeline)).lines()) + "\n"


def legend() -> str:
    """Return the legend of the page as HTML: each sign with its words, in the colours of the page."""
    painter = Painter({})
    # The script hides the signs that a picture does not have. A pattern must not be in an element that is not displayed.
    signs = "".join(
        f'<li data-sign="{escape(sign.name)}">{picture}<span>{escape(sign.words)}</span></li>' for sign, picture in _legend(painter)
    )
    return f'<li class="patterns"><svg width="0" height="0" aria-hidden="true">{painter.patterns()}</svg></li>{signs}'


def _legend(painter: Painter) -> Iterator[tuple[Sign, str]]:
    for sign in SIGNS.values():
        if sign.words:
            # A sign in the colour of its process is shown in three colours, because it explains all of them.
            own = any(part.fill == "own" for part in sign.parts)
            places = [(2 + 6 * process, 6, process) for process in range(3)] if own else [(11 if sign.point else 2, 18, 0)]
            drawn = "".join(painter.sign(sign, x, wide, 11 - 8, 16, process) for x, wide, process in places)
            yield sign, f'<svg width="22" height="22" viewBox="0 0 22 22" aria-hidden="true">{drawn}</svg>'


class Painter:
    """Draws signs as SVG elements. `colours` maps roles to colours; a role that is missing is a variable of the page's style."""

    def __init__(self, colours: Mapping[str, str]) -> None:
        self._colours = colours

    def patterns(self) -> str:
        """Return the definitions of the patterns."""
        tiles = (
            f'<pattern id="{name}" width="{TILE}" height="{TILE}" patternUnits="userSpaceOnUse">'
            f'<path d="{path}" stroke="{self._colour(role, -1)}"/></pattern>'
            for name, (path, role) in PATTERNS.items()
        )
        return f"<defs>{''.join(tiles)}</defs>"

    def sign(self, sign: Sign, x: float, wide: float, top: float, high: float, process: int) -> str:
        """Return the shapes of a sign whose span begins at `x`, or whose point is there."""
        return "".join(self._part(part, x, wide, top, high, process) for part in sign.parts)

    def line(self, role: str, x: float, wide: float, y: float) -> str:
        return f'<rect x="{x:.1f}" y="{y - 0.75:.1f}" width="{wide:.1f}" height="1.5" fill="{self._colour(role, -1)}"/>'

    def _part(self, part: Part, x: float, wide: float, top: float, high: float, process: int) -> str:
        fill, middle = self._colour(part.fill, process), top + high / 2
        if part.shape == "glyph":
            stroke = f' stroke="{self._colour(part.stroke, process)}" stroke-width="1.5"' if part.stroke else ""
            return f'<path transform="translate({x:.1f} {middle:.1f}) scale({high / 12:.3g})" d="{part.drawn}" fill="{fill}"{stroke}/>'
        if part.shape == "letter":
            return f'<text class="i" x="{x:.1f}" y="{middle:.1f}" fill="{fill}">{part.drawn}</text>'
        if part.shape == "edge":
            stroke = self._colour(part.stroke, process)
            return f'<rect x="{x:.1f}" y="{top:.1f}" width="{wide:.1f}" height="{high:.1f}" fill="none" stroke="{stroke}"/>'
        left, y, across, down = {
            "left": (x, top, min(3.0, wide), high), "bottom": (x, top + high - 2, wide, 2.0), "line": (x, middle - 1, wide, 2.0),
        }.get(part.shape, (x, top, wide, high))  # fmt: skip
        box = f'<rect x="{left:.1f}" y="{y:.1f}" width="{across:.1f}" height="{down:.1f}" fill="{fill}"'
        drawn = f"{box}/>" if part.alpha == 1 else f'{box} fill-opacity="{part.alpha}"/>'
        if part.shape == "full" and part.fill == "own" and process >= len(HUES):
            drawn += f'{box.replace(fill, f"url(#{pattern_of(process)})")} fill-opacity="0.5"/>'
        return drawn

    def _colour(self, role: str, process: int) -> str:
        if role == "own":
            return HUES[process % len(HUES)]
        if role in PATTERNS:
            return f"url(#{role})"
        return self._colours.get(role, f"var(--{role})") if role in LIGHT else role or "none"


class _Sheet:
    def __init__(self, scene: Scene) -> None:
        self._scene = scene
        self._scale = (WIDTH - LEFT - RIGHT) / (scene.end - scene.begin)
        self._painter = Painter(LIGHT)
        self._made = 0
        self._shown: list[SceneRow] = []
        told = [line for each in scene.headlines[:HEADLINES] for line in wrap(each, HEADLINE_WIDE)]
        self._above = [*((line, "b") for line in told), *((sentence(each), "") for each in scene.comparisons)]
        self._axis_at = 15 * len(self._above) + AXIS

    def lines(self) -> Iterator[str]:
        """Yield the lines of the SVG document."""
        y, body, left_out = self._axis_at + 24, list[str](), defaultdict[int, int](int)
        lanes = 0
        for row in self._scene.rows:
            if row.under:  # The row is folded, and a picture on paper does not open.
                continue
            lanes += row.kind == "lane"
            if row.kind == "lane" and (lanes > LANES or self._made >= MOST):
                left_out[row.group] += 1
                continue
            body += self._row(row, y)
            self._shown.append(row)
            y += row.high
        notes = [text for each in self._scene.sources for text in each.notices]
        for group, members in left_out.items():
            notes.append(f"{members} members of {self._scene.groups[group].name} have no lane here: the page (-o out.html) has them")
        foot: list[str] = []
        signs_end = self._foot(foot, y + 14)
        foot += [self._text(8, signs_end + 8 + 15 * place, line, "q") for place, line in enumerate(notes)]
        height = signs_end + 12 + 15 * len(notes)
        names = "; ".join(each.about for each in self._scene.sources)
        yield f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" viewBox="0 0 {WIDTH} {height}" '
        yield f'fill="{LIGHT["ink"]}" role="img">'
        yield f"<title>{_plain(f'Timeline of {names}')}</title><style>{STYLE}</style>{self._painter.patterns()}"
        yield f'<rect width="{WIDTH}" height="{height}" fill="{LIGHT["ground"]}"/>'
        yield self._text(8, 12, _fitting(f"groupmock timeline: {names}", BOLD * (WIDTH - 16)), "h")
        yield from (self._text(8, 28 + 15 * place, line, css) for place, (line, css) in enumerate(self._above))
        yield from self._axis(y)
        yield from body
        yield from foot
        yield "</svg>"

    def _foot(self, foot: list[str], y: int) -> int:
        """Add the legend of the signs that are drawn, and return where it ends."""
        x = 8.0
        used = {name for row in self._shown for item in row.items for name in self._scene.signs[item.sign].legend}
        for sign, picture in _legend(self._painter):
            if sign.name not in used:
                continue
            wide = 30 + wide_of(sign.words)
            if x + wide > WIDTH:
                x, y = 8.0, y + 22
            foot.append(f'<g transform="translate({x:.0f} {y})">{picture}{self._text(25, 11, sign.words, "q")}</g>')
            x += wide + 14
        return y + 26

    def _x(self, at: int) -> float:
        return LEFT + (min(max(at, self._scene.begin), self._scene.end) - self._scene.begin) * self._scale

    def _axis(self, bottom: int) -> Iterator[str]:
        begin, end = self._scene.begin, self._scene.end
        step = step_of(end - begin, 12)
        for at in range(-(-begin // step) * step, end + 1, step):
            x = self._x(at)
            yield f'<path d="M{x:.1f} {self._axis_at + 18}V{bottom}" stroke="{LIGHT["line"]}"/>'
            yield self._text(min(max(x, LEFT + 14), WIDTH - 24), self._axis_at + 8, clock_text(at, step), "q a")

    # -- one row

    def _row(self, row: SceneRow, y: int) -> Iterator[str]:
        css = {"title": "h", "lane": ""}.get(row.kind, "q")
        room = BOLD * (WIDTH - 16) if row.kind == "title" else LEFT - 16
        yield f'<g class="{row.kind}">{self._text(8, y + row.high / 2 - 6 * bool(row.note), _fitting(row.title, room), css)}'
        if row.note:
            yield self._text(8, y + row.high / 2 + 8, _fitting(row.note, room), "q")
        for since, until in self._scene.groups[row.group].busy if row.kind == "lane" else ():
            left = self._x(since)
            yield f'<rect x="{left:.1f}" y="{y}" width="{max(1, self._x(until) - left):.1f}" height="{row.high}" fill="{LIGHT["busy"]}"/>'
        beside = defaultdict[tuple[float, int], list[tuple[float, str]]](list)
        last: dict[int, float] = {}
        for item in row.items:
            sign = self._scene.signs[item.sign]
            if self._made >= MOST or item.since > self._scene.end or item.since + max(item.lasted, item.tail) < self._scene.begin:
                continue
            x, right = self._x(item.since), self._x(item.since + max(item.lasted, item.tail))
            if sign.layer in (ROUTINE, SPECIAL) and x - last.get(item.sign, -9.0) < THIN and sign.tail:
                continue
            last[item.sign] = x
            top, high = placed(sign.box, row.high)
            yield self._drawn(item, sign, x, max(0.8, right - x), y + top, high)
            if sign.label == "beside":
                beside[y + top + high / 2, sign.beside].append((x, self._scene.texts[item.label]))
        for (middle, far), points in beside.items():
            yield from self._beside(points, middle, far)
        yield "</g>"

    def _drawn(self, item: Item, sign: Sign, x: float, wide: float, top: float, high: float) -> str:
        self._made += 1
        drawn = self._painter.sign(sign, x, wide, top, high, item.process)
        if sign.tail and wide > 3:
            drawn = self._painter.line(sign.tail, x, wide, top + high / 2) + drawn
        if sign.label == "inside" and (shown := _fitting(self._scene.texts[item.label], wide - 8)):
            if any(part.fill in PATTERNS for part in sign.parts):  # Stripes would go through the text.
                wide = min(wide_of(shown) + 4, wide - 4)
                drawn += f'<rect x="{x + 3:.1f}" y="{top + 2:.1f}" width="{wide:.1f}" height="{high - 4:.1f}" fill="{LIGHT["ground"]}"/>'
            drawn += self._text(x + 5, top + high / 2, shown, "o")
        return f"<g><title>{_plain(self._told(item))}</title>{drawn}</g>"

    def _beside(self, points: list[tuple[float, str]], middle: float, far: int) -> Iterator[str]:
        """Write each label beside its point, on the side where it has room; a label without room is left out, and is in the title."""
        free = float(LEFT)
        for place, (x, label) in enumerate(points):
            following = points[place + 1][0] - far if place + 1 < len(points) else WIDTH
            wide = wide_of(label)
            if x + far + wide <= following:
                yield self._text(x + far, middle, label, "o")
                free = x + far + wide + 6
            elif x - far - wide >= free:
                yield self._text(x - far, middle, label, "o e")
                free = x + far
            else:
                free = x + far

    def _told(self, item: Item) -> str:
        texts, facts = self._scene.texts, self._scene.facts
        parts = [": ".join(each for each in (texts[item.what], texts[item.result]) if each)]
        for place, value in zip(item.facts[::2], item.facts[1::2], strict=True):
            name, kind = facts[place]
            told = texts[value] if kind == "text" else f"{value / 1e6:.3f} ms" if kind == "lasted" else str(value)
            parts += [f"{name}: {told}"] if told and name not in ("request", "answer") else []
        return "; ".join(parts)

    def _text(self, x: float, y: float, text: str, css: str = "") -> str:
        named = f' class="{css}"' if css else ""
        return f'<text{named} x="{x:.1f}" y="{y:.1f}">{_plain(text)}</text>'


def pattern_of(process: int) -> str:
    """Return the name of the pattern that tells a process from the others of its colour."""
    patterns = [name for name in PATTERNS if name.startswith("own")]
    return patterns[(process // len(HUES) - 1) % len(patterns)]


def placed(box: tuple[int, int], row_high: int) -> tuple[int, int]:
    """Return the top and the height of a sign's box in a row of a height."""
    top = box[0] if box[0] >= 0 else row_high + box[0]
    return top, box[1] if box[1] > 0 else row_high + box[1] - top


def wide_of(text: str) -> float:
    """Return about how wide a text of 11 pixels is, rather more than less, because the reader's font is unknown."""
    return sum(3.9 if each in NARROW else 9.9 if each in BROAD else 6.9 for each in text)


def _fitting(text: str, wide: float) -> str:
    """Return the beginning of a text that fits into the width, or "" if too little fits."""
    if wide_of(text) <= wide:
        return text
    room = wide - wide_of("\u2026")
    kept = 0
    for each in text:
        room -= wide_of(each)
        if room < 0:
            break
        kept += 1
    return f"{text[:kept]}\u2026" if kept >= 3 else ""


def _plain(text: str) -> str:
    return escape(one_line(text))
