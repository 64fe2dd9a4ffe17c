"""Every failure that `make search` found (docs/proof/search.md) is played again from the files of this folder."""

from __future__ import annotations

from pathlib import Path

import pytest
from found import FOLDER
from properties import try_again

FILES = sorted(FOLDER.glob("*.json"))


@pytest.mark.parametrize("file", FILES, ids=[file.stem for file in FILES])
def test_what_was_found_is_mended(file: Path) -> None:
    try_again(file.read_text(encoding="utf-8"))
