"""Record files are written so that a diff shows what changed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tools.records import RECORDS, one_object_a_line, save

FILES = sorted(str(file.relative_to(RECORDS)) for file in RECORDS.rglob("*.json"))
OF_THE_PRODUCT = ("characteristics.json", "scenarios-large.json", "scenarios-live.json", "scenarios-virtual.json")
"""Records that `groupmock scenario table` and `groupmock pipeline campaign` write, with one result per line."""


@pytest.mark.parametrize("name", [each for each in FILES if each not in OF_THE_PRODUCT])
def test_a_record_is_as_it_would_be_written_again(name: str, tmp_path: Path) -> None:
    save(tmp_path / "again.json", json.loads((RECORDS / name).read_text(encoding="utf-8")))
    assert (tmp_path / "again.json").read_text(encoding="utf-8") == (RECORDS / name).read_text(encoding="utf-8")


def test_an_entry_is_a_line_and_so_is_an_object_of_a_moderate_size() -> None:
    verdicts = {"a": {"ok": True, "saw": [1, 2]}, "b": {"ok": False, "why": "x" * 240}}
    assert one_object_a_line({"checks": verdicts, "of": [{"one": {"two": 2}}, {}]}).splitlines() == [
        "{",
        ' "checks": {',
        '  "a": {"ok": true, "saw": [1, 2]},',
        f'  "b": {{"ok": false, "why": "{"x" * 240}"}}',
        " },",
        ' "of": [',
        '  {"one": {"two": 2}},',
        "  {}",
        " ]",
        "}",
    ]
