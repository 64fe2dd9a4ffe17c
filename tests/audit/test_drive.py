"""`groupmock audit --drive` puts copies of a scripted member into situations and reports which were reached and which rules were broken."""

from __future__ import annotations

import asyncio
import json
import signal
import sys
from pathlib import Path
from typing import Any

import driven_member
import pytest

from groupmock.audit.drive.copies import Copy, environment_of
from groupmock.audit.drive.situation import Situation, situations
from groupmock.audit.rule import registered
from groupmock.cli import main
from groupmock.faults.facts import for_other_groups, for_producers
from groupmock.faults.kind import for_secured
from groupmock.faults.plan import make_plan, read_plan, ready_plans
from groupmock.journal.read import read
from groupmock.journal.rows import ASKED_TO_STOP, ClientRow
from groupmock.text.progress import Progress

MEMBER = [sys.executable, str(Path(driven_member.__file__))]
PATIENCE = "60"
"""Seconds that one event may take on a busy machine."""


def drive(folder: Path, which: str, *command: str, copies: int = 2, patience: str = PATIENCE) -> tuple[int, dict[str, Any]]:
    """Run `groupmock audit --drive` and return its exit code and the table of results."""
    table = folder / "table.json"
    words = ["--situations", which, "--copies", str(copies), "--seconds-per", patience, "--keep", str(folder), "--table", str(table)]
    code = main(["audit", "--drive", *words, "--seed", "5", "--topic", "orders:4", "--", *(command or MEMBER)])
    return code, json.loads(table.read_text()) if table.exists() else {}


