"""Every situation of the timeline page is kept as a picture in `build/screenshots`, and axe finds nothing in it that WCAG AA forbids."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import pytest
from playwright.sync_api import Browser, Page
from wcag import violations

Open = Callable[..., Page]
Keep = Callable[..., None]
LOOKS: Final[dict[str, tuple[str, dict[str, Any]]]] = {
    "crash": ("crash", {}),
    "bounce-eager": ("bounce-eager", {}),
    "bounce-kip-429": ("bounce-kip-429", {}),
    "bounce-design-2": ("bounce-design-2", {}),
    "bounce-kip-848": ("bounce-kip-848", {}),
    "crowd-zoomed": ("crowd", {"part": "from=0.9&to=4.3&rows=low"}),
    "stuck-transaction": ("stuck", {}),
    "hanging-rebalance": ("hanging", {}),
    "faults": ("faults", {}),
    "findings": ("findings", {}),
    "dark": ("crash", {"color_scheme": "dark"}),
    "narrow": ("crash", {"width": 400, "height": 800}),
    "forced-colours": ("crash", {"forced_colors": "active"}),
    "forced-colours-dark": ("crash", {"forced_colors": "active", "color_scheme": "dark"}),
    "eager-and-design-2": ("eager-and-design-2", {}),
    "hostile": ("hostile", {}),
}
"""Maps the name of a screenshot to its situation and to how it is looked at. Those of the live page and of the pipeline's report are kept
by the tests of these."""
ROOT: Final = Path(__file__).resolve().parents[3]


@pytest.mark.parametrize("look", LOOKS)
def test_axe_finds_nothing_in_the_picture_nor_in_the_table(see: Open, keep: Keep, look: str) -> None:
    name, how = LOOKS[look]
    page = see(name, **{"height": 960, **how})
    keep(page, look, "width" in how)  # On a narrow screen one scrolls.
    page.click("#as-table")
    page.wait_for_selector("#body tr")
    page.locator("button.label").nth(2).focus()
    assert violations(page) == []


def test_marks_are_seen_in_a_dark_palette_that_the_browser_forces(see: Open) -> None:
    page = see("crash", forced_colors="active", color_scheme="dark")
    light = page.evaluate("""() => {
        const canvas = document.getElementById("canvas");
        const row = Rows.rows.find((each) => each.kind === "moves");
        const { data } = canvas.getContext("2d").getImageData(0, Draw.AXIS + row.y, canvas.width, row.h);
        return row.items.map((item) => {
            const x = Math.round(((item.a - Rows.whole.a) / (Rows.whole.b - Rows.whole.a)) * canvas.width);
            const near = (place) => place % 4 === 0 && Math.abs(((place / 4) % canvas.width) - x) <= 4;
            return data.filter((value, place) => near(place) && value > 200).length;
        });
    }""")
    assert light
    assert min(light) > 4


def test_paper_shows_what_the_screen_shows(see: Open, keep: Keep) -> None:
    page = see("crash", color_scheme="dark")
    page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
    page.emulate_media(media="print")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert page.locator("#paper canvas").count() == 1
    signs = page.locator("#legend [data-sign]:visible")
    assert signs.count() > 5
    boxes = [each.bounding_box() for each in (signs.last, page.locator("#paper canvas"))]
    assert boxes[0] and boxes[1] and boxes[0]["y"] < boxes[1]["y"], "the first sheet has the legend"
    keep(page, "print")


def test_the_map_of_the_readme_is_kept_too(browser: Browser, keep: Keep) -> None:
    (map_file,) = sorted((ROOT / "docs" / "images").glob("ownership*.svg"))
    page = browser.new_page(viewport={"width": 1100, "height": 900})
    try:
        page.goto(map_file.as_uri())
        keep(page, "readme-map")
    finally:
        page.close()
