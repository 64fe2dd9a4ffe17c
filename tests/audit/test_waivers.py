"""Waivers cover the right findings, expire when they should, and unreadable waiver files are refused."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import pytest

from groupmock.audit.verdicts import Finding
from groupmock.audit.waivers import BadWaivers, read_waivers

TODAY = date(2026, 11, 23)


def finding(rule: str = "CLIENT-05", group: str = "billing-eu", client: str = "aiokafka-1") -> Finding:
    return Finding(rule=rule, severity="error", group=group, client_id=client, t=0, sentence="it did", instead="not to")


def file(tmp_path: Path, *lines: str) -> Path:
    path = tmp_path / "waivers.toml"
    path.write_text("\n".join(["[[waiver]]", *lines]), encoding="utf-8")
    return path


def test_what_is_covered_and_what_is_not(tmp_path: Path) -> None:
    path = file(tmp_path, 'rule = "CLIENT-05"', 'reason = "TEAM-1"', "until = 2026-11-23", 'group = "billing-*"', 'client = "aio*"')
    waivers = read_waivers(path, TODAY)
    assert waivers.of(finding()) == "TEAM-1 (until 2026-11-23)"
    assert waivers.of(finding(group="orders")) is None
    assert waivers.of(finding(client="kafka-python")) is None
    assert list(waivers.notices()) == []


def test_past_its_day_its_findings_count_again_and_a_sentence_says_so(tmp_path: Path) -> None:
    waivers = read_waivers(file(tmp_path, 'rule = "CLIENT-05"', 'reason = "TEAM-1"', "until = 2026-11-22"), TODAY)
    assert waivers.of(finding()) is None
    (notice,) = waivers.notices()
    assert "ended on 2026-11-22: its findings count again (1 here)" in notice and "waiver 1" in notice


def test_one_that_waived_nothing_can_go(tmp_path: Path) -> None:
    waivers = read_waivers(file(tmp_path, 'rule = "CLIENT-05"', 'reason = "TEAM-1"', "until = 2030-01-01"), TODAY)
    (notice,) = waivers.notices()
    assert "waived nothing: it can go" in notice


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        (['rule = "CLIENT-05"', 'reason = "x"'], "until is the day"),
        (['rule = "CLIENT-05"', 'reason = "x"', 'until = "2030-01-01"'], "no quotation marks"),
        (['rule = "CLIENT-05"', 'reason = " "', "until = 2030-01-01"], "reason is a text"),
        (['rule = "NOPE-1"', 'reason = "x"', "until = 2030-01-01"], "no rule 'NOPE-1'"),
        (['rule = "CLIENT-05"', 'reason = "x"', "until = 2030-01-01", "grp = 1"], "no such key: grp"),
        (["rule = "], "not TOML"),
    ],
)
def test_a_file_that_cannot_be_is_named_with_its_place(tmp_path: Path, lines: list[str], words: str) -> None:
    with pytest.raises(BadWaivers, match=words) as refused:
        read_waivers(file(tmp_path, *lines), TODAY)
    assert "waivers.toml" in str(refused.value)
