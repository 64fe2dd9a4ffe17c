"""A failure that random search finds is written to a file that fails until the mistake in the core is gone."""

from __future__ import annotations

import itertools
import json
import sys
from pathlib import Path

import found
import pytest
from hypothesis import Phase, settings
from hypothesis.stateful import run_state_machine_as_test
from properties import properties, try_again
from properties.groups import GroupMachine
from properties.policies import DesignTwo
from properties.timers import TimersMachine
from recorded import RecordedMachine

from groupmock.core.groups.classic.states import ANSWERS, PREPARING, Answer, Do, Question
from groupmock.core.timers import Timers
from groupmock_clients.cooperative.policy import Round
from tools.fidelity.compare.golden import Golden, difference_of, load, save_one
from tools.fidelity.guided.guided_player import Played

ABOUT = {"date": "2026-11-22", "seed": 1, "version": "test"}
SUPPORT = Path(found.__file__).parent
GOLDEN = SUPPORT.parent / "golden"


def search(machine: type, folder: Path) -> Path:
    """Search with a state machine that fails, without the shrinking of hypothesis, which takes a minute."""
    with pytest.raises((AssertionError, ExceptionGroup)):
        run_state_machine_as_test(machine, settings=settings(max_examples=200, stateful_step_count=50, phases=[Phase.generate]))
    return found.write(folder, found.SHOWN[0], ABOUT)


def test_a_mistake_of_the_core_becomes_a_file_that_is_red_until_it_is_mended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as planted:
        planted.setitem(ANSWERS, (PREPARING, Question.HEARTBEAT), Answer(Do.ANSWER, 0, True))
        text = search(GroupMachine, tmp_path).read_text()
        with pytest.raises(AssertionError, match="heartbeat"):
            try_again(text)
    try_again(text)
    find = json.loads(text)
    assert len(find["case"]["steps"]) <= 12, "it is made small"
    assert "heartbeat" in find["failure"] and find["found"] == ABOUT


def _never(*_: object) -> bool:
    return False


def _forgets(self: Timers, key: tuple[str, ...]) -> None: ...


@pytest.mark.parametrize(
    ("machine", "where", "name", "mistake"),
    [(DesignTwo, Round, "welcome", _never), (TimersMachine, Timers, "cancel", _forgets)],
    ids=["policy", "timers"],
)
def test_a_recorded_machine_can_be_retaken(
    machine: type[RecordedMachine], where: type, name: str, mistake: object, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as planted:
        planted.setattr(where, name, mistake)
        text = search(machine, tmp_path).read_text()
        with pytest.raises(AssertionError):
            try_again(text)
    try_again(text)


def test_a_difference_from_kafka_is_a_play_that_is_red_until_it_is_mended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plays = [(play.script, _as_played(play)) for play in itertools.islice(load(GOLDEN, "4.3", "groups", "plain"), 60)]
    assert [difference_of(script, played) for script, played in plays] == [None] * len(plays), "what does not differ is no find"
    with monkeypatch.context() as planted:
        planted.setitem(ANSWERS, (PREPARING, Question.HEARTBEAT), Answer(Do.ANSWER, 0, True))
        play = next(found for script, played in plays if (found := difference_of(script, played)) is not None)
        file = save_one(tmp_path, play)
        with pytest.raises(AssertionError, match="Kafka 27, ours 0"):
            try_again(file.read_text())
    try_again(file.read_text())
    assert file.name == f"groups-4.3-plain-{play.script.seed}.json"


def _as_played(play: Golden) -> Played:
    """Return the play as if the broker had just given its answers."""
    return Played(real=play.transcript, core=play.transcript, states=set(), lag=0.0, crowded=False)


def test_the_same_find_twice_is_one_file_and_holds_what_still_fails(tmp_path: Path) -> None:
    def holds(case: found.Case) -> None:
        assert not {3, 7} <= set(case["steps"]), "three and seven"

    picky = found.Property("picky", holds)
    for steps in ([1, 2, 3, 4, 7, 9], [7, 3]):
        found.write(tmp_path, found.Shown(picky, {"steps": sorted(steps)}), ABOUT)
    (file,) = tmp_path.iterdir()
    assert json.loads(file.read_text())["case"] == {"steps": [3, 7]}


def test_what_holds_when_it_is_tried_again_is_no_find(tmp_path: Path) -> None:
    with pytest.raises(found.Unrepeated, match="fine: the case holds"):
        found.write(tmp_path, found.Shown(found.Property("fine", lambda case: None), {}), ABOUT)
    assert not list(tmp_path.iterdir())


def test_a_find_without_its_property_is_red_with_a_sentence() -> None:
    with pytest.raises(AssertionError, match="no property is called 'gone' any more"):
        found.replay('{"property": "gone", "case": {}}', properties())


SUITE = """
import found
import pytest
from hypothesis import given, strategies as st
from searching import examples, seeds

def small(case):
    assert case["number"] < 100

SMALL = found.Property("small", small)

@pytest.mark.property
@examples(40)
@given(st.integers(0, 1000))
def test_numbers(number):
    SMALL.check({"number": number})

@pytest.mark.soak
def test_seeds():
    assert len(seeds(4)) == 8
"""
CONFTEST = """
from hypothesis import Phase, settings
pytest_plugins = ("searching",)
settings.register_profile("searches", settings.get_profile("default"), database=None)
"""


def test_a_search_writes_the_smallest_case_and_says_where(pytester: pytest.Pytester) -> None:
    pytester.makeini(f"[pytest]\npythonpath = {SUPPORT}\n")
    pytester.makeconftest(CONFTEST)
    pytester.makepyfile(SUITE)
    finds = pytester.path / "finds"
    done = pytester.run(
        sys.executable, "-m", "pytest", "-p", "no:groupmock", "-p", "no:cacheprovider",
        "--search", "2", "--search-seed", "5", "--finds", str(finds),
    )  # fmt: skip
    done.assert_outcomes(passed=1, failed=1)
    (file,) = finds.iterdir()
    find = json.loads(file.read_text())
    assert (find["property"], find["case"], find["found"]["seed"]) == ("small", {"number": 100}, 5)
    done.stdout.fnmatch_lines(["search: --search 2 --search-seed 5", f"written: {file.name}"])
