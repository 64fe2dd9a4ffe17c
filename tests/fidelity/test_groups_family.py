from __future__ import annotations

from collections import Counter

import pytest

from groupmock_clients.probe.language.exchange import Send
from tools.fidelity.compare.canonical import compare
from tools.fidelity.compare.counts import outcome
from tools.fidelity.families import family
from tools.fidelity.families.groups_family import settings_of
from tools.fidelity.generated.script import Script, key_of, version_of
from tools.fidelity.generated.settings_classes import BROKERS, known
from tools.fidelity.generated.transcript import imagined
from tools.fidelity.guided.core_player import play, replay

GROUP_APIS = (8, 9, 10, 11, 12, 13, 14, 15, 16, 42, 47)
SEEDS = range(150)


@pytest.fixture(scope="module", params=BROKERS)
def scripts(request: pytest.FixtureRequest) -> list[Script]:
    return [family("groups")(seed, request.param) for seed in SEEDS]


def test_a_seed_always_makes_the_same_script(scripts: list[Script]) -> None:
    for script in scripts[:10]:
        assert family("groups")(script.seed, script.release) == script


def test_every_version_of_every_group_api_is_asked(scripts: list[Script]) -> None:
    asked = {(key_of(step), version_of(step)) for script in scripts for step in script.steps if isinstance(step, Send)}
    versions = known(scripts[0].release, "plain").versions
    assert {(key, version) for key in GROUP_APIS for version in range(versions[key][0], versions[key][1] + 1)} <= asked


def test_most_groups_become_stable_and_many_things_go_wrong(scripts: list[Script]) -> None:
    stable, outcomes = 0, Counter[str]()
    for script in scripts:
        events = play(script).events
        described = [event.answer["groups"] for event in events if event.answer and "groups" in event.answer]
        synced = any(
            isinstance(step, Send) and key_of(step) == 14 and outcome(event) == "0"
            for step, event in zip(script.steps, events, strict=False)
        )
        stable += synced or any(one.get("group_state") == "Stable" for groups in described for one in groups)
        outcomes.update(code for event in events for code in outcome(event).split("+"))
    assert stable > len(scripts) * 0.6
    assert {"0", "3", "22", "23", "24", "25", "26", "27", "68", "69", "79", "82", "86", "parked"} <= outcomes.keys()


def test_scripts_are_for_both_classes_of_brokers() -> None:
    assert Counter(settings_of(seed) for seed in range(60)) == {"plain": 50, "small": 10}


def test_a_play_repeated_from_its_transcript_is_equal(scripts: list[Script]) -> None:
    for script in scripts:
        first = play(script)
        assert compare(script, first, replay(script, first)) == [], f"seed {script.seed}"


def test_imagined_names_are_the_scripts_own(scripts: list[Script]) -> None:
    names = [name for script in scripts for name in imagined(script).groups]
    assert len(set(names)) == len(names)
