"""The SVG form is a static picture for paper, issues and pull requests. A text in it says what had no room."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from typing import Final

from groupmock_codec.group_states import ASSIGNING, COMPLETING_REBALANCE, EMPTY, PREPARING_REBALANCE, RECONCILING, STABLE

from ...text.printable import one_line
from ..model import APIS, EXPECTED, OK, Band, Double, Event, Group, Hole, Lane, Mark, State, Timeline
from ..words import clock_text, held_text, step_of

WIDTH, LEFT, RIGHT = 1400, 190, 14
AXIS, STATE, LANE, PINS = 26, 22, 34, 14
LANES: Final = 300
"""At most this many members get a lane in a picture. A user who wants more names a group, or uses the HTML form."""
MOST: Final = 40_000
"""At most this many elements are drawn in a picture."""
CHARACTER: Final = 6.1
"""The approximate width of a character in an SVG picture."""
HUES: Final = ("#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#8a8f2a", "#7a6fb0")
"""The colours of Okabe and Ito, which can be told apart with every kind of colour blindness. Words and shapes show the same."""
STATES: Final = {STABLE: "#009e73", PREPARING_REBALANCE: "#e69f00", COMPLETING_REBALANCE: "#56b4e9", EMPTY: "#8d8d8d"} | {
    ASSIGNING: "#e69f00",
    RECONCILING: "#56b4e9",
}
LETTERS: Final = {"fault": "!", "command": "C", "finding": "F", "closed": "x", "refused": "x", "says": "i", "note": "N"}
STYLE: Final = (
    "text{font:11px system-ui,sans-serif;fill:#16191d}.q{fill:#555b63}.h{font-weight:600;font-size:13px}.t{stroke:#d4d8dd}"
    ".l{fill:#eceff2}.ok{fill:#005a8d}.led{fill:#fff;stroke:#005a8d;stroke-width:1.4}.no{fill:#b3300a}.x{stroke:#16191d;stroke-width:1.6;fill:none}.r{stroke:#b3300a}.g{fill:url(#gap);stroke:#b3300a}"
    ".d{fill:url(#double);stroke:#b3300a}.p{fill:#fff;stroke:#b3300a;stroke-width:1.4}.i{font-size:9px;font-weight:700;text-anchor:middle}"
    ".a{text-anchor:middle}"
)
PATTERNS: Final = (
    '<defs><pattern id="gap" width="6" height="6" patternUnits="userSpaceOnUse"><path d="M0 6L6 0" stroke="#b3300a"/></pattern>'
    '<pattern id="double" width="6" height="6" patternUnits="userSpaceOnUse"><path d="M0 6L6 0M0 0L6 6" stroke="#b3300a"/></pattern></defs>'
)
LEGEND: Final = (
    "▲ JoinGroup · ■ SyncGroup · | Heartbeat · ● OffsetCommit · ▼ LeaveGroup · hollow: told to join (again) · "
    "crossed: refused, lost or never answered · striped: without an owner · cross-hatched: several owners · "
    "! fault · C command · F finding · x connection closed"
)


def write(timeline: Timeline) -> str:
    """Return the picture as one SVG 1.1 document."""
    return "\n".join(_Picture(timeline).lines()) + "\n"


class _Picture:
    def __init__(self, timeline: Timeline) -> None:
        self._timeline = timeline
        self._begin, self._end = timeline.begin, timeline.end
        self._scale = (WIDTH - LEFT - RIGHT) / (self._end - self._begin)
        self._made = 0
        self._lanes = 0
        self._left_out: list[str] = []

    def lines(self) -> Iterator[str]:
        """Yield the lines of the SVG document."""
        y, body = AXIS + 24, []
        for group in self._timeline.groups:
            height, lines = self._group(group, y)
            body += lines
            y += height + 10
        notes = [*(text for each in self._timeline.sources for text in each.notices), *self._left_out]
        foot = [self._text(8, y + 16 + 15 * place, line, "q") for place, line in enumerate([LEGEND, *notes])]
        height = y + 24 + 15 * len(foot)
        names = ", ".join(each.name for each in self._timeline.sources)
        yield f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" viewBox="0 0 {WIDTH} {height}" role="img">'
        yield f"<title>{_plain(f'Timeline of {names}')}</title><style>{STYLE}</style>{PATTERNS}"
        yield f'<rect width="{WIDTH}" height="{height}" fill="#fff"/>'
        yield self._text(8, 15, f"groupmock timeline: {names}", "h")
        yield from self._axis(y)
        yield from body
        yield from foot
        yield "</svg>"

    # -- places

    def _x(self, at: int) -> float:
        return LEFT + (min(max(at, self._begin), self._end) - self._begin) * self._scale

    def _span(self, since: int, until: int | None) -> tuple[float, float]:
        """Return the left edge and the width at which a span of time is drawn."""
        left = self._x(since)
        return left, max(0.8, self._x(self._end if until is None else until) - left)

    def _axis(self, bottom: int) -> Iterator[str]:
        step = step_of(self._end - self._begin, 12)
        first = -(-self._begin // step) * step
        for at in range(first, self._end + 1, step):
            x = self._x(at)
            yield f'<path class="t" d="M{x:.1f} {AXIS + 18}V{bottom}"/>'
            yield self._text(min(max(x, LEFT + 14), WIDTH - 24), AXIS + 10, clock_text(at, step), "q a")

    # -- a group

    def _group(self, group: Group, y: int) -> tuple[int, list[str]]:
        source = self._timeline.sources[group.source].name
        several = f" ({source})" if len(self._timeline.sources) > 1 else ""
        lines, at = [self._text(8, y + 14, f"{group.name}{several}", "h", 28)], y + 20
        lines.append(self._text(8, at + 14, "state", "q"))
        lines += [self._state(each, at) for each in group.states if self._seen(each.since, each.until)]
        at += STATE
        for spans, name, css in ((group.gaps, "without an owner", "g"), (group.doubles, "several owners", "d")):
            if spans:
                lines += [self._text(8, at + 14, name, "q"), *self._holes(spans, at, css)]
                at += STATE
        if group.events:
            lines += [self._text(8, at + 14, "events", "q"), *(self._pin(each, at + 11) for each in group.events)]
            at += STATE
        drawn = 0
        for lane in group.lanes:
            if self._lanes >= LANES or self._made >= MOST:
                break
            height = LANE + PINS * any(each.kind != "says" for each in lane.events)
            lines += self._lane(lane, at, height)
            self._lanes += 1
            drawn += 1
            at += height
        if drawn < len(group.lanes):
            self._left_out.append(f"{len(group.lanes) - drawn} members of {group.name} have no lane here: the page (-o out.html) has them")
        return at - y, lines

    def _seen(self, since: int, until: int | None) -> bool:
        return since <= self._end and (until is None or until >= self._begin)

    def _state(self, state: State, y: int) -> str:
        left, wide = self._span(state.since, state.until)
        told = f"{state.state}, generation {state.generation}: {state.reason}"
        colour = STATES.get(state.state, "#444")
        shown = _fitting(f"{state.state} · {state.generation}", wide)
        size = f'x="{left:.1f}" y="{y + 2}" width="{wide:.1f}" height="{STATE - 5}"'
        box = f'<rect {size} fill="{colour}" fill-opacity=".3" stroke="{colour}"/>'
        return self._element(box + (self._text(left + 3, y + 14, shown) if shown else ""), told)

    def _holes(self, spans: list[Hole] | list[Double], y: int, css: str) -> Iterator[str]:
        for each in spans:
            if self._seen(each.since, each.until) and self._made < MOST:
                left, wide = self._span(each.since, each.until)
                box = f'<rect class="{css}" x="{left:.1f}" y="{y + 3}" width="{wide:.1f}" height="{STATE - 7}"/>'
                yield self._element(box, held_text(self._timeline, each.held))

    # -- a member

    def _lane(self, lane: Lane, y: int, height: int) -> list[str]:
        """Draw the lane of a member: marks of requests above, events below them if there are any, then its partitions over time."""
        lines = [f'<g class="lane">{self._text(8, y + 20, lane.label, most=27)}']
        for life in lane.lives:
            left, wide = self._span(life.since, life.until)
            told = f"{lane.label}: {life.came}" + (f"; gone: {life.gone}" if life.until is not None else "")
            lines.append(self._element(f'<rect class="l" x="{left:.1f}" y="{y + 1}" width="{wide:.1f}" height="{height - 3}"/>', told))
        lines += [self._band(each, y + height - LANE) for each in lane.bands if self._seen(each.since, each.until) and self._made < MOST]
        lines += self._ends(lane, y)
        lines += self._marks(lane.marks, y)
        lines += [self._pin(each, y + 23) for each in lane.events if self._made < MOST and each.kind != "says"]
        return [*lines, "</g>"]

    def _band(self, band: Band, y: int) -> str:
        left, wide = self._span(band.since, band.until)
        topics = self._timeline.sets[band.held]
        colour = HUES[(topics[0].topic * 3 + topics[0].numbers[0]) % len(HUES)] if topics else HUES[0]
        told = held_text(self._timeline, band.held)
        shown = _fitting(told, wide - 4)
        box = f'<rect x="{left:.1f}" y="{y + 16}" width="{wide:.1f}" height="15" fill="{colour}" fill-opacity=".26" stroke="{colour}"/>'
        return self._element(box + (self._text(left + 4, y + 27, shown) if shown else ""), told)

    def _ends(self, lane: Lane, y: int) -> Iterator[str]:
        for life in lane.lives:
            if life.until is not None and life.until <= self._end:
                x = self._x(life.until)
                css = "x" if life.cause == "member_left" else "x r"
                yield f'<path class="{css}" d="M{x - 4:.1f} {y + 12}l8 8m0 -8l-8 8"/>'

    def _marks(self, marks: list[Mark], y: int) -> Iterator[str]:
        last: dict[tuple[int, int], float] = {}
        for mark in marks:
            x, key = self._x(mark.at), (mark.api, mark.result)
            if not self._seen(mark.at, mark.until) or x - last.get(key, -9.0) < 2 or self._made >= MOST:
                continue
            last[key] = x
            result = self._timeline.texts[mark.result]
            told = f"{mark.count} x {APIS[mark.api]}" if mark.count > 1 else APIS[mark.api]
            tail = (self._x(mark.until) if mark.count > 1 else self._x(mark.at + mark.latency)) - x
            line = f'<rect class="{_class(result)}" x="{x:.1f}" y="{y + 8}" width="{tail:.1f}" height="1.5"/>' if tail > 3 else ""
            cross = "" if _class(result) != "no" else f'<path class="x" d="M{x - 4:.1f} {y + 5}l8 8m0 -8l-8 8"/>'
            shape = f'<path class="{_class(result)}" d="{_shape(APIS[mark.api], x, y + 9)}"/>'
            yield self._element(f"{line}{shape}{cross}", f"{told}: {result}")

    def _pin(self, event: Event, y: int) -> str:
        if not self._seen(event.at, event.until):
            return ""
        x = self._x(event.at)
        path = f"M{x:.1f} {y - 8}l8 8l-8 8l-8 -8z" if event.kind == "fault" else f"M{x - 6:.1f} {y - 6}h12v12h-12z"
        letter = f'<text class="i" x="{x:.1f}" y="{y + 3.5}">{LETTERS.get(event.kind, "N")}</text>'
        return self._element(f'<path class="p" d="{path}"/>{letter}', f"{event.kind}: {event.title}: {event.text}")

    def _element(self, shape: str, told: str) -> str:
        self._made += 1
        return f"<g><title>{_plain(told)}</title>{shape}</g>"

    def _text(self, x: float, y: float, text: str, css: str = "", most: int = 400) -> str:
        shown = text if len(text) <= most else f"{text[: most - 1]}…"
        named = f' class="{css}"' if css else ""
        return f'<text{named} x="{x:.1f}" y="{y:.1f}">{_plain(shown)}</text>'


def _class(result: str) -> str:
    return "ok" if result == OK else "led" if result in EXPECTED else "no"


def _shape(api: str, x: float, y: float) -> str:
    shapes = {
        "JoinGroup": f"M{x:.1f} {y - 5}l5 10h-10z", "SyncGroup": f"M{x - 4:.1f} {y - 4}h8v8h-8z",
        "Heartbeat": (beat := f"M{x - 0.7:.1f} {y - 5}h1.4v10h-1.4z"), "ConsumerGroupHeartbeat": beat,
        "LeaveGroup": f"M{x:.1f} {y + 5}l5 -10h-10z",
    }  # fmt: skip
    return shapes.get(api, f"M{x - 4:.1f} {y}a4 4 0 1 0 8 0a4 4 0 1 0 -8 0")


def _fitting(text: str, wide: float) -> str:
    """Return the beginning of a text that fits into the width, or "" if too little fits."""
    room = int((wide - 6) / CHARACTER)
    if len(text) <= room:
        return text
    return f"{text[: room - 1]}…" if room >= 4 else ""


def _plain(text: str) -> str:
    return escape(one_line(text))
