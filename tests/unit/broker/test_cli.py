"""The CLI verbs print the right output, return the right exit codes, and explain bad use in one line."""

from __future__ import annotations

import json
import subprocess
import sys
from importlib import import_module, metadata

import pytest
from cases import for_each

from groupmock.cli import GROUP, main, own_verbs, verbs
from groupmock.version import __version__


def outcome(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    """Return exit code, stdout and stderr of `groupmock WORDS`."""
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
    assert {"serve", "run", "probe", "scenario", "pipeline"} <= verbs().keys()
    for verb, module in verbs().items():
        assert f"  {verb:10} {(import_module(module).__doc__ or '').splitlines()[0]}\n" in out


def loaded_by(*words: str) -> set[str]:
    """Return the groupmock modules that `groupmock WORDS` loads in a new process."""
    code = f"""
import sys
from groupmock.cli import main
try:
    main({list(words)!r})
except SystemExit:
    pass
print("loaded", *(name for name in sys.modules if name.startswith(("groupmock", "importlib.metadata"))))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    return set(done.stdout.splitlines()[-1].split()[1:])


def test_the_list_of_verbs_loads_none_of_them() -> None:
    assert not loaded_by("--help") & set(verbs().values())


def test_the_brokers_own_verbs_look_for_no_other() -> None:
    """The start of `serve` has a time budget, so it neither queries installed packages nor imports client code."""
    for verb in own_verbs():
        loaded = loaded_by(verb, "--help")
        assert not {name for name in loaded if name.startswith(("groupmock_clients", "groupmock_pipeline", "importlib.metadata"))}, verb


def test_an_installed_verb_does_not_take_the_place_of_a_brokers_own(monkeypatch: pytest.MonkeyPatch) -> None:
    installed = [metadata.EntryPoint("serve", "elsewhere.verb", GROUP), metadata.EntryPoint("toy", "elsewhere.toy", GROUP)]
    monkeypatch.setattr(metadata, "entry_points", lambda group: installed)
    assert verbs()["serve"] == "groupmock.cli.serve"
    assert verbs()["toy"] == "elsewhere.toy"


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


def test_config_shows_the_cluster_to_copy(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = outcome(capsys, "config", "--json", "--like", "kafka:9092", "--like-records", "5")
    rows = {row["name"]: (row["value"], row["from"]) for row in json.loads(out)}
    assert code == 0
    assert rows["like"] == ("kafka:9092", "flag --like")
    assert rows["like-records"] == (5, "flag --like-records")
    assert rows["like-tls"] == (False, "default")


def test_apis_prints_one_row_per_api(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = outcome(capsys, "apis")
    assert code == 0
    assert "| 11 | JoinGroup | 0-9 | 0-9 | 0-9 | 0-9 | 6 |" in out
    assert "| 47 | OffsetDelete | 0-0 | 0-0 | 0-0 | 0-0 | never |" in out


def test_apis_json_agrees_with_the_table(capsys: pytest.CaptureFixture[str]) -> None:
    rows = json.loads(outcome(capsys, "apis", "--json")[1])
    table = outcome(capsys, "apis")[1].splitlines()[2:]
    assert [row["name"] for row in rows] == [line.split("|")[2].strip() for line in table]
