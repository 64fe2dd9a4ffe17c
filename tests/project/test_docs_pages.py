"""The pages that come from the program say what the program says."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest


@pytest.mark.parametrize("page", ["settings.md", "journal.md", "states.md", "fidelity.md", "control.md"])
def test_generated_page_is_current(page: str, tree: Path, tool: Callable[[str], ModuleType]) -> None:
    assert (tree / "docs" / page).read_text() == tool("docs_pages").PAGES[page](), "run `make docs`"


def test_every_generated_page_is_compared(tool: Callable[[str], ModuleType]) -> None:
    assert set(tool("docs_pages").PAGES) == {"settings.md", "journal.md", "states.md", "fidelity.md", "scenarios.md", "control.md"}
