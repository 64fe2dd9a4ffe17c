"""The path of a journal: folders are created, each run gets a file, existing files are kept, and impossible folders are refused."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest
from cases import for_each

from groupmock import Broker
from groupmock.cli import main
from groupmock.journal.place import make_way, placed
from groupmock.journal.read import read
from groupmock.server.running import CannotStart


def test_the_folder_of_a_file_is_made(tmp_path: Path) -> None:
    path = tmp_path / "a" / "b" / "c.jsonl"
    with Broker(journal=path, seed=5) as broker:
        assert broker.journal == str(path)
    assert read(path)[0].ended


def test_in_a_folder_every_run_has_a_file_of_its_name(tmp_path: Path) -> None:
    folder = f"{tmp_path}/runs/"
    names = []
    for run in ("nightly", "nightly", None):
        broker = Broker(journal=folder, run=run, seed=255)
        with broker:
            names.append(broker.journal)
        assert broker.journal == names[-1], "also when it is over"
    assert names == [f"{folder}nightly.jsonl", f"{folder}nightly-2.jsonl", f"{folder}ff.jsonl"]
    assert [read(str(name))[0].header.run for name in names] == ["nightly", "nightly", "ff"]


def test_a_reset_begins_another_file_and_keeps_the_first(tmp_path: Path) -> None:
    with Broker(journal=tmp_path / "one.jsonl", seed=5) as broker:
        broker.create_topic("before")
        broker.clear()
        broker.create_topic("after")
    with Broker(journal=f"{tmp_path}/runs/", seed=5) as broker:
        broker.clear()
        assert broker.journal == f"{tmp_path}/runs/5-2.jsonl"

    async def reset_over_http() -> None:
        async with Broker(journal=f"{tmp_path}/http/", seed=5, control=0) as broker:
            await broker.clear()
            assert broker._broker.journal == f"{tmp_path}/http/5-2.jsonl"

    asyncio.run(reset_over_http())
    files = sorted(str(file.relative_to(tmp_path)) for file in tmp_path.rglob("*") if file.is_file())
    assert files == ["http/5-2.jsonl", "http/5.jsonl", "one.jsonl", "one.jsonl.1", "runs/5-2.jsonl", "runs/5.jsonl"]
    first, second = ((tmp_path / name).read_text() for name in ("one.jsonl.1", "one.jsonl"))
    assert ('"before"' in first, '"after"' in first) == (True, False) and ('"before"' in second, '"after"' in second) == (False, True)


@for_each(
    ("run", "name"),
    [("../../etc/x", "__.._etc_x"), ("..", "_"), (".hidden", "_hidden"), ("a b\u202e/c", "a_b_c"), ("test_x[1-2]", "test_x_1-2_")],
)
def test_a_runs_name_stays_in_its_folder(tmp_path: Path, run: str, name: str) -> None:
    found = Path(placed(f"{tmp_path}/runs/", run))
    assert found.parent == tmp_path / "runs" and found.is_file() and found.name == f"{name}.jsonl"


def test_a_device_and_what_is_not_there_make_no_way(tmp_path: Path) -> None:
    make_way("/dev/null")
    make_way(str(tmp_path / "nothing"))
    assert Path("/dev/null").exists() and not list(tmp_path.iterdir())


@for_each("path", ["{}/file/below.jsonl", "{}/file/"])
def test_a_folder_that_cannot_be_made_is_one_sentence(tmp_path: Path, capsys: pytest.CaptureFixture[str], path: str) -> None:
    (tmp_path / "file").touch()
    wanted = path.format(tmp_path)
    with pytest.raises(CannotStart, match=r"^cannot write the journal .*file.*: its folder .*file.* cannot be made: "):
        Broker(journal=wanted).start()
    assert main(["serve", "--port", "0", "--journal", wanted]) == 3
    said = capsys.readouterr().err
    assert said.startswith(f"groupmock serve: cannot write the journal {wanted}: its folder {tmp_path}/file") and said.count("\n") == 1


def test_a_recording_has_its_file_in_a_folder_too(tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    """`record` ends by itself only with a COMMAND, and the recorded cluster is a mock here."""
    with Broker(topics={"orders": 1}) as broker:
        words = ["record", "--upstream", broker.bootstrap, "--journal", f"{tmp_path}/records/", "--run", "night", "--", "true"]
        assert main(words) == 0
    file = tmp_path / "records" / "night.jsonl"
    assert json.loads(file.read_text().splitlines()[0])["run"] == "night"
    assert capfdbinary.readouterr().err == f"recorded 0 connections, 0 requests and 0 groups: {file}\n".encode()
