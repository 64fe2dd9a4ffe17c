"""Random draws in deciding tests do not depend on the order of tests, because pytest-xdist workers load different modules."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from searching import examples

ODD = 918_273_645
MANY = 400


def drawn() -> list[tuple[int, str]]:
    """Return the values that hypothesis draws for one property."""
    seen: list[tuple[int, str]] = []

    @examples(MANY)
    @given(number=st.integers(0, 2**31), text=st.text(max_size=9))
    def holds(number: int, text: str) -> None:
        seen.append((number, text))

    holds()
    return seen


def test_a_module_more_changes_no_draw(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """hypothesis draws constants from the sources of loaded local modules, so another order of tests used to draw other values."""
    before = drawn()
    for number in range(40):
        file = tmp_path / f"odd_constants_{number}.py"
        file.write_text(f"NUMBER, TEXT = {ODD + number}, 'odd {number}'\n")
        spec = importlib.util.spec_from_file_location(file.stem, file)
        assert spec is not None and spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        monkeypatch.setitem(sys.modules, file.stem, module)
    assert drawn() == before
    assert len(set(before)) > MANY // 2
