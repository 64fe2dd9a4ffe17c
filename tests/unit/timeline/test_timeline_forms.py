"""Each format of a timeline has the right structure, escapes hostile names, and contains its assets."""

from __future__ import annotations

import json
import re
import zlib
from base64 import b64decode
from html import escape
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as XML

import pytest
from cases import for_each

from groupmock.timeline import forms
from groupmock.timeline.drawing import Drawing, UnknownForm, form_of, written
from groupmock.timeline.forms import svg as svg_form
from groupmock.timeline.model import Timeline
from groupmock.timeline.scene import scene_of
from groupmock.timeline.signs import FORCED, SIGNS
from groupmock.timeline.words import clock_text, step_of
from groupmock_codec.units import NS_PER_S
from tools.mistakes.stage import Stage

EVIL = "</script><script>alert(1)</script><img src=x onerror=alert(1)>\u2028\u2029\"'&<!--"
SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture(scope="module")
def evil() -> Timeline:
    """Return a timeline with HTML markup in client ids, instance ids, topics and groups; one member commits, meets a fault and leaves."""
    stage = Stage({"orders": 2})
    rule = {"name": EVIL, "when": {"api": "OffsetCommit"}, "do": {"kind": "error", "code": 25}}
    stage.rig.command("add_faults", rules=[rule], origin="test")
    member = stage.consumer(EVIL, group=EVIL, topics=["orders", EVIL])
    other = stage.consumer("plain", group=EVIL, topics=["orders"], instance_id=EVIL)
    stage.together(member, other)
    member.commit({("orders", 0): 3})
    stage.sleep(0)
    member.leave_because(EVIL)
    stage.sleep(60_000)
    drawing = Drawing(audit=True)
    drawing.add(EVIL, list(stage.ring.rows))
    return drawing.timeline()


def scene_in(data: str) -> Any:
    """Return the scene that a page has in its data element."""
    return json.loads(zlib.decompress(b64decode(json.loads(data))))


