"""`python -m groupmock_clients.probe`: exit codes, what it prints, what it leaves out and why; judged on our own server."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from groupmock.broker import Broker
from groupmock_clients.probe.__main__ import main
from groupmock_clients.probe.exchange import BASE_SETTINGS

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

exchange slow "a long silence"
rows: R4
A: JoinGroup v3 -> silence 60000

exchange commanded "the core alone"
rows: R5
stages: core
A: Heartbeat member_id=x generation_id=1 -> 25

exchange needing "a transaction"
rows: R6
needs: transactions
A: InitProducerId -> 0

exchange old "an older release"
rows: R7
releases: 2.8
A: Heartbeat member_id=x generation_id=1 -> 25
"""


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with Broker(profile="kafka-4.3", settings=BASE_SETTINGS, seed=1) as broker:
        yield broker.bootstrap


@pytest.fixture
def folder(tmp_path: Path) -> str:
    (tmp_path / "some.exchange").write_text(EXCHANGES)
    return str(tmp_path)


def verdicts(text: str) -> dict[str, str]:
    lines = [line for line in text.splitlines() if line and not line.startswith(" ")][:-1]
    return {line[16:].split(":")[0]: line[:16].strip() for line in lines}


def test_every_verdict_and_the_exit_code_of_a_broken_row(address: str, folder: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([address, "--exchanges", folder]) == 1
    out = capsys.readouterr().out
    assert verdicts(out) == {
        "good": "kept",
        "bad": "broken",
        "other-settings": "unknown",
        "slow": "unknown",
        "commanded": "unknown",
        "needing": "needs",
        "old": "not applicable",
    }
    assert "error 0 expected, 25 seen" in out and "needs group.max.size=2" in out
    assert out.splitlines()[-1] == "3 unknown, 1 kept, 1 broken, 1 needs, 1 not applicable"


def test_only_by_name_or_row(address: str, folder: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([address, "--exchanges", folder, "--only", "g*", "--only", "R7", "--verbose"]) == 0
    out = capsys.readouterr().out
    assert "1 kept, 1 not applicable" in out and "seen {throttle_time_ms: 0, error_code: 25}" in out


def test_a_setting_that_the_broker_does_not_tell_can_be_told(address: str, folder: str) -> None:
    assert main([address, "--exchanges", folder, "--only", "other-settings", "--set", "group.max.size=2"]) == 0


def test_no_broker_is_exit_code_3(folder: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["127.0.0.1:1", "--exchanges", folder]) == 3
    assert "127.0.0.1:1: " in capsys.readouterr().err


def test_no_port_is_exit_code_2(folder: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["somewhere", "--exchanges", folder])
    assert ended.value.code == 2
    assert "HOST:PORT expected, not 'somewhere'" in capsys.readouterr().err


def test_a_mistake_in_a_file_is_exit_code_2(address: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "wrong.exchange").write_text("nonsense\n")
    assert main([address, "--exchanges", str(tmp_path)]) == 2
    assert "wrong.exchange:1: " in capsys.readouterr().err


def test_a_folder_without_exchanges_is_exit_code_2(address: str, tmp_path: Path) -> None:
    assert main([address, "--exchanges", str(tmp_path)]) == 2
