"""Generated pages agree with the programs and records that they are made from."""

from __future__ import annotations

import pytest

from tools.pages.all_pages import PAGES, current, path
from tools.runs import ROOT


@pytest.mark.parametrize("name", PAGES)
def test_the_page_is_current(name: str) -> None:
    assert path(name).read_text(encoding="utf-8") == current(name), "run `make docs`"


def test_every_writer_has_a_line_in_the_table() -> None:
    writers = {file.stem.removesuffix("_page") for file in ROOT.glob("tools/pages/*_page.py")}
    assert writers == set(PAGES)
