"""`groupmock audit --drive --against OLD.json` says which rules a client breaks anew, and its exit code follows from these alone."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import driven_member
import msgspec
import pytest

from groupmock.audit.drive.comparison import Comparison, compare, comparison_lines, read_table
from groupmock.audit.drive.outcome import Outcome, as_data
from groupmock.audit.report import Source
from groupmock.audit.rule import registered
from groupmock.audit.verdicts import Audit, Finding, Tally
from groupmock.cli import main

ERRORS, WARNINGS = ([code for code, rule in registered().items() if rule.severity == severity] for severity in ("error", "warning"))
RULE, OTHER, WARNING = ERRORS[0], ERRORS[1], WARNINGS[0]
B, K, N = "broken", "kept", "not exercised"
MEMBER = [sys.executable, str(Path(driven_member.__file__))]


def tally(code: str, verdict: str) -> Tally:
    found = Tally(kept=int(verdict == K))
    if verdict == B:
        found.found(Finding(rule=code, severity=registered()[code].severity, t=1, sentence="it did", instead="it should"))
    return found


def outcome(name: str, reached: bool = True, **verdicts: str) -> Outcome:
    rules = {code.replace("_", "-"): tally(code.replace("_", "-"), verdict) for code, verdict in verdicts.items()}
    source = Source(name=f"{name}.jsonl", audit=Audit(rules=rules))
    return Outcome(
        name=name,
        does="It does.",
        waits="it",
        reached=reached,
        why=None if reached else "it did not come",
        clients=["lib 1"],
        source=source,
    )


def compared(tmp_path: Path, before: list[Outcome], now: list[Outcome]) -> Comparison:
    table = tmp_path / "old.json"
    table.write_text(json.dumps(as_data(before, ["x"], 2)))
    return compare("old.json", read_table(table), now)


def key(code: str) -> str:
    return code.replace("-", "_")


@pytest.mark.parametrize(
    ("before", "now", "change", "status"),
    [
        ({"a": K}, {"a": B}, "new", "broken"),
        ({"a": N}, {"a": B}, "new", "broken"),
        ({"a": K, "b": K}, {"a": K, "b": B}, "new", "broken"),
        ({"a": B}, {"a": B}, "stays", "ok"),
        ({"a": B, "b": K}, {"a": K, "b": B}, "stays", "ok"),
        ({"a": B}, {"a": K}, "gone", "ok"),
        ({"a": B}, {"a": N}, "unseen", "ok"),
        ({"a": K}, {"a": K}, None, "ok"),
    ],
)
def test_a_rule_is_new_gone_or_stays(tmp_path: Path, before: dict[str, str], now: dict[str, str], change: str | None, status: str) -> None:
    old = [outcome(name, **{key(RULE): verdict}) for name, verdict in before.items()]
    found = compared(tmp_path, old, [outcome(name, **{key(RULE): verdict}) for name, verdict in now.items()])
    assert [each.change for each in found.changes] == ([] if change is None else [change])
    assert (found.broken, found.unknown) == (status == "broken", False)


def test_a_new_warning_is_told_and_breaks_nothing(tmp_path: Path) -> None:
    found = compared(tmp_path, [outcome("a", **{key(WARNING): K})], [outcome("a", **{key(WARNING): B})])
    assert [each.change for each in found.changes] == ["new"] and not found.broken and not found.unknown
    assert f"  new      {WARNING:10} (warning) not broken before, broken now in a: it did" in list(comparison_lines(found))


def test_situations_of_one_run_alone_are_not_compared(tmp_path: Path) -> None:
    old = [outcome("a", **{key(RULE): K}), outcome("only before", **{key(RULE): B})]
    found = compared(tmp_path, old, [outcome("a", **{key(RULE): K}), outcome("only now", **{key(RULE): B})])
    assert (found.situations, found.changes) == (["a"], [])


@pytest.mark.parametrize(
    ("before", "why"),
    [
        (outcome("a", reached=False, **{key(OTHER): K, key(RULE): N}), "the earlier run did not reach these situations"),
        (outcome("a", **{key(OTHER): K}), "the earlier run did not apply this rule"),
    ],
)
def test_what_the_earlier_run_could_not_see_is_unclear(tmp_path: Path, before: Outcome, why: str) -> None:
    found = compared(tmp_path, [before], [outcome("a", **{key(RULE): B, key(OTHER): K})])
    assert [(each.rule, each.change, each.why) for each in found.changes] == [(RULE, "unclear", why)]
    assert not found.broken and found.unknown


def test_a_situation_that_is_not_reached_any_more_is_told(tmp_path: Path) -> None:
    found = compared(tmp_path, [outcome("a", **{key(RULE): K})], [outcome("a", reached=False, **{key(RULE): K})])
    assert "  a was reached before and is not now: it did not come" in list(comparison_lines(found))
    assert found.unknown and not found.broken


def test_table_that_is_none_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    old = tmp_path / "old.json"
    for text in ('{"rules": {}}', "[", '{"rules": 1, "situations": [], "clients": []}'):
        old.write_text(text)
        assert main(["audit", "--drive", "--against", str(old), "--", "true"]) == 2
        said = capsys.readouterr().err
        assert f"{old} is no table of a conformance run" in said and "--table FILE" in said and said.count("\n") == 1
    assert main(["audit", "--drive", "--against", str(tmp_path / "none"), "--", "true"]) == 2
    assert main(["audit", "--against", str(old), "a.jsonl"]) == 2
    assert "--against compares conformance runs" in capsys.readouterr().err


def test_two_releases_of_a_client_are_compared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """The earlier release keeps every rule, the later one breaks one, and a third breaks it still."""

    def drive(table: str, *against: str) -> tuple[int, dict[str, Any]]:
        words = ["--situations", "works", "--copies", "2", "--seed", "5", "--topic", "orders:4", "--table", str(tmp_path / table), *against]
        code = main(["audit", "--drive", *words, "--", *MEMBER])
        return code, json.loads((tmp_path / table).read_text())

    assert drive("1.json")[0] == 0
    broken = next(iter(driven_member.BREAKS))
    monkeypatch.setenv("DRIVEN_BREAKS", broken)
    capsys.readouterr()
    code, table = drive("2.json", "--against", str(tmp_path / "1.json"))
    out = capsys.readouterr().out
    assert code == 1 and f"  new      {broken}" in out and "in 1 situation:" in out
    assert [(each["rule"], each["change"]) for each in table["against"]["changes"] if each["rule"] == broken] == [(broken, "new")]
    code, table = drive("3.json", "--against", str(tmp_path / "2.json"), "--report", f"json={tmp_path / 'report.json'}")
    said = capsys.readouterr()
    assert code == 0 and f"  stays    {broken}" in said.err and said.out == ""
    assert not msgspec.convert(table["against"], Comparison).broken
