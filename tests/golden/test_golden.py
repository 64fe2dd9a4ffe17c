"""Plays recorded exchanges of Apache Kafka again on the core and compares answers, times and ids exactly.

`python -m tools.fidelity record` makes the files again from a running broker.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest

from groupmock_clients.probe.language.exchange import Send
from tools.fidelity.compare.counts import outcome
from tools.fidelity.compare.golden import Golden, differences, load
from tools.fidelity.generated.script import key_of, version_of
from tools.fidelity.generated.settings_classes import BROKERS, known
from tools.fidelity.generated.transcript import ANSWERED

GOLDEN = Path(__file__).parent
GROUP_APIS = (8, 9, 10, 11, 12, 13, 14, 15, 16, 42, 47)
FILES = sorted(file.name.removesuffix(".jsonl.gz") for file in GOLDEN.glob("*-*-*.jsonl.gz"))


@cache
def plays(family: str, release: str, settings: str) -> tuple[Golden, ...]:
    return tuple(load(GOLDEN, release, family, settings))


def plays_of_groups(release: str) -> list[Golden]:
    return [*plays("groups", release, "plain"), *plays("groups", release, "small")]


@pytest.mark.parametrize("name", FILES)
def test_the_core_answers_what_kafka_answered(name: str) -> None:
    found = [each for play in plays(*name.split("-")) for each in differences(play)[:1]]
    assert not found, "\n".join(f"seed {each.seed}: {each}" for each in found[:20])


@pytest.mark.parametrize("release", BROKERS)
def test_every_version_of_every_group_api_is_in_the_corpus(release: str) -> None:
    recorded = plays_of_groups(release)
    seen = {
        (key_of(step), version_of(step))
        for one in recorded
        for step, event in zip(one.script.steps, one.transcript.events, strict=False)
        if isinstance(step, Send) and event.status == ANSWERED
    }
    versions = known(release, "plain").versions
    assert {(key, version) for key in GROUP_APIS for version in range(versions[key][0], versions[key][1] + 1)} <= seen
    assert {one.script.settings for one in recorded} == {"plain", "small"}
    assert len(recorded) >= 300


@pytest.mark.parametrize("release", BROKERS)
def test_the_corpus_knows_the_error_codes_of_group_coordination(release: str) -> None:
    seen = {
        code
        for one in plays_of_groups(release)
        for step, event in zip(one.script.steps, one.transcript.events, strict=False)
        if isinstance(step, Send)
        for code in outcome(event).split("+")
    }
    assert {"0", "3", "12", "22", "23", "24", "25", "26", "27", "68", "69", "79", "81", "82", "86", "parked"} <= seen
