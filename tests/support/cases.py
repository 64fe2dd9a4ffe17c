"""Runs every case of a table in one test and lists the failing cases by name. Separate tests would fail for the same reason and fill a
report with hundreds of ids. `for_each` has the arguments of `pytest.mark.parametrize`."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial, wraps
from typing import Any, Final, NamedTuple

import pytest

SHOWN: Final = 12
"""Number of failing cases that a report shows in full. The others are shown by name."""
LINES: Final = 8
WIDTH: Final = 60
FAILURES: Final = (Exception, pytest.fail.Exception)


class Case(NamedTuple):
    """A row of the table: the name and the test's arguments."""

    name: str
    arguments: dict[str, Any]


def for_each(
    names: str | Sequence[str], rows: Iterable[Any], ids: Callable[[Any], object] | Iterable[object] | None = None
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Call the test once per row and report all failing rows together. Stacked decorators combine every pair of rows. One decorator upon
    another makes every pair.

    `ids` are the names of the rows, or a function from a value to a name. Each case has its own `tmp_path`, an undone `monkeypatch`, and
    empty `capsys` and `caplog`; the cases share all other fixtures.
    """
    fields = [name.strip() for name in names.split(",")] if isinstance(names, str) else list(names)
    listed = list(rows)
    assert listed, "a test of no case cannot fail"
    called = ids if callable(ids) else str_of
    told = [called(row) if len(fields) == 1 else "-".join(str(called(value)) for value in row) for row in listed]
    told = told if ids is None or callable(ids) else [str(name) for name in ids]
    cases = [
        Case(str(name), dict(zip(fields, [row] if len(fields) == 1 else row, strict=True))) for name, row in zip(told, listed, strict=True)
    ]
    return lambda test: _test_of(test, cases)


def str_of(value: object) -> str:
    name = getattr(value, "__name__", None)
    text = value if isinstance(value, str) and value else str(name) if name else repr(value)
    return text if len(text) <= WIDTH else f"{text[: WIDTH - 3]}..."


def _test_of(test: Callable[..., Any], cases: list[Case]) -> Callable[..., Any]:
    body = getattr(test, "body_of_cases", test)
    before: Sequence[Case] = getattr(test, "cases", ())
    every = [Case(f"{one.name}-{two.name}", one.arguments | two.arguments) for one in before for two in cases] or cases
    assert not inspect.iscoroutinefunction(body), f"{body.__name__} would not be awaited"
    fields = every[0].arguments
    signature = inspect.signature(body)
    assert set(fields) <= set(signature.parameters), f"{body.__name__} takes no {', '.join(set(fields) - set(signature.parameters))}"

    @wraps(body)
    def run(**fixtures: Any) -> None:
        __tracebackhide__ = True
        _tell(_failures((case.name, partial(_played, body, case, fixtures)) for case in every), len(every))

    run.__signature__ = signature.replace(  # type: ignore[attr-defined]  # what pytest asks which fixtures there are to give
        parameters=[each for name, each in signature.parameters.items() if name not in fields]
    )
    run.cases, run.body_of_cases = every, body  # type: ignore[attr-defined]  # for a decorator upon this one
    return run


def _played(body: Callable[..., Any], case: Case, fixtures: Mapping[str, Any]) -> None:
    with _fresh(fixtures) as own:
        body(**own, **case.arguments)


@contextmanager
def _fresh(fixtures: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield fixtures without leftovers from the previous case."""
    own = dict(fixtures)
    if "tmp_path" in own:
        own["tmp_path"] = own["tmp_path"] / f"case-{sum(1 for _ in own['tmp_path'].iterdir())}"
        own["tmp_path"].mkdir()
    if "capsys" in own:
        own["capsys"].readouterr()
    if "caplog" in own:
        own["caplog"].clear()
    if "monkeypatch" not in own:
        yield own
        return
    with own["monkeypatch"].context() as patch:
        yield own | {"monkeypatch": patch}


def _failures(cases: Iterable[tuple[str, Callable[[], object]]]) -> list[tuple[str, BaseException]]:
    failures: list[tuple[str, BaseException]] = []
    for name, run in cases:
        try:
            run()
        except FAILURES as failure:
            failures.append((name, failure))
    return failures


def _tell(failures: list[tuple[str, BaseException]], count: int) -> None:
    __tracebackhide__ = True
    if failures:
        lines = [_line(name, failure) if place < SHOWN else f"- {name}" for place, (name, failure) in enumerate(failures)]
        raise AssertionError(f"{len(failures)} of {count} cases are wrong:\n" + "\n".join(lines)) from failures[0][1]


def _line(name: str, failure: BaseException) -> str:
    said = str(failure).strip().splitlines()[:LINES]
    kind = "" if isinstance(failure, AssertionError | pytest.fail.Exception) else f"{type(failure).__name__}: "
    return f"- {name}: {kind}" + "\n    ".join(said)
