"""The verbs as a user meets them: output, exit codes, one clear line for bad use."""

from __future__ import annotations

import json

import pytest
from cases import for_each

from groupmock import __version__
from groupmock.cli import main, verb_module, verbs


def outcome(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    """(exit code, stdout, stderr) of `groupmock WORDS`."""
    try:
        code = main(words)
    except SystemExit as left:
        code = int(left.code or 0)
    said = capsys.readouterr()
    return code, said.out, said.err


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert outcome(capsys, "--version")[:2] == (0, f"groupmock {__version__}\n")


def test_help_lists_every_verb_with_its_line(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = outcome(capsys, "--help")
    assert code == 0
    for verb in verbs():
        assert (verb_module(verb).__doc__ or "").splitlines()[0] in out


@for_each(
    ("words", "line"),
    [
        (["nope"], "groupmock: no verb 'nope'"),
        (["serve", "--bogus"], "groupmock serve: unrecognized arguments: --bogus"),
        (["serve", "extra"], "groupmock serve: unrecognized arguments: extra"),
        (["serve", "--host", "0.0.0.0"], "groupmock serve: listening on 0.0.0.0"),
        (["serve", "--set", "group.max.size=x"], "groupmock serve: flag --set group.max.size: group.max.size takes a whole number"),
        (["serve", "--topic", "bad name"], "groupmock serve: flag --topic: 'bad name' is no topic name"),
        (["config", "--nodes", "0"], "groupmock config: flag --nodes"),
        (["run"], "groupmock run: no command"),
        (["run", "--port", "x", "--", "true"], "groupmock run: flag --port"),
    ],
)
def test_bad_use_is_one_line_and_exit_code_2(capsys: pytest.CaptureFixture[str], words: list[str], line: str) -> None:
    code, out, err = outcome(capsys, *words)
    assert (code, out) == (2, "")
    assert err.startswith(line)
    assert err.count("\n") == 1


def test_config_shows_value_and_origin(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = outcome(capsys, "config", "--json", "--profile", "kafka-4.3", "--set", "group.max.size=5", "--topic", "orders:12")
    rows = {row["name"]: (row["value"], row["from"]) for row in json.loads(out)}
    assert code == 0
    assert rows["group.max.size"] == (5, "flag --set group.max.size")
    assert rows["group.min.session.timeout.ms"] == (6000, "profile kafka-4.3")
    assert rows["profile"] == ("kafka-4.3", "flag --profile")
    assert rows["topic"] == ("orders:12", "flag --topic")
    assert rows["num.partitions"] == (1, "default")


def test_apis_prints_one_row_per_api(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = outcome(capsys, "apis")
    assert code == 0
    assert "| 11 | JoinGroup | 0-9 | 0-7 | 0-9 | 0-9 | 6 |" in out
    assert "| 47 | OffsetDelete | 0-0 | 0-0 | 0-0 | 0-0 | never |" in out


def test_apis_json_agrees_with_the_table(capsys: pytest.CaptureFixture[str]) -> None:
    rows = json.loads(outcome(capsys, "apis", "--json")[1])
    table = outcome(capsys, "apis")[1].splitlines()[2:]
    assert [row["name"] for row in rows] == [line.split("|")[2].strip() for line in table]