class Elements(HTMLParser):
    """Collects the elements by name and the text of each script."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.texts: dict[str, str] = {}
        self._in = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attributes)))
        self._in = f"{tag}#{dict(attributes).get('id') or ''}"

    def handle_data(self, data: str) -> None:
        self.texts[self._in] = self.texts.get(self._in, "") + data

    def handle_endtag(self, tag: str) -> None:
        self._in = ""


def test_the_page_brings_its_data_as_json_which_no_name_can_leave(evil: Timeline) -> None:
    page = written("html", evil)
    seen = Elements(page)
    assert [given.get("type") for tag, given in seen.found if tag == "script"] == ["application/json", None]
    assert [tag for tag, _ in seen.found if tag in ("img", "link", "iframe", "object", "base", "form", "a")] == []
    assert "onerror=alert" not in re.sub(r'<script type="application/json".*?</script>', "", page, flags=re.DOTALL)
    scene = scene_in(seen.texts["script#data"])
    assert "<" not in seen.texts["script#data"]
    assert "\u2028" not in page
    assert any(EVIL[:20] in row["words"] for row in scene["rows"] if row["kind"] == "lane")


def test_the_page_s_policy_lets_in_its_own_script_and_style_alone(evil: Timeline) -> None:
    page = written("html", evil)
    (policy,) = re.findall(r'Content-Security-Policy" content="([^"]*)"', page)
    parts = dict(part.strip().split(" ", 1) for part in policy.split(";"))
    assert parts["default-src"] == "'none'"
    assert parts["script-src"].startswith("'sha256-")
    assert parts["style-src"].startswith("'sha256-")
    assert "unsafe" not in policy


def test_the_page_s_script_sets_text_and_asks_nobody() -> None:
    """The script inserts names as text and loads nothing, so it does not depend on the page's security policy."""
    scripts = "".join(file.read_text() for file in sorted((Path(forms.__file__).parents[1] / "assets").glob("*.js")))
    assert len(scripts) > 10_000
    markup = r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\b|new Function|setAttribute\(\"on"
    assert re.findall(rf"{markup}|fetch\(|XMLHttp|WebSocket|import\(", scripts) == []


def test_the_svg_is_well_formed_and_shows_names_as_text(evil: Timeline) -> None:
    root = XML.fromstring(written("svg", evil))
    assert root.tag == f"{SVG}svg"
    tags = {each.tag.removeprefix(SVG) for each in root.iter()}
    assert tags <= {"svg", "title", "style", "defs", "pattern", "path", "rect", "text", "g"}
    texts = [each.text or "" for each in root.iter(f"{SVG}text")]
    assert any("<script>" in each for each in texts)
    assert any(each.startswith("Compl") for each in texts)
    lanes = [each for each in root.iter(f"{SVG}g") if each.get("class") == "lane"]
    assert len(lanes) == sum(len(group.lanes) for group in evil.groups)


def test_legend_of_the_page_has_every_sign_and_that_of_the_svg_the_drawn_ones(evil: Timeline) -> None:
    words = {sign.name: sign.words for sign in SIGNS.values() if sign.words}
    (legend,) = re.findall(r'<ul id="legend".*?</ul>', written("html", evil), flags=re.DOTALL)
    assert re.findall(r'data-sign="([^"]*)".*?<span>([^<]*)</span>', legend) == [(name, escape(each)) for name, each in words.items()]
    scene = scene_of(evil)
    drawn = {name for row in scene.rows if not row.under for item in row.items for name in scene.signs[item.sign].legend}
    svg = [each.text for each in XML.fromstring(written("svg", evil)).iter(f"{SVG}text")]
    assert [each for each in svg if each in words.values()] == [each for name, each in words.items() if name in drawn]
    assert len(words) > len(drawn) > 5


def test_signs_of_the_legend_look_different_without_their_colours() -> None:
    looks = {sign.name: svg_form.Painter(FORCED).sign(sign, 0, 9, 0, 9, 0) for sign in SIGNS.values() if sign.words}
    assert len(set(looks.values())) == len(looks)


def test_labels_of_a_row_do_not_overlap_in_the_svg(evil: Timeline) -> None:
    """The widths are those by which the labels were placed, which are rather too wide than too narrow."""
    for group in XML.fromstring(written("svg", evil)).iter(f"{SVG}g"):
        if group.get("class") in (None, "title"):
            continue
        lines: dict[str, list[tuple[float, float]]] = {}
        for text in group.iter(f"{SVG}text"):
            css = (text.get("class") or "").split()
            if "o" in css:
                x, wide = float(text.get("x") or 0), svg_form.wide_of(text.text or "")
                lines.setdefault(text.get("y") or "", []).append((x - wide, x) if "e" in css else (x, x + wide))
        for spans in lines.values():
            ordered = sorted(spans)
            assert all(one[1] <= other[0] for one, other in pairwise(ordered)), ordered


def test_the_trace_has_what_the_format_asks_of_each_phase(evil: Timeline) -> None:
    """Chrome's Trace Event Format requires certain fields for the phases "M", "X", "i", "b" and "e"."""
    trace = json.loads(written("perfetto", evil))
    wanted = {"M": {"name", "pid", "tid", "args"}, "X": {"name", "pid", "tid", "ts", "dur", "args"}, "i": {"name", "pid", "tid", "ts", "s"},
              "b": {"name", "cat", "id", "ts", "pid"}, "e": {"name", "cat", "id", "ts", "pid"}}  # fmt: skip
    events: list[dict[str, Any]] = trace["traceEvents"]
    assert {each["ph"] for each in events} == set(wanted)
    assert [each for each in events if not wanted[each["ph"]] <= each.keys()] == []
    assert [each for each in events if each["ph"] != "M" and (each["ts"] < 0 or each.get("dur", 0) < 0)] == []
    opened = sorted((each["id"], each["name"]) for each in events if each["ph"] == "b")
    assert opened == sorted((each["id"], each["name"]) for each in events if each["ph"] == "e")


def test_slices_of_one_thread_of_the_trace_do_not_overlap(evil: Timeline) -> None:
    trace = json.loads(written("perfetto", evil))
    slices: dict[tuple[int, int], list[tuple[float, float]]] = {}
    for each in trace["traceEvents"]:
        if each["ph"] == "X":
            slices.setdefault((each["pid"], each["tid"]), []).append((each["ts"], each["ts"] + each["dur"]))
    assert slices
    for spans in slices.values():
        ordered = sorted(spans)
        assert all(one[1] <= other[0] + 1e-6 for one, other in pairwise(ordered)), ordered


@for_each("form", ["html", "svg", "perfetto"])
def test_no_journal_at_all_is_a_picture_too(form: str) -> None:
    assert written(form, Drawing().timeline())


@for_each(
    ("file", "form"),
    [("a.html", "html"), ("a.SVG", "svg"), ("a.perfetto.json", "perfetto"), ("b/c.json", "perfetto")],
)
def test_the_name_of_the_file_says_the_form(file: str, form: str) -> None:
    assert form_of(file) == form


def test_a_name_that_says_none_is_refused_with_those_that_do() -> None:
    with pytest.raises(UnknownForm, match=r"a\.png: its name says no form: end it in \.html, \.svg or \.perfetto\.json"):
        form_of("a.png")


@for_each(
    ("at", "step", "shown"),
    [
        (0, NS_PER_S, "0 s"),
        (2_500_000_000, NS_PER_S // 2, "2.5 s"),
        (1_234_000_000, 1_000_000, "1.234 s"),
        (90 * NS_PER_S, 30 * NS_PER_S, "1:30"),
        (3725 * NS_PER_S, 60 * NS_PER_S, "1:02:05"),
        (601_500_000_000, NS_PER_S // 2, "10:01.5"),
    ],
)
def test_a_tick_is_said_as_a_clock_says_it(at: int, step: int, shown: str) -> None:
    assert clock_text(at, step) == shown


@for_each(
    ("span", "step"),
    [(10 * NS_PER_S, NS_PER_S), (600 * NS_PER_S, 60 * NS_PER_S), (86_400 * NS_PER_S, 7200 * NS_PER_S), (5_000, 1_000)],
)
def test_ticks_stand_at_round_times(span: int, step: int) -> None:
    assert step_of(span, 12) == step
