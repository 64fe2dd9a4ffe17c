"""The checks of the client matrix detect lying members, by the broker's view or by the members' own reports."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from groupmock import Broker

INTEROP = Path(__file__).resolve().parents[2] / "interop"
HONEST = ""
TWICE = "member.record = lambda *facts, tell=member.record: (tell(*facts), tell(*facts))"
LOSING = "member.record = lambda partition, offset, value, tell=member.record: offset == 3 or tell(partition, offset, value)"
NOT_COMMITTING = "member.confluent_kafka_commit = lambda consumer: member.say('committed')"
CLAIMING = "member.Holding.now = lambda self, partitions: list(partitions) and member.say('holds', partitions=[0, 1, 2, 3, 4, 5])"
DYING = "member.say = lambda event, tell=member.say, **facts: member.os._exit(3) if event == 'holds' else tell(event, **facts)"

Judge = Callable[[str], dict[str, Any]]


@pytest.fixture(name="judge")
def short_row(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Judge:
    """Return a function that runs the client matrix's short checks with a confluent-kafka member that lies in its reports, and returns a
    verdict per check."""
    monkeypatch.syspath_prepend(str(INTEROP))
    groups, desk = (importlib.import_module(f"judges.{name}") for name in ("groups", "desk"))

    def run(lie: str) -> dict[str, Any]:
        script = tmp_path / "lying.py"
        folder = INTEROP / "members" / "python"
        script.write_text(f"import sys\nsys.path.insert(0, {str(folder)!r})\nimport member\n{lie}\nmember.confluent_kafka_member()\n")
        with Broker(group_initial_rebalance_delay_ms=100, group_min_session_timeout_ms=1000) as broker:
            row = groups.GroupRow("a lie", [sys.executable, str(script)], "range", desk.Desk(broker.bootstrap), tmp_path)
            row.run(static=False, short=True)
        return row.verdicts

    return run


def test_an_honest_member_is_green(judge: Judge) -> None:
    verdicts = judge(HONEST)
    assert {name: verdict.ok for name, verdict in verdicts.items()} == {
        "joins": True,
        "consumes": True,
        "commits": True,
        "resumes": True,
        "static": None,
    }, [verdict.why for verdict in verdicts.values()]


@pytest.mark.parametrize(
    ("lie", "check", "why"),
    [
        (TWICE, "consumes", "'again': 60"),
        (LOSING, "consumes", "missing 6"),
        (NOT_COMMITTING, "commits", "committed: expected"),
        (CLAIMING, "joins", "three partitions each"),
        (DYING, "joins", "ended with status 3"),
    ],
    ids=["every record twice", "loses records", "commits nothing", "claims everything", "dies"],
)
def test_a_lie_is_red(judge: Judge, monkeypatch: pytest.MonkeyPatch, lie: str, check: str, why: str) -> None:
    monkeypatch.setattr(importlib.import_module("judges.telling"), "PATIENCE", 4.0 if lie in (LOSING, CLAIMING) else 30.0)
    verdicts = judge(lie)
    assert verdicts[check].ok is False
    assert why in verdicts[check].why


def test_what_comes_after_a_red_check_is_not_reached(judge: Judge) -> None:
    verdicts = judge(TWICE)
    assert [verdicts[name].why.split(":")[0] for name in ("commits", "resumes")] == ["not reached"] * 2
