"""A test made by `for_each` reports every wrong case of its table and hides none."""

from __future__ import annotations

import inspect
from pathlib import Path

import pytest
from cases import SHOWN, for_each


def said(test: object, **fixtures: object) -> str:
    """Return the message with which a test made by `for_each` fails."""
    assert callable(test)
    with pytest.raises(AssertionError) as failure:
        test(**fixtures)
    return str(failure.value)


def test_every_wrong_case_is_named_with_what_it_says_and_no_other() -> None:
    @for_each(("number", "wanted"), [(1, 1), (2, 3), (3, 3), (4, 5)], ids=["one", "two", "three", "four"])
    def equal(number: int, wanted: int) -> None:
        assert number == wanted, f"{number} is not {wanted}"

    assert [line.split("\n")[0] for line in said(equal).split("- ")] == ["2 of 4 cases are wrong:", "two: 2 is not 3", "four: 4 is not 5"]


def test_an_exception_and_a_missing_one_are_wrong_too() -> None:
    @for_each("number", [0, 1])
    def raises(number: int) -> None:
        with pytest.raises(ZeroDivisionError):
            assert 1 / number

    assert "- 1: DID NOT RAISE" in said(raises)

    @for_each("name", ["a", "b"])
    def broken(name: str) -> None:
        raise KeyError(name)

    assert "- a: KeyError: 'a'\n- b: KeyError: 'b'" in said(broken)


def test_when_many_are_wrong_the_rest_is_named() -> None:
    @for_each("number", range(SHOWN + 3))
    def wrong(number: int) -> None:
        pytest.fail("too large")

    lines = said(wrong).splitlines()[1:]
    assert (lines[SHOWN - 1], lines[SHOWN:]) == (f"- {SHOWN - 1}: too large", [f"- {SHOWN + more}" for more in range(3)])


def test_a_decorator_upon_another_makes_every_pair() -> None:
    seen = []

    @for_each("left", "ab")
    @for_each("right", [1, 2])
    def pair(left: str, right: int) -> None:
        seen.append((left, right))

    pair()
    assert sorted(seen) == [("a", 1), ("a", 2), ("b", 1), ("b", 2)]


def test_a_case_finds_nothing_of_the_one_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    @for_each("number", [1, 2])
    def leaves_traces(number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
        assert (list(tmp_path.iterdir()), capsys.readouterr().out, hasattr(Path, "trace")) == ([], "", False)
        (tmp_path / "trace").touch()
        print("trace")
        monkeypatch.setattr(Path, "trace", number, raising=False)

    assert list(inspect.signature(leaves_traces).parameters) == ["tmp_path", "monkeypatch", "capsys"]
    leaves_traces(tmp_path=tmp_path, monkeypatch=monkeypatch, capsys=capsys)


def test_a_table_that_does_not_fit_its_test_is_a_mistake() -> None:
    def takes_a(a: int) -> None: ...

    with pytest.raises(AssertionError, match="a test of no case cannot fail"):
        for_each("a", [])
    with pytest.raises(AssertionError, match="takes_a takes no b"):
        for_each("b", [1])(takes_a)

    async def waits(a: int) -> None: ...

    with pytest.raises(AssertionError, match="waits would not be awaited"):
        for_each("a", [1])(waits)
