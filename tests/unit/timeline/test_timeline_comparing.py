"""Two journals are compared by the figures of their rebalances, which are those of the fold."""

from __future__ import annotations

from pathlib import Path

import pytest
from situations import journal_of

from groupmock.cli import main
from groupmock.journal.read import read
from groupmock.rounds import PALE, UNOWNED, ownership_maps
from groupmock.timeline.comparing import Incomparable, compared
from groupmock.timeline.drawing import Drawing
from groupmock.timeline.model import Comparison
from groupmock_codec.units import NS_PER_S
from tools.mistakes.stage import Stage


@pytest.fixture(scope="module")
def bounces(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Return the journals of a rolling bounce, eager and with Design II."""
    folder = tmp_path_factory.mktemp("bounces")
    return [journal_of("rolling-bounce", protocol, folder, 3) for protocol in ("range", "design-2")]


def comparison_of(journals: list[Path]) -> Comparison:
    drawing = Drawing()
    for journal in journals:
        drawing.add(journal.name, read(journal)[1])
    (found,) = drawing.timeline(compare=True).comparisons
    return found


def test_figures_of_a_comparison_are_those_of_the_fold(bounces: list[Path]) -> None:
    figures = {each.name: each for each in comparison_of(bounces).figures}
    maps = [next(iter(ownership_maps(read(journal)[1]).values())) for journal in bounces]
    moved = [sum(each.moved or 0 for each in found.rebalances) for found in maps]
    assert [figures["moved partitions"].before, figures["moved partitions"].after] == [str(each) for each in moved]
    assert moved[0] > 0 == moved[1], "Design II moves nothing"
    unowned = figures["partition-seconds without an owner"]
    assert [unowned.before, unowned.after] == [f"{found.lasted(PALE, UNOWNED) / NS_PER_S:.3f}" for found in maps]


def test_a_journal_does_not_differ_from_itself(bounces: list[Path]) -> None:
    found = comparison_of([bounces[0], bounces[0]])
    assert {float(each.difference) for each in found.figures} == {0}


def test_journals_without_a_common_group_are_not_compared() -> None:
    drawing = Drawing()
    for groups in (("tea",), ("milk", "sugar")):
        stage = Stage({"orders": 2})
        for group in groups:
            stage.together(stage.consumer("anna", group=group))
        drawing.add(groups[0], list(stage.ring.rows))
    with pytest.raises(Incomparable, match="the journals have no group in common: one has tea, the other milk; sugar"):
        compared(drawing.timeline())


def test_a_comparison_is_in_the_picture_and_on_stderr(bounces: list[Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    said = ""
    for name in ("out.svg", "out.html"):
        assert main(["timeline", *map(str, bounces), "--compare", "-o", str(tmp_path / name)]) == 0
        said = capsys.readouterr().err.splitlines()[-1]
        assert said.startswith("scenario: first joins 1 -> 1 (+0), rebalances ") and "moved partitions 32 -> 0 (-32)" in said
    assert said.replace(">", "&gt;") in (tmp_path / "out.svg").read_text()
    assert "<td>32</td><td>0</td><td>-32</td>" in (tmp_path / "out.html").read_text()
