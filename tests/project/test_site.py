"""The site has every page of docs/, and its readers' browsers fetch nothing from elsewhere."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tools import site_builder as site

TREE = Path(__file__).resolve().parents[2]
FETCHING = {
    '<script src="https://cdn.test/a.js"></script>': "fetches https://cdn.test/a.js",
    '<link rel="stylesheet" href="//fonts.test/a.css">': "fetches //fonts.test/a.css",
    '<img src="data:," srcset="b.png, https://img.test/b.png 2x">': "fetches https://img.test/b.png 2x",
    '<p style="background: url(https://img.test/c.png)">': "fetches https://img.test/c.png",
    '<style>@import "https://fonts.test/b.css";</style>': "fetches https://fonts.test/b.css",
    '<iframe src="https://frame.test/"></iframe>': "fetches https://frame.test/",
}
QUIET = '<a href="https://kafka.apache.org/">Kafka</a><link rel="canonical" href="https://here.test/"><code>url(//a.test)</code>'


@pytest.mark.parametrize("text", FETCHING)
def test_a_page_that_fetches_from_elsewhere_is_found(text: str, tmp_path: Path) -> None:
    (tmp_path / "index.html").write_text(QUIET + text)
    assert list(site.faults(tmp_path)) == [f"index.html: {FETCHING[text]}"]


def test_an_address_in_a_script_counts_if_a_page_makes_the_script_fetch_it(tmp_path: Path) -> None:
    script = tmp_path / "bundle.js"
    script.write_text("'http://www.w3.org/2000/svg', `https://api.github.com/repos/${e}`, 'https://unpkg.com/mermaid@12/dist/mermaid.min.js'")
    (tmp_path / "index.html").write_text(QUIET)
    assert list(site.faults(tmp_path)) == []
    (tmp_path / "index.html").write_text('<div data-md-component="source"></div>')
    (found,) = site.faults(tmp_path)
    assert found.startswith("bundle.js: fetches https://api.github.com/repos/${e}, because")
    script.write_text("'https://new.test/a.js'")
    (found,) = site.faults(tmp_path)
    assert found.startswith("bundle.js: has https://new.test/a.js: find out what makes it fetch that")


def test_a_style_that_fetches_from_elsewhere_is_found(tmp_path: Path) -> None:
    (tmp_path / "a.css").write_text("a { background: url('img/a.png') } b { background: url('https://img.test/a.png') }")
    assert list(site.faults(tmp_path)) == ["a.css: fetches https://img.test/a.png"]


def test_a_picture_that_is_not_there_is_found(tmp_path: Path) -> None:
    (tmp_path / "how-to").mkdir()
    (tmp_path / "a.png").touch()
    (tmp_path / "how-to" / "index.html").write_text('<img src="../a.png"><iframe src="a.html"></iframe>')
    assert list(site.faults(tmp_path)) == ["how-to/index.html: there is no a.html"]


def test_every_page_has_a_line_in_the_navigation() -> None:
    """Zensical builds a page that is in no menu without a word."""
    pages = {file.relative_to(TREE / "docs").as_posix() for file in (TREE / "docs").rglob("*.md")}
    assert set(re.findall(r"[\w/-]+\.md", (TREE / "mkdocs.yml").read_text().partition("\nnav:")[2])) == pages
