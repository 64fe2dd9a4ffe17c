"""The heat table has a cell per scenario and protocol, whose numbers say what its shades say."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from scenario_figures import figures, one, results

from groupmock.cli import main
from groupmock_clients.scenarios.heat_table import level_of, page


def cells(text: str) -> list[list[str]]:
    """Return the lines of the table's body, each cell as its HTML."""
    body = text[text.index("<tbody>") : text.index("</tbody>")]
    return [re.findall(r"<t[dh].*?>(.*?)</t[dh]>", line, re.DOTALL) for line in re.findall(r"<tr>(.*?)</tr>", body, re.DOTALL)]


def test_heat_table_has_moves_unowned_seconds_and_generations() -> None:
    range_ = figures(40, unowned_s=7.5, generations=8)
    found = results(
        one("rolling-bounce", "range", "scripted", figures=range_),
        one("rolling-bounce", "design-2", "scripted", figures=figures(0, unowned_s=30.0, generations=1)),
        one("scale-up", "range", "scripted", figures=figures(2, unowned_s=0.0, generations=1)),
    )
    text = page(found)
    assert re.findall(r'<th scope="col">(.*?)<span class="quiet">(.*?)<', text) == [("eager range", "scripted"), ("Design II", "scripted")]
    bounce, scale_up = cells(text)
    assert bounce[0].startswith("rolling-bounce<") and scale_up[0].startswith("scale-up<")
    assert bounce[1] == (
        '<ul><li class="h4 most">40 moved</li><li class="h1">7.5 s unowned</li><li class="h4 most">8 generations</li></ul>'
    )
    assert bounce[2] == '<ul><li class="h0">0 moved</li><li class="h4 most">30.0 s unowned</li><li class="h1">1 generation</li></ul>'
    assert scale_up[1:] == [
        '<ul><li class="h0">2 moved</li><li class="h0">0.0 s unowned</li><li class="h0">1 generation</li></ul>',
        '<span class="quiet">not played</span>',
    ]
    assert all(f".h{level} {{ background" in text for level in range(1, 5))


@pytest.mark.parametrize(("value", "most", "level"), [(0, 9, 0), (0.001, 9, 1), (25, 100, 1), (26, 100, 2), (100, 100, 4)])
def test_shade_is_the_share_of_the_most_of_a_line(value: float, most: float, level: int) -> None:
    assert level_of(value, most) == level


def test_heat_table_says_what_was_not_measured_or_broke_an_invariant() -> None:
    found = results(
        one(figures=None, trouble="missed: <b>\nand a story"), one(protocol="design-1", broken=["nobody owns <i>"]), one(protocol="range")
    )
    text = page(found)
    assert '<span class="bad">missed: &lt;b&gt;</span>' in text
    assert '<div class="bad">nobody owns &lt;i&gt;</div>' in text


def test_picture_of_a_cell_stands_above_its_numbers() -> None:
    text = page(results(one(picture='<svg style="x"></svg>'), one(protocol="range")))
    assert text.count('<div class="map">') == 1
    assert '<td><div class="map"><svg style="x"></svg></div><ul>' in text
    assert "'unsafe-inline'" in text and "'unsafe-inline'" not in page(results(one()))


def test_scenario_table_writes_the_heat_table(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "heat.html"
    words = ["scenario", "table", "rolling-bounce", "--protocol", "range", "--protocol", "design-2/scripted", "--report", "html"]
    assert main([*words, "--output", str(file)]) == 0
    assert capsys.readouterr().out == ""
    text = file.read_text(encoding="utf-8")
    ((_, eager, design_2),) = cells(text)
    assert ">40 moved<" in eager and ">0 moved<" in design_2
    assert main(words) == 0
    assert capsys.readouterr().out == text


def test_heat_table_is_a_form_of_the_table_alone(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["scenario", "run", "scale-up", "--report", "html"]) == 2
    assert "--report html is for `groupmock scenario table`" in capsys.readouterr().err
