"""The pages that come from the program say what the program says."""

from __future__ import annotations

from pathlib import Path

import pytest

from tools.pages import docs_pages


@pytest.mark.parametrize("page", ["settings.md", "journal.md", "states.md", "fidelity.md", "control.md"])
def test_generated_page_is_current(page: str, tree: Path) -> None:
    assert (tree / "docs" / page).read_text() == docs_pages.PAGES[page](), "run `make docs`"


def test_every_generated_page_is_compared() -> None:
    assert set(docs_pages.PAGES) == {"settings.md", "journal.md", "states.md", "fidelity.md", "scenarios.md", "control.md"}
