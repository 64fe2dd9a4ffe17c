"""`groupmock probe` returns the right exit codes and explains what it prints and skips, here against groupmock."""

from __future__ import annotations

import json
import socket
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from cases import for_each

from groupmock import Broker
from groupmock.cli import main
from groupmock.rig.wire import Client
from groupmock_clients.probe.language.exchange import BASE_SETTINGS
from groupmock_codec.messages.k74_list_config_resources import ListConfigResourcesRequest, ListConfigResourcesResponse

EXCHANGES = """
exchange good "an unknown group"
rows: R1
A: Heartbeat member_id=x generation_id=1 -> 25

exchange bad "an unknown group has members"
rows: R2
A: Heartbeat member_id=x generation_id=1 -> 0

exchange other-settings "small groups"
rows: R3
settings: group.max.size=2
A: Heartbeat member_id=x generation_id=1 -> 25
A: JoinGroup -> 79
A: JoinGroup -> parked
B: JoinGroup -> 79
B: JoinGroup -> parked
C: JoinGroup -> 79
C: JoinGroup -> 81

exchange slow "a long silence"
rows: R4
A: JoinGroup v3 -> silence 60001

exchange commanded "the core alone"
rows: R5
stages: core
A: Heartbeat member_id=x generation_id=1 -> 25

exchange needing "a consumer group"
rows: R6
needs: kip848
A: ConsumerGroupHeartbeat -> 0

exchange old "an older release"
rows: R7
releases: 3.9
A: Heartbeat member_id=x generation_id=1 -> 25

exchange mistaken "a mistake that shows when it is played"
rows: R8
A: Heartbeat member_id=$nobody generation_id=1 -> 25
"""

Run = Callable[..., tuple[int, dict[str, Any]]]


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    # The broker advertises ConsumerGroupHeartbeat but answers UNSUPPORTED_VERSION (35).
    off = {"group.coordinator.rebalance.protocols": "classic"}
    with Broker(profile="kafka-4.3", settings=BASE_SETTINGS | off, seed=1) as broker:
        yield broker.bootstrap


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "some.exchange").write_text(EXCHANGES)
    return tmp_path


@pytest.fixture
def run(address: str, folder: Path, tmp_path: Path) -> Run:
    def one(*words: str) -> tuple[int, dict[str, Any]]:
        file = tmp_path / "report.json"
        code = main(["probe", address, "--patience", "20", "--exchanges", str(folder), "--report", "json", "--output", str(file), *words])
        return code, json.loads(file.read_text())

    return one


def verdicts(report: dict[str, Any]) -> dict[str, str]:
    return {each["name"]: each["verdict"] for each in report["exchanges"]}


def test_settings_of_its_groups_are_gone_afterwards(address: str, tmp_path: Path) -> None:
    change = '{name: "consumer.heartbeat.interval.ms", config_operation: 0, value: "6000"}'
    asked = f"O: IncrementalAlterConfigs v1 resources=[{{resource_type: 32, resource_name: $group, configs: [{change}]}}] -> 0"
    seen = "O: ListConfigResources v1 resource_types=[32] -> error_code=0 config_resources=has({resource_name: $group})"
    (tmp_path / "set.exchange").write_text(f'exchange set "sets something"\nrows: R\n{asked}\n{seen}\n')
    assert main(["probe", address, "--patience", "20", "--exchanges", str(tmp_path)]) == 0
    host, _, port = address.rpartition(":")
    link = Client(host, int(port), "after", 5)
    answer = link.ask(74, 1, ListConfigResourcesRequest(resource_types=[32]))
    link.close()
    assert isinstance(answer, ListConfigResourcesResponse)
    assert answer.config_resources == []


