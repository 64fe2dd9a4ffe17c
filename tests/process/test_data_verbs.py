"""Tests the CLI verbs for topics, records, configs and offsets, and the data that a server loads before it prints its ready line."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from groupmock import Broker
from groupmock.cli import main
from groupmock.rig.replay import replay

SEED = '{"topic": "orders", "partitions": 2}\n{"topic": "orders", "key": "a", "value": 1, "partition": 1}\n'
SEED += '{"group": "kitchen", "topic": "orders", "partition": 1, "offset": 1}\n'
GROUPMOCK = [sys.executable, "-m", "groupmock"]
PATIENCE = 60


@pytest.fixture
def broker(monkeypatch: pytest.MonkeyPatch) -> Iterator[Broker]:
    """Yield a broker whose address the verbs find in their environment."""
    with Broker(topics={"orders": 2}, control=0) as found:
        monkeypatch.setenv("GROUPMOCK_CONTROL_URL", str(found.control))
        yield found


def said(capsys: pytest.CaptureFixture[str], *words: str) -> Any:
    """Return the decoded output of a verb that succeeds."""
    assert main(words) == 0, capsys.readouterr().err
    return json.loads(capsys.readouterr().out)


def test_topics_and_configs(broker: Broker, capsys: pytest.CaptureFixture[str]) -> None:
    said(capsys, "topic", "create", "inv", "--partitions", "2", "--configs", "cleanup.policy=compact", "retention.ms=5")
    said(capsys, "topic", "configure", "inv", "--set", "retention.ms=7", "segment.ms=9", "--unset", "cleanup.policy")
    said(capsys, "topic", "grow", "inv", "3")
    shown = said(capsys, "topic", "show", "inv")
    assert (shown["configs"], len(shown["partitions"])) == ({"retention.ms": "7", "segment.ms": "9"}, 3)
    assert said(capsys, "topic", "configs", "inv")["segment.ms"] == {"value": "9", "source": "topic", "read_only": False}
    said(capsys, "cluster", "configure", "1", "--set", "message.max.bytes=3000")
    assert said(capsys, "cluster", "configs", "1")["message.max.bytes"]["value"] == "3000"
    said(capsys, "topic", "delete", "inv")
    assert [row["name"] for row in said(capsys, "topic", "list")] == ["orders"]


def test_records_as_lines(broker: Broker, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    file = tmp_path / "r.jsonl"
    file.write_text('{"key": "a", "value": {"price": 2.50}}\n\n{"value": null, "partition": 1}\n')
    assert said(capsys, "records", "write", "orders", str(file))["records"] == 2
    assert said(capsys, "records", "write", "orders", '{"value": "AA==", "partition": 0}', "--value-as", "base64")["records"] == 1
    assert main(["records", "read", "orders", "--value-as", "json"]) == 0
    out = capsys.readouterr().out
    assert '"value":{"price":2.50},"value_as":"json"' in out, "numbers are printed as they were written"
    assert sorted(json.dumps(json.loads(line)["value"]) for line in out.splitlines()) == ['"\\u0000"', "null", '{"price": 2.5}']
    assert main(["records", "read", "orders", "--partition", "1", "--limit", "1"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 1


def test_offsets(broker: Broker, capsys: pytest.CaptureFixture[str]) -> None:
    broker.write_records("orders", [{"value": "v", "partition": 0}] * 3)
    said(capsys, "group", "commit", "kitchen", "orders:0=1", "orders:1=0")
    assert said(capsys, "group", "lag", "kitchen")["lag"] == 2
    dry = said(capsys, "group", "reset", "kitchen", "--shift", "-5", "--topic", "orders", "--partitions", "0", "--dry-run")
    assert dry == {"seq": None, "offsets": [{"topic": "orders", "partition": 0, "before": 1, "after": 0}]}
    said(capsys, "group", "reset", "kitchen", "--to", "latest")
    assert broker.lag("kitchen").lag == 0


def test_seed_data_into_a_running_cluster(broker: Broker, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    file = tmp_path / "seed.jsonl"
    file.write_text(SEED.replace("orders", "seeded"))
    assert said(capsys, "cluster", "seed-data", str(file)) == {"topics": 1, "records": 1, "commits": 1, "nodes": 0}
    assert broker.lag("kitchen").partitions[0].topic == "seeded"


REFUSED: dict[str, tuple[list[str], str]] = {
    "no table": (["topic", "create", "t", "--configs", "cleanup.policy"], "topic create: 'cleanup.policy' is not KEY=VALUE"),
    "no offset": (["group", "commit", "g", "orders"], "group commit: 'orders' is not TOPIC:PARTITION=OFFSET: orders:0=17"),
    "no file": (["records", "write", "orders", "/nowhere/r.jsonl"], "records write: [Errno 2] No such file or directory"),
    "a wrong line": (["records", "write", "orders", '{"valu": 1}'], "records write: line 1: Object contains unknown field `valu` (did you"),
    "no topic": (["records", "read", "nope"], "records read: no topic 'nope': there are orders"),
    "no word": (["group", "reset", "g", "--to", "end", "--topic", "orders"], "group reset: argument: Invalid enum value 'end'"),
}  # fmt: skip


def test_bad_use_is_a_sentence_and_two(broker: Broker, capsys: pytest.CaptureFixture[str]) -> None:
    wrong = {}
    for name, (words, text) in REFUSED.items():
        code, err = main(words), capsys.readouterr().err
        if code != 2 or not err.startswith(f"groupmock {text}") or err.count("\n") != 1:
            wrong[name] = (code, err)
    assert wrong == {}


def test_the_data_is_there_before_the_ready_line(tmp_path: Path) -> None:
    file, journal = tmp_path / "seed.jsonl", tmp_path / "run.jsonl"
    file.write_text(SEED)
    words = ["run", "--seed-data", str(file), "--control", "0", "--journal", str(journal), "--log", "off", "--", *GROUPMOCK]
    words = [*GROUPMOCK, *words, "group", "lag", "kitchen"]
    done = subprocess.run(words, capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert (done.returncode, done.stderr, json.loads(done.stdout)["lag"]) == (0, "", 0)
    rows = [json.loads(line) for line in journal.read_text().splitlines()[1:]]
    assert [row["name"] for row in rows if row["kind"] == "command"] == ["create_topic", "produce", "commit_offsets"]
    assert replay(journal).difference is None


def test_seed_data_that_cannot_be_is_bad_use(tmp_path: Path) -> None:
    file = tmp_path / "seed.jsonl"
    file.write_text('{"topic": "t", "valu": 1}')
    for verb in (["serve", "--port", "0"], ["run", "--", "true"]):
        place = verb.index("--") if "--" in verb else len(verb)
        words = [*verb[:place], "--seed-data", str(file), *verb[place:]]
        done = subprocess.run([*GROUPMOCK, *words], capture_output=True, text=True, timeout=PATIENCE, check=False)
        told = f"groupmock {verb[0]}: {file}: line 1: Object contains unknown field `valu` (did you mean value?"
        assert (done.returncode, done.stdout, done.stderr.startswith(told)) == (2, "", True), done.stderr
