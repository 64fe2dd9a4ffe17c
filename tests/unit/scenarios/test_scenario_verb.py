"""`groupmock scenario` prints, writes and returns the right results and refuses bad arguments."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from cases import for_each

from groupmock.cli import main
from groupmock.journal.read import read
from groupmock_clients.scenarios.catalogue import LIVE, SCENARIOS, VIRTUAL
from groupmock_clients.scenarios.play import Sizes
from groupmock_clients.scenarios.results import ScenarioResult, from_json
from groupmock_clients.scenarios.verb import SIZES, verdict


def scenario(*words: str) -> int:
    return main(["scenario", *words])


def test_list_names_every_scenario_and_protocol(capsys: pytest.CaptureFixture[str]) -> None:
    assert scenario("list") == 0
    out = capsys.readouterr().out
    assert all(each.name in out and each.about in out for each in SCENARIOS)
    assert all(str(each) in out for each in (*LIVE, *VIRTUAL))


def test_run_measures_one_combination(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    file = tmp_path / "out.json"
    sizes = ("--members", "3", "--partitions", "8", "--seed", "5")
    words = ("run", "scale-up", "--protocol", "design-2/scripted", *sizes, "--json", str(file))
    assert scenario(*words) == 0
    out, err = capsys.readouterr()
    assert "| Design II, scripted | 2 | 2 |" in out and "3 members, 8 partitions" in out and "seed 5" in out
    assert err == ""
    found = from_json(file.read_bytes())
    assert (found.stage, found.sizes["members"], found.libraries) == ("virtual", 3, {})
    assert [(each.scenario, each.protocol, each.client) for each in found.results] == [("scale-up", "design-2", "scripted")]
    assert found.results[0].figures is not None and found.results[0].figures["moved"] == 2


@for_each(
    "words",
    [
        ["run", "--protocol", "range", "scale-up", "scale-down"],
        ["--protocol", "range", "run", "scale-up", "scale-down"],
        ["run", "scale-up", "--protocol", "range", "scale-down", "--virtual"],
    ],
)
def test_flags_and_names_may_come_in_any_order(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert scenario(*words) == 0
    out = capsys.readouterr().out
    assert "### scale-up" in out and "### scale-down" in out and out.count("| eager range, scripted |") == 2


def test_the_same_command_writes_the_same_file(tmp_path: Path) -> None:
    files = [tmp_path / name for name in ("one.json", "two.json")]
    for file in files:
        assert scenario("table", "death-in-time", "--protocol", "design-2", "--json", str(file)) == 0
    assert files[0].read_bytes() == files[1].read_bytes()


def test_table_prints_the_characteristics_first(capsys: pytest.CaptureFixture[str]) -> None:
    assert scenario("table", "scale-up", "scale-down", "--protocol", "range", "--protocol", "design-3/scripted") == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[2] == "|  | eager range<br>scripted | Design III<br>scripted |"
    assert lines[4].startswith("| Scale up | 3 · ") and " | YES: 2 · " in lines[4]
    assert lines[5].startswith("| Scale down | 6 · ")


def test_the_report_has_a_picture_and_the_figures_of_every_run(tmp_path: Path) -> None:
    page, measured, plain = tmp_path / "table.html", tmp_path / "out.json", tmp_path / "plain.json"
    words = ("table", "rolling-bounce", "scale-up", "--protocol", "range", "--protocol", "design-2/scripted", "--members", "3")
    assert scenario(*words, "--report", "html", "--output", str(page), "--json", str(measured)) == 0
    cells = ElementTree.fromstring(page.read_text().partition("<main>")[2].partition("</main>")[0].join(("<main>", "</main>"))).iter("td")
    told = [([each.tag.rpartition("}")[2] for each in cell], [line.text for line in cell.iter("li")]) for cell in cells]
    assert [(tags, lines[0]) for tags, lines in told] == [
        (["div", "ul"], "32 moved"), (["div", "ul"], "0 moved"), (["div", "ul"], "6 moved"), (["div", "ul"], "3 moved"),
    ]  # fmt: skip
    assert scenario(*words, "--json", str(plain)) == 0
    assert plain.read_bytes() == measured.read_bytes(), "pictures are not in the JSON"


def test_several_runs_at_a_time_measure_the_same(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = [tmp_path / name for name in ("one.json", "two.json")]
    for file, jobs in zip(files, ("1", "2"), strict=True):
        assert scenario("table", "scale-up", "scale-down", "--protocol", "design-1", "--jobs", jobs, "--json", str(file)) == 0
    assert files[0].read_bytes() == files[1].read_bytes()
    assert capsys.readouterr().err == "", "progress is shown on a terminal only"


def test_journals_are_kept_one_a_run(tmp_path: Path) -> None:
    assert scenario("run", "scale-up", "--protocol", "design-1", "--journal", str(tmp_path)) == 0
    names = sorted(file.name for file in tmp_path.iterdir())
    assert names == ["scale-up-design-1-scripted-twin-virtual.jsonl", "scale-up-design-1-scripted-virtual.jsonl"]
    journal, rows = read(tmp_path / names[0])
    assert journal.ended and journal.header.complete
    assert len(rows) > 100


def test_every_size_with_a_flag_is_a_size() -> None:
    assert set(SIZES) <= set(Sizes.__dataclass_fields__)


@for_each(
    ("words", "said"),
    [
        (["run"], "run needs the NAME of a scenario; `groupmock scenario list` has them"),
        (["run", "deth"], "no scenario 'deth': there are death-at-once, "),
        (["run", "scale-up", "--protocol", "design-9"], "no protocol 'design-9' on the virtual stage: there are range/scripted, "),
        (["run", "scale-up", "--protocol", "range/aiokafka"], "no protocol 'range/aiokafka' on the virtual stage"),
        (["run", "mixed-upgrade", "--protocol", "range"], "mixed-upgrade is not played with range/scripted"),
        (["run", "scale-up", "--members", "1"], "--members is 1: at least 2"),
        (["run", "scale-up", "--delay-ms", "0"], "--delay-ms is 0: at least 1"),
        (["run", "scale-up", "--change", "4"], "--change is 4: below members, which is 4"),
        (["run", "scale-up", "--jobs", "0"], "--jobs is at least 1"),
        (["run", "scale-up", "--agree"], "--agree compares live runs with virtual ones: add --live"),
        (["run", "scale-up", "--journal", "/dev/null/at/all"], "--journal: its folder /dev/null/at/all cannot be made: Not a directory"),
        (["table", "--json", "/nowhere/at/all.json"], "--json /nowhere/at/all.json: there is no such folder; make it first"),
    ],
)
def test_bad_use_is_one_line_that_names_the_remedy(words: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert scenario(*words) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("groupmock scenario: ") and said in err and err.count("\n") == 1


@for_each("words", [["play", "scale-up"], ["run", "scale-up", "--live", "--virtual"], ["run", "scale-up", "--members", "x"]])
def test_words_that_argparse_refuses_end_in_2(words: list[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        scenario(*words)
    assert ended.value.code == 2


def test_a_scenario_that_needs_more_members_is_not_measured(capsys: pytest.CaptureFixture[str]) -> None:
    assert scenario("run", "leader-exit", "--protocol", "range", "--members", "2") == 4
    assert "leader-exit range/scripted: unsupported: leader-exit needs at least 3 members, not 2" in capsys.readouterr().err


def result(**more: Any) -> ScenarioResult:
    return ScenarioResult(scenario="scale-up", protocol="range", client="scripted", **more)


@for_each(
    ("results", "code", "said"),
    [
        ([result(figures={"lost": 0})], 0, ""),
        ([result(figures={"lost": 2})], 1, "scale-up range/scripted: 2 records were lost"),
        ([result(figures={"lost": 0}, broken=["I1 at 3 ms: two owners"])], 1, "I1 at 3 ms: two owners"),
        ([result(trouble="missed: nobody came")], 4, "missed: nobody came"),
        ([result(trouble="missed: nobody came"), result(figures={"lost": 1})], 1, "1 records were lost"),
    ],
)
def test_the_exit_code(results: list[ScenarioResult], code: int, said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert verdict(results) == code
    assert said in capsys.readouterr().err
