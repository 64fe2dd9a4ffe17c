"""The timeline page works in Chromium: contents, keys and mouse, table, filter, links and files."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree as XML

import pytest
from playwright.sync_api import Page

Open = Callable[..., Page]


def span(page: Page) -> tuple[float, float]:
    """Return the visible time span in seconds."""
    first, last = (page.text_content("#span") or "").replace(" s", "").split(" to ")
    return float(first), float(last)


def test_lanes_carry_their_members_and_the_details_the_whole_id(see: Open) -> None:
    page = see("three-consumers")
    labels = page.locator(".row.lane .label").all_text_contents()
    assert [each.split("#")[0] for each in labels] == ["anna", "ben", "cleo"]
    page.locator(".row.lane .label").first.focus()
    facts = page.text_content("#facts") or ""
    assert "member idanna-" in facts
    assert "client idanna" in facts


def test_keys_zoom_move_and_show_the_whole_run_again(see: Open) -> None:
    page = see("crash")
    whole = span(page)
    page.locator(".row.lane .label").first.focus()
    page.keyboard.press("+")
    page.keyboard.press("+")
    near = span(page)
    assert near[1] - near[0] < (whole[1] - whole[0]) / 2
    page.keyboard.press("ArrowRight")
    assert span(page)[0] > near[0]
    page.keyboard.press("ArrowLeft")
    assert span(page) == near
    page.keyboard.press("-")
    assert span(page)[1] - span(page)[0] > near[1] - near[0]
    page.keyboard.press("Home")
    assert span(page) == whole


def test_tab_reaches_the_marks_of_a_lane_and_arrows_the_other_lanes(see: Open) -> None:
    page = see("three-consumers")
    page.locator(".row.lane .label").first.focus()
    seen = []
    for _ in range(4):
        page.keyboard.press("Tab")
        seen.append(page.evaluate("document.activeElement.getAttribute('aria-label')"))
        assert page.evaluate("document.activeElement.matches(':focus-visible')")
    assert all(seen), seen
    assert any("JoinGroup" in each for each in seen), seen
    assert "request" in (page.text_content("#facts") or "") or "partitions" in (page.text_content("#facts") or "")
    page.keyboard.press("ArrowDown")
    assert (page.evaluate("document.activeElement.textContent") or "").startswith("ben")


def test_the_mouse_shows_what_it_points_at_and_drags_and_zooms(see: Open) -> None:
    page = see("crash")
    box = page.locator("#canvas").bounding_box()
    assert box is not None
    state = page.locator(".row.state").bounding_box()
    assert state is not None
    page.mouse.move(box["x"] + box["width"] * 0.6, state["y"] + state["height"] / 2)
    assert (page.text_content("#tip") or "").startswith("Stable")
    assert page.text_content("#what") == "Details"
    page.mouse.down()
    page.mouse.up()
    assert page.text_content("#what") == "Stable"
    whole = span(page)
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + 10)
    shown = page.text_content("#span")
    page.mouse.wheel(0, -300)
    page.wait_for_function("before => document.getElementById('span').textContent !== before", arg=shown)
    assert span(page)[1] - span(page)[0] < whole[1] - whole[0]
    before = span(page)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] / 2 - 100, box["y"] + 10)
    page.mouse.up()
    assert span(page)[0] > before[0]


def test_the_filter_holds_for_lanes_and_table(see: Open) -> None:
    page = see("three-hundred")
    page.fill("#filter", "m0017")
    page.wait_for_function("() => document.querySelectorAll('.row.lane').length === 1")
    page.click("#as-table")
    page.wait_for_selector("#body tr")
    rows = page.locator("#body tr").all_text_contents()
    assert [each for each in rows if "m0017" not in each] == []
    page.fill("#filter", "nobody owns")
    every = "[...document.querySelectorAll('#body tr')].every((each) => each.textContent.includes('nobody owns'))"
    page.wait_for_function(f"() => {every}")


def test_hundreds_are_drawn_in_a_frame_that_nobody_waits_for(see: Open) -> None:
    page = see("three-hundred")
    assert page.locator(".row.lane").count() == 300
    took = page.evaluate("""() => new Promise((done) => {
        const [begin, button] = [performance.now(), document.getElementById('in')];
        let left = 20;
        const turn = () => {
            if (!left--) { done((performance.now() - begin) / 20); return; }
            button.click();
            requestAnimationFrame(turn);
        };
        turn();
    })""")
    assert took < 200, f"{took:.0f} ms a frame"


def test_hostile_names_do_nothing_but_show(see: Open) -> None:
    page = see("hostile")
    assert page.title() == "groupmock timeline"
    assert page.locator("img, b, iframe").count() == 0
    assert "<img src=x" in (page.locator(".row.lane .label").first.text_content() or "")
    page.click("#as-table")
    page.wait_for_selector("#body tr")
    assert page.locator("img, b").count() == 0


def test_a_link_leads_to_the_same_part_of_the_picture(see: Open) -> None:
    page = see("crash", part="from=2&to=5&filter=m0002&order=arrival&rows=low")
    assert span(page) == (2.0, 5.0)
    assert page.locator(".row.lane .label").count() == 2
    assert page.input_value("#filter") == "m0002"
    assert page.get_attribute("#compact", "aria-pressed") == "true"
    page.fill("#filter", "m0001")
    page.keyboard.press("Tab")
    page.click("#in")
    page.wait_for_function("() => location.hash.includes('filter=m0001') && location.hash.includes('from=2.6')")
    assert "order=arrival" in page.evaluate("location.hash")


def test_lanes_are_ordered_by_client_or_by_arrival(see: Open) -> None:
    page = see("crash")
    names = [each.split("#")[0] for each in page.locator(".row.lane .label").all_text_contents()]
    assert names == ["m0001", "m0002", "m0002", "m0003"]
    page.select_option("#order", "arrival")
    names = [each.split("#")[0] for each in page.locator(".row.lane .label").all_text_contents()]
    assert names == ["m0001", "m0003", "m0002", "m0002"]


@pytest.mark.parametrize("form", ["svg", "png"])
def test_the_view_can_be_saved(see: Open, form: str) -> None:
    page = see("crash", part="from=4&to=8")
    with page.expect_download() as saved:
        page.click(f"#save-{form}")
    data = Path(saved.value.path()).read_bytes()
    assert saved.value.suggested_filename == f"timeline.{form}"
    if form == "svg":
        texts = [each.text for each in XML.fromstring(data).iter("{http://www.w3.org/2000/svg}text")]
        assert {"session expired", "5.0 s", "m0001#1e2f"} <= set(texts)
    else:
        assert data.startswith(b"\x89PNG")


def test_light_and_dark_can_be_chosen(see: Open) -> None:
    page = see("crash", color_scheme="light")
    light = page.evaluate("getComputedStyle(document.body).backgroundColor")
    page.click("#theme")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") != light


def test_it_prints_every_lane(see: Open) -> None:
    page = see("three-hundred")
    page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
    page.emulate_media(media="print")
    pieces = page.locator("#paper canvas").count()
    assert pieces >= 300 * 24 / 560
    assert page.pdf(format="A4", landscape=True).startswith(b"%PDF")
