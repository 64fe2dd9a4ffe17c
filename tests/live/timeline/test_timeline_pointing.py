"""Pointing at a band or a mark of the timeline page names that band or mark, wherever in it the pointer is."""

from __future__ import annotations

import random
from bisect import bisect_left
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import pytest
from playwright.sync_api import Page
from situations import SITUATIONS

from groupmock.timeline.forms.svg import placed
from groupmock.timeline.scene import Item, Scene, SceneRow, scene_of
from groupmock.timeline.signs import PINS, SIGNS

Open = Callable[..., Page]
PLACES: Final = {"crash": 60, "faults": 40, "findings": 40, "three-hundred": 60}
"""The number of random places on the page of each situation, 200 together."""
SIGN: Final = list(SIGNS.values())
POINT: Final = """([place, from, until]) => {
    Picture.show(from, until);
    const row = document.querySelectorAll("#labels > li")[place];
    document.getElementById("scroll").scrollTop = row.offsetTop - 60;
    const [box, canvas] = [row.getBoundingClientRect(), document.getElementById("canvas").getBoundingClientRect()];
    return [canvas.left, canvas.width, box.top, box.height];
}"""


def points_of(row: SceneRow) -> list[int]:
    """Return the times of the points that are drawn above the bands of a row."""
    return sorted(each.since for each in row.items if SIGN[each.sign].point)


def choose(dice: random.Random, scene: Scene) -> tuple[int, Item]:
    """Choose a band or a mark that no other one covers at every zoom, and the place of its row."""
    lanes = [place for place, row in enumerate(scene.rows) if row.kind == "lane" and row.items]
    while True:
        place = dice.choice(lanes)
        row = scene.rows[place]
        item = dice.choice(row.items)
        sign = SIGN[item.sign]
        alone = points_of(row).count(item.since) == 1
        if (sign.name == "band" and item.lasted > 1_000_000) or (sign.point and alone and sign.layer <= PINS):
            return place, item


def window(dice: random.Random, row: SceneRow, item: Item, width: float) -> tuple[float, float, float]:
    """Return a visible time span that shows the item apart from others, and the time that is pointed at."""
    times = points_of(row)
    if SIGN[item.sign].point:
        place = bisect_left(times, item.since)
        others = [abs(times[each] - item.since) for each in (place - 1, place + 1) if 0 <= each < len(times)]
        span = max(2000.0, min([10e9, *others]) * width / 30)
        begin = item.since - span * dice.uniform(0.2, 0.8)
        return begin, begin + span, item.since
    span = dice.uniform(0.5, 3) * item.lasted
    at = item.since + dice.uniform(0.05, 0.95) * item.lasted
    begin = at - span * dice.uniform(0.2, 0.8)
    return begin, begin + span, at


@pytest.mark.parametrize("name", PLACES)
def test_pointing_names_the_band_or_the_mark_under_the_pointer(see: Open, tmp_path: Path, name: str) -> None:
    dice = random.Random(f"44 {name}")
    scene = scene_of(SITUATIONS[name](tmp_path))
    scene.rows = [row for row in scene.rows if not row.under]  # Folded rows have no place.
    page = see(name, width=1300, part="rows=high")
    wrong: list[Any] = []
    for _ in range(PLACES[name]):
        place, item = choose(dice, scene)
        row, sign = scene.rows[place], SIGN[item.sign]
        asked, until, at = window(dice, row, item, 800)
        begin, end = scene.begin - 0.012 * (scene.end - scene.begin), scene.end + 0.012 * (scene.end - scene.begin)
        # The page moves a span that would leave the run, so that it ends with the run.
        span = min(until - asked, end - begin)
        asked = min(max(asked, begin), end - span)
        left, width, top, _ = page.evaluate(POINT, [place, asked, asked + span])
        box_top, high = placed(sign.box, row.high)
        aside = dice.uniform(-4, 4) if sign.point else 0
        x, y = left + (at - asked) / span * width + aside, top + box_top + dice.uniform(0.2, 0.8) * (high if sign.point else 0.4 * high)
        page.mouse.move(x, y)
        told = page.locator("#tip").inner_text() if page.locator("#tip").is_visible() else "nothing"
        what, result = scene.texts[item.what], scene.texts[item.result]
        if not told.startswith(f"{what}: {result}" if result else what) or f"time: {item.since / 1e9:.3f} s" not in told:
            wrong.append((row.title, what, result, item.since / 1e9, sign.name, told))
    assert wrong == []
