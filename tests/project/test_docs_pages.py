"""The pages that come from the program say what the program says."""

from __future__ import annotations

from pathlib import Path

import pytest
from tools import docs_pages


@pytest.mark.parametrize("page", ["reference/settings.md", "reference/journal.md", "reference/states.md", "proof/fidelity.md", "reference/control.md"])
def test_generated_page_is_current(page: str, tree: Path) -> None:
    assert (tree / "docs" / page).read_text() == docs_pages.PAGES[page](), "run `make docs`"


def test_every_generated_page_is_compared() -> None:
    reference = {f"reference/{page}.md" for page in ("settings", "journal", "states", "control")}
    assert set(docs_pages.PAGES) == {*reference, "proof/fidelity.md", "proof/scenarios.md"}