def test_a_member_that_keeps_every_rule(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """This test plays the quick situations; the others are in tests/live/audit/test_drive_situations.py."""
    which = "works,rebalance,stopped,joins-late"
    code, table = drive(tmp_path, which)
    said = capsys.readouterr()
    assert [each["why"] for each in table["situations"]] == [None] * len(which.split(",")), said.err
    assert [finding for each in table["situations"] for finding in each["findings"]] == []
    assert code == 0, said.err
    assert table["rules"]["CLIENT-05"]["verdict"] == "kept"
    for name in which.split(","):
        assert f" {name}: " in said.out
        assert (tmp_path / f"{name}.jsonl").is_file()
        assert (tmp_path / f"{name}.copy-1.txt").is_file()


SECURED = """\
import os, signal
from confluent_kafka import Consumer
going = True
def stop(*_):
    global going
    going = False
signal.signal(signal.SIGTERM, stop)
consumer = Consumer({
    "bootstrap.servers": os.environ["GROUPMOCK_BOOTSTRAP"], "group.id": os.environ["GROUPMOCK_GROUP"],
    "client.id": os.environ["GROUPMOCK_CLIENT_ID"], "auto.offset.reset": "earliest", "security.protocol": "SASL_SSL",
    "sasl.mechanism": "PLAIN", "sasl.username": "alice", "sasl.password": "open sesame", "ssl.ca.location": os.environ["CA"],
})
consumer.subscribe([os.environ["GROUPMOCK_TOPIC"]])
while going:
    consumer.poll(0.2)
consumer.close()
"""


def test_program_with_the_security_of_production_is_driven(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("CA", str(tmp_path / "tls" / "ca.pem"))
    (tmp_path / "users").write_text("alice:open sesame\n", encoding="utf-8")
    (tmp_path / "member.py").write_text(SECURED, encoding="utf-8")
    listener = ["--listener", "OUTSIDE=SASL_SSL://127.0.0.1:0", "--users", str(tmp_path / "users"), "--tls-dir", str(tmp_path / "tls")]
    words = ["--situations", "works", "--copies", "2", "--seconds-per", PATIENCE, "--keep", str(tmp_path), *listener]
    assert main(["audit", "--drive", *words, "--", sys.executable, str(tmp_path / "member.py")]) == 0, capsys.readouterr().err
    journal = (tmp_path / "works.jsonl").read_bytes()
    assert journal.count(b'"principal":"User:alice"') >= 2 and b"sesame" not in journal


@pytest.mark.parametrize("code", driven_member.BREAKS)
def test_a_member_that_breaks_a_rule(
    tmp_path: Path, code: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("DRIVEN_BREAKS", code)
    status, table = drive(tmp_path, "works")
    (situation,) = table["situations"]
    assert situation["reached"] and status == 1
    assert {finding["rule"] for finding in situation["findings"]} - {code} <= set(registered()[code].implies)
    assert table["rules"][code]["verdict"] == "broken"
    assert f"BROKEN {code}: " in capsys.readouterr().out


def test_interrupt_reports_the_situations_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    broken = next(iter(driven_member.BREAKS))
    monkeypatch.setenv("DRIVEN_BREAKS", broken)
    begun: list[str] = []

    def show(progress: Progress, done: int, doing: str = "") -> None:
        begun.append(f"{progress.text(done, '', 0.0).partition(',')[0]} {doing}")
        if done == 1:
            signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(Progress, "show", show)
    code, table = drive(tmp_path, "works,rebalance,stopped")
    out, err = capsys.readouterr()
    assert begun == ["audit: 0 of 3 situations works", "audit: 1 of 3 situations rebalance"]
    assert code == 130 and [each["name"] for each in table["situations"]] == ["works"]
    assert f"BROKEN {broken}: " in out and "1 of 1 situations reached" in out
    assert f"timeline: groupmock timeline {tmp_path / 'works.jsonl'} --audit" in out
    assert "note: interrupted: 2 of 3 situations are not judged: rebalance, stopped" in out
    assert err.splitlines()[-1] == "groupmock audit: interrupted: the copies are ended, the situations before are judged"


async def test_copy_whose_start_is_cancelled_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[asyncio.subprocess.Process] = []
    create = asyncio.create_subprocess_exec

    async def created(*command: str, **how: Any) -> asyncio.subprocess.Process:
        made.append(await create(*command, **how))
        return made[0]

    monkeypatch.setattr(asyncio, "create_subprocess_exec", created)
    environment = environment_of(1, "127.0.0.1:9092", "orders", "app", None)
    starting = asyncio.ensure_future(Copy.start(["sleep", "600"], 1, environment, tmp_path / "said", lambda copy: None))
    await asyncio.sleep(0)
    starting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await starting
    assert [process.returncode for process in made] == [-signal.SIGKILL]


def test_who_is_asked_to_stop_stands_in_the_journal(tmp_path: Path) -> None:
    drive(tmp_path, "stopped", copies=3)
    _, rows = read(tmp_path / "stopped.jsonl")
    assert [row.client for row in rows if isinstance(row, ClientRow) and row.what == ASKED_TO_STOP] == ["copy-3", "copy-1", "copy-2"]


def test_a_process_that_slept_is_not_judged_by_rules_about_time(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, table = drive(tmp_path, "frozen")
    (situation,) = table["situations"]
    assert code == 0 and situation["reached"], situation
    assert "CLIENT-13" in situation["excused"] and "CLIENT-13" not in situation["rules"]


def test_a_situation_that_a_program_cannot_be_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("DRIVEN_BREAKS", "not static")
    code, table = drive(tmp_path, "static-restart")
    (situation,) = table["situations"]
    assert code == 0 and not situation["reached"]
    assert situation["why"] == "no member is static: the program takes no group.instance.id from GROUPMOCK_INSTANCE_ID"
    assert "static-restart (NOT REACHED)" in capsys.readouterr().out


def test_a_program_that_never_connects(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, table = drive(tmp_path, "works", *MEMBER, "nobody", patience="1")
    assert (code, table) == (3, {})
    assert "no copy connected to 127.0.0.1:" in capsys.readouterr().err


def test_a_program_that_ends_at_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, _ = drive(tmp_path, "works", sys.executable, "-c", "raise SystemExit('no such topic\\x1b[2J')")
    assert code == 3
    said = capsys.readouterr().err
    assert "copy 1 ended with status 1; the last that it said: no such topic" in said
    assert "\x1b" not in said and said.count("\n") == 1


def test_a_program_that_cannot_be_started(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, _ = drive(tmp_path, "works", str(tmp_path / "nothing"))
    assert code == 3
    assert capsys.readouterr().err == f"groupmock audit: cannot run {tmp_path / 'nothing'}: No such file or directory\n"


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["--drive"], "no command"),
        (["--drive", "--copies", "9", "--", "true"], "2 to 5"),
        (["--drive", "--situations", "work", "--", "true"], "works"),
        (["--drive", "--seconds-per", "0", "--", "true"], "--seconds-per 0"),
        (["--drive", "journal.jsonl", "--", "true"], "--drive writes its own journals"),
        (["--drive", "--topic", "a b", "--", "true"], "no topic name"),
        (["--drive", "--rule", "CLIENT-5", "--", "true"], "no rule"),
        (["journal.jsonl", "--", "true"], "a COMMAND is for --drive"),
    ],
)
def test_bad_use(words: list[str], why: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["audit", *words]) == 2
    said = capsys.readouterr().err
    assert why in said and said.count("\n") == 1


def test_situations_of_the_other_protocol_are_left_out(tmp_path: Path) -> None:
    """The first situation reveals which group protocol the member speaks, and the situation `works` fits both protocols."""
    _, table = drive(tmp_path, "works,errors-of-ConsumerGroupHeartbeat,stopped")
    assert [each["name"] for each in table["situations"]] == ["works", "stopped"]


SITUATIONS = situations()


@pytest.mark.parametrize("found", SITUATIONS.values(), ids=SITUATIONS)
def test_every_situation_says_what_it_is(found: Situation) -> None:
    assert found.does.endswith(".") and found.does[0].isupper() and found.waits
    assert all(code.startswith("CLIENT-") for code in found.excuses)
    assert make_plan({"rule": list(found.rules)}).rule is not None


def test_every_ready_plan_for_consumers_is_a_situation() -> None:
    plans = {name for name in ready_plans() if not any(of(read_plan(name)) for of in (for_producers, for_secured, for_other_groups))}
    assert plans - set(SITUATIONS) == {"network-stall"} and plans != set(ready_plans())
    assert next(iter(SITUATIONS)) == "works"