def test_every_verdict_and_the_exit_code_of_a_broken_row(run: Run) -> None:
    code, report = run()
    assert code == 1
    assert verdicts(report) == {
        "good": "kept",
        "bad": "broken",
        "other-settings": "unknown",
        "slow": "unknown",
        "commanded": "unknown",
        "needing": "not applicable",
        "old": "not applicable",
        "mistaken": "unknown",
    }
    details = {each["name"]: each["detail"] for each in report["exchanges"]}
    assert details["bad"] == "some.exchange:8: error 0 expected, 25 seen"
    assert details["other-settings"] == "needs group.max.size=2, the broker has 2147483647"
    assert details["slow"] == "takes at least 60 s (see --longest)"
    assert details["mistaken"].startswith("a mistake in the exchange: some.exchange:42: $nobody means nothing")


def test_a_broken_exchange_says_what_was_sent_expected_and_seen(run: Run) -> None:
    broken = next(each["broken"] for each in run()[1]["exchanges"] if each["name"] == "bad")
    assert broken["sent"].startswith("Heartbeat v4 {group_id: 'groupmock-probe-") and "generation_id: 1" in broken["sent"]
    assert (broken["expected"], broken["seen"]) == ("0", "{throttle_time_ms: 0, error_code: 25}")


def test_what_broke_is_played_again_before_it_counts(run: Run) -> None:
    attempts = {each["name"]: each["attempts"] for each in run("--retries", "1")[1]["exchanges"]}
    assert (attempts["bad"], attempts["good"]) == (2, 1)


def test_only_by_name_or_row(run: Run) -> None:
    code, report = run("--only", "g*", "--only", "R7")
    assert (code, verdicts(report)) == (0, {"good": "kept", "old": "not applicable"})
    assert [row["row"] for row in report["rows"]] == ["R1", "R7"]


def test_what_was_asked_for_and_stays_unknown_is_exit_code_4(run: Run) -> None:
    assert run("--only", "good", "--only", "slow")[0] == 4


def test_unknown_rows_nobody_asked_for_are_no_failure(run: Run, folder: Path) -> None:
    (folder / "some.exchange").write_text(EXCHANGES.replace("generation_id=1 -> 0", "generation_id=1 -> 25"))
    assert run()[0] == 0


def test_nothing_that_could_be_judged_is_exit_code_4(run: Run) -> None:
    assert run("--only", "old")[0] == 4


def test_a_setting_that_the_broker_does_not_tell_can_be_told(run: Run, folder: Path) -> None:
    (folder / "some.exchange").write_text(
        'exchange told "t"\nrows: R\nsettings: group.max.size=2\nA: Heartbeat member_id=x generation_id=1 -> 25\n'
    )
    assert run("--only", "told", "--set", "group.max.size=2")[0] == 0


def test_no_higher_version_than_asked_for(run: Run) -> None:
    broken = next(each["broken"] for each in run("--at-most", "Heartbeat=2")[1]["exchanges"] if each["name"] == "bad")
    assert broken["sent"].startswith("Heartbeat v2 ")


def test_groups_and_topics_are_gone_afterwards(run: Run, folder: Path, address: str) -> None:
    (folder / "some.exchange").write_text(
        'exchange x "t"\nrows: R\ntopics: t1:2\nA: JoinGroup -> 79\nA: JoinGroup -> 0 eventually\nA: SyncGroup -> 0\n'
    )
    code, report = run()
    assert (code, report["left_behind"]) == (0, [])
    _, after = run("--keep")
    assert after["exchanges"][0]["verdict"] == "kept"
    from groupmock_clients.probe.stages.tcp_broker import TcpBroker
    from groupmock_codec.messages.k16_list_groups import ListGroupsRequest, ListGroupsResponse

    host, _, port = address.rpartition(":")
    broker = TcpBroker(host, int(port))
    try:
        listed = broker.ask(16, 4, ListGroupsRequest())
    finally:
        broker.close()
    assert isinstance(listed, ListGroupsResponse)
    ours = [group for group in listed.groups if group.group_id.startswith("groupmock-probe-") and "-warm-" not in group.group_id]
    assert len(ours) == 1, "the one of the run that was to keep it"


