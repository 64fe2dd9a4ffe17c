"""`run --audit` and `serve --audit` print a summary at the end and choose the exit code; the journal contains the findings."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from groupmock.audit.offline import audit_journal
from groupmock.journal.read import read
from groupmock.journal.rows import FindingRow
from groupmock.rig.replay import replay

WRONG = """
import os, sys
from groupmock.rig.wire import Client
from groupmock_codec.messages.k11_join_group import JoinGroupRequest, JoinGroupRequestProtocol
from groupmock_codec.messages.k14_sync_group import SyncGroupRequest, SyncGroupRequestAssignment

host, port = os.environ["GROUPMOCK_BOOTSTRAP"].split(":")
with Client(host, int(port), "wrong-app") as client:
    join = JoinGroupRequest(
        group_id="billing", session_timeout_ms=6000, rebalance_timeout_ms=6000, protocol_type="consumer",
        protocols=[JoinGroupRequestProtocol(name="range", metadata=bytes(10))],
    )
    join.member_id = client.ask(11, 5, join).member_id
    member = client.ask(11, 5, join)
    assignments = [SyncGroupRequestAssignment(member_id=member.member_id, assignment=b"")]
    client.ask(14, 3, SyncGroupRequest(group_id="billing", generation_id=7, member_id=member.member_id, assignments=assignments))
sys.exit(int(sys.argv[1]))
"""
WAIVED = '[[waiver]]\nrule = "CLIENT-05"\nreason = "TEAM-412"\nuntil = 2999-12-31\n'


def run(folder: Path, *options: str, code: int = 0, **variables: str) -> subprocess.CompletedProcess[str]:
    (folder / "wrong.py").write_text(WRONG)
    command = [sys.executable, "-m", "groupmock", "run", "--log", "off", "--set", "group.initial.rebalance.delay.ms=0", *options]
    whole = [*command, "--", sys.executable, "wrong.py", str(code)]
    return subprocess.run(whole, cwd=folder, env=os.environ | variables, capture_output=True, text=True, check=False)


def test_a_broken_rule_makes_one_of_a_command_that_succeeds(tmp_path: Path) -> None:
    done = run(tmp_path, "--audit", "--journal", "j.jsonl")
    assert done.returncode == 1, done.stderr
    assert "BROKEN CLIENT-05: wrong-app#" in done.stderr and "    right: a SyncGroup with generation_id 1" in done.stderr
    assert run(tmp_path, "--audit", code=3).returncode == 3
    assert run(tmp_path).returncode == 0
    assert run(tmp_path, GROUPMOCK_AUDIT="true").returncode == 1


def test_what_is_waived_does_not_count(tmp_path: Path) -> None:
    (tmp_path / "waivers.toml").write_text(WAIVED)
    done = run(tmp_path, "--audit", "--audit-waivers", "waivers.toml")
    assert done.returncode == 0 and "waived: TEAM-412" in done.stderr, done.stderr


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (("--audit-waivers", "waivers.toml"), "nobody is audited: add --audit"),
        (("--audit", "--audit-waivers", "none.toml"), "cannot read the waivers none.toml: No such file or directory"),
        (("--audit", "--audit-waivers", "wrong.py"), "wrong.py is "),
    ],
)
def test_what_cannot_be_is_said_in_a_line(tmp_path: Path, options: tuple[str, ...], says: str) -> None:
    done = run(tmp_path, *options)
    assert done.returncode == 2 and says in done.stderr and done.stderr.count("\n") == 1, done.stderr


def test_findings_are_rows_that_a_replay_takes_as_they_are(tmp_path: Path) -> None:
    run(tmp_path, "--audit", "--journal", "j.jsonl")
    reader, rows = read(tmp_path / "j.jsonl")
    assert reader.ended and [row.seq for row in rows] == list(range(1, len(rows) + 1))
    findings = [row for row in rows if isinstance(row, FindingRow)]
    assert "CLIENT-05" in [row.rule for row in findings]
    assert replay(tmp_path / "j.jsonl").difference is None
    with (tmp_path / "j.jsonl").open("rb") as source:
        offline = audit_journal("j", source).audit.findings
    assert sorted((row.rule, row.happened, row.sentence, row.rows) for row in findings) == sorted(
        (each.rule, each.t, each.sentence, each.rows) for each in offline
    )
