"""What chance found (`make search`, docs/search.md), tried again: every file of this folder decides from the day it was written.

A `Property` is tried with the file's case; a golden play (a script with what Kafka answered) is played on the core.
"""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
import pytest
from found import FOLDER, replay
from properties import properties

from groupmock_clients.differential.corpus import Golden, differences

FILES = sorted(FOLDER.glob("*.json"))


def try_again(file: Path) -> None:
    """Raises when the find is not mended."""
    text = file.read_text(encoding="utf-8")
    if "script" in json.loads(text):
        assert [str(each) for each in differences(msgspec.json.decode(text, type=Golden))] == []
    else:
        replay(text, properties())


@pytest.mark.parametrize("file", FILES, ids=[file.stem for file in FILES])
def test_what_was_found_is_mended(file: Path) -> None:
    try_again(file)