def test_no_broker_is_exit_code_3_and_one_line(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))
        port = nobody.getsockname()[1]
        assert main(["probe", f"127.0.0.1:{port}", "--exchanges", str(folder)]) == 3
    said = capsys.readouterr()
    assert said.out == "" and said.err == f"groupmock probe: 127.0.0.1:{port}: cannot connect: Connection refused\n"


@for_each(
    ("words", "line"),
    [
        (["somewhere"], "HOST:PORT expected (one broker), not 'somewhere'"),
        (["a:1,b:2"], "HOST:PORT expected (one broker), not 'a:1,b:2'"),
        (["a:70000"], "HOST:PORT expected (one broker), not 'a:70000'"),
        (["kafka://a:1"], "HOST:PORT expected (one broker), not 'kafka://a:1'"),
        (["a:1", "--release", "5.0"], "argument --release: invalid choice: '5.0'"),
        (["a:1", "--set", "x"], "KEY=VALUE expected, not 'x'"),
        (["a:1", "--at-most", "JoinGroup"], "API=VERSION expected, not 'JoinGroup'"),
        (["a:1", "--at-most", "Joint=4"], "no API is called 'Joint'"),
        (["a:1", "--longest", "-3"], "a number above 0 expected, not '-3'"),
        (["a:1", "--parallel", "0"], "a number from 1 to 512 expected, not '0'"),
        (["a:1", "--only", "SERVER-99"], "no exchange and no row is called 'SERVER-99'"),
        (["a:1", "--output", "no/such/folder/x"], "no/such/folder is no folder"),
        (["a:1", "--output", "/"], "/ is a folder: --output takes a file"),
        (["a:1", "--wait", "-1"], "a number above 0 expected, not '-1'"),
        (["a:1", "--restart", ""], "the words of a command expected"),
        (["a:1", "--restart", "serve 'x"], 'the words of a command expected, not "serve \'x": No closing quotation'),
        (["a:1", "--retries", "-1"], "a number from 0 to 99 expected, not '-1'"),
        (["a:1", "--retries", "many"], "a number from 0 to 99 expected, not 'many'"),
        (["a:1", "--exchanges", "no/such/folder"], "no/such/folder: no .exchange files"),
    ],
)
def test_bad_use_is_one_line_and_exit_code_2(words: list[str], line: str, capsys: pytest.CaptureFixture[str]) -> None:
    try:
        code = main(["probe", *words])
    except SystemExit as left:
        code = int(left.code or 0)
    said = capsys.readouterr()
    assert (code, said.out) == (2, "")
    assert line in said.err and said.err.startswith("groupmock probe: ") and said.err.count("\n") == 1


def test_a_mistake_in_a_file_is_exit_code_2(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "wrong.exchange").write_text("nonsense\n")
    assert main(["probe", "127.0.0.1:1", "--exchanges", str(tmp_path)]) == 2
    assert capsys.readouterr().err.startswith("groupmock probe: wrong.exchange:1: ")


@for_each(
    ("name", "data", "said"),
    [
        ("wrong.exchange", b'exchange x "\xff"\n', "wrong.exchange: this is no text in UTF-8"),
        ("rows.toml", b"\xff", "rows.toml: "),
        ("rows.toml", b"R1 = 1\n", "rows.toml: R1 is no section"),
        ("rows.toml", b"[some]\nrows = 1\n", "rows.toml: some is no section"),
    ],
)
def test_a_file_that_cannot_be_read_is_exit_code_2(
    name: str, data: bytes, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "some.exchange").write_text(EXCHANGES)
    (tmp_path / name).write_bytes(data)
    assert main(["probe", "127.0.0.1:1", "--exchanges", str(tmp_path)]) == 2
    assert capsys.readouterr().err.startswith(f"groupmock probe: {said}")


def test_a_row_that_the_index_does_not_know_is_exit_code_2(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "rows.toml").write_text('[some.rows]\nR1 = "one"\n')
    assert main(["probe", "127.0.0.1:1", "--exchanges", str(folder)]) == 2
    assert "exchange bad proves R2, which rows.toml does not know" in capsys.readouterr().err
