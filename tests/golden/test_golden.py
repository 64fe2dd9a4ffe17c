"""Plays recorded exchanges of real Apache Kafka again on the core: exact, at the recorded times, with the broker's ids.

`python -m tools.fidelity record` makes the files again from a running broker.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tools.fidelity.compare.counts import outcome
from tools.fidelity.compare.golden import load, replay_corpus
from tools.fidelity.script.script import Send
from tools.fidelity.script.settings_classes import BROKERS, known
from tools.fidelity.script.transcript import ANSWERED

GOLDEN = Path(__file__).parent
GROUP_APIS = (8, 9, 10, 11, 12, 13, 14, 15, 16, 42, 47)
FILES = sorted(file.name.removesuffix(".jsonl.gz") for file in GOLDEN.glob("*-*-*.jsonl.gz"))


@pytest.mark.parametrize("name", FILES)
def test_the_core_answers_what_kafka_answered(name: str) -> None:
    family, release, settings = name.split("-")
    found = replay_corpus(GOLDEN, release, [family], settings=settings)
    assert not found, "\n".join(f"seed {each.seed}: {each}" for each in found[:20])


@pytest.mark.parametrize("release", BROKERS)
def test_every_version_of_every_group_api_is_in_the_corpus(release: str) -> None:
    plays = list(load(GOLDEN, release, "groups"))
    seen = {
        (step.key, step.version)
        for one in plays
        for step, event in zip(one.script.steps, one.transcript.events, strict=False)
        if isinstance(step, Send) and event.status == ANSWERED
    }
    versions = known(release, "plain").versions
    assert {(key, version) for key in GROUP_APIS for version in range(versions[key][0], versions[key][1] + 1)} <= seen
    assert {one.script.settings for one in plays} == {"plain", "small"}
    assert len(plays) >= 300


@pytest.mark.parametrize("release", BROKERS)
def test_the_corpus_knows_the_error_codes_of_group_coordination(release: str) -> None:
    seen = {
        code
        for one in load(GOLDEN, release, "groups")
        for step, event in zip(one.script.steps, one.transcript.events, strict=False)
        if isinstance(step, Send)
        for code in outcome(event).split("+")
    }
    assert {"0", "3", "12", "22", "23", "24", "25", "26", "27", "68", "69", "79", "81", "82", "86", "parked"} <= seen
