"""Exchanges are played more slowly for longer delays, and only those that the broker's settings allow are judged."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from cases import for_each

from groupmock_clients.probe.language.duration import least_ms
from groupmock_clients.probe.language.exchange import BASE_SETTINGS, Await, Pause, Send, Variant
from groupmock_clients.probe.language.exchange_suite import load_suite
from groupmock_clients.probe.language.slow_motion import sessions, stretched
from groupmock_clients.probe.language.syntax import Literal
from groupmock_clients.probe.stages.core_stage import CoreStage
from groupmock_clients.probe.verdicts.playable import Unplayable, fit, known_settings
from groupmock_clients.probe.verdicts.runner import play

SUITE = {exchange.name: exchange for exchange in load_suite().exchanges}
KAFKA = known_settings("4.3", {**BASE_SETTINGS, "group.initial.rebalance.delay.ms": "3000", "group.min.session.timeout.ms": "6000"})
NO_DELAY = {**KAFKA, "group.initial.rebalance.delay.ms": "0"}


def last(name: str) -> Variant:
    return list(SUITE[name].variants())[-1]


def test_every_time_is_stretched_and_nothing_else() -> None:
    slow = stretched(SUITE["SERVER-23-owes-a-sync"], 10)
    assert dict(slow.members["*"]) == {"session_timeout_ms": Literal(100_000), "rebalance_timeout_ms": Literal(8000)}
    assert [step.ms for step in slow.steps if isinstance(step, Pause)] == [Literal(5000), Literal(4500)]
    timings = [step.expects.of("4.3").timing for step in slow.steps if isinstance(step, Send | Await) and step.expects]
    assert {(each.lowest, each.highest) for each in timings if each.kind == "after"} == {(8000, 8000)}
    assert least_ms(slow) == 10 * least_ms(SUITE["SERVER-23-owes-a-sync"])


def test_references_are_not_stretched() -> None:
    (first, *_) = stretched(SUITE["SERVER-06-accepted"], 10).steps
    assert isinstance(first, Send) and first.fields == stretched(SUITE["SERVER-06-accepted"], 1).steps[0].fields


def test_sessions_that_are_written_out() -> None:
    assert sessions(SUITE["SERVER-24"]) == {4000, 200}


@for_each(
    ("name", "settings", "factor"),
    [
        ("SERVER-17", BASE_SETTINGS, 1),
        ("SERVER-17", KAFKA, 1),  # SERVER-17 is not slowed down, because none of its waits depends on the initial rebalance delay.
        ("SERVER-08", KAFKA, 7.5),  # SERVER-08 is slowed down by the ratio of the initial rebalance delays.
        ("SERVER-31-last", KAFKA, 24),  # SERVER-31-last is slowed down by the ratio of the shortest session timeouts.
        ("SERVER-18-alone", NO_DELAY, 1),
        # The dialogue about half-closed connections is slowed down by the ratio of the initial rebalance delays.
        ("P2-d13-half-closed", KAFKA, 7.5),
    ],
)
def test_an_exchange_is_played_as_slowly_as_the_settings_ask(name: str, settings: Mapping[str, str], factor: float) -> None:
    assert fit(last(name), "4.3", settings, 60_000)[1] == factor


@for_each(
    ("name", "settings", "why"),
    [
        ("SERVER-32-Stable", KAFKA, "needs group.max.size=2, the broker has 2147483647"),
        ("SERVER-42", {**BASE_SETTINGS, "group.initial.rebalance.delay.ms": "100"}, "needs group.initial.rebalance.delay.ms=400"),
        ("SERVER-08", NO_DELAY, "needs group.initial.rebalance.delay.ms=400, the broker has 0"),
        ("SERVER-57-simple", KAFKA, "needs offsets.retention.minutes=1, which the broker does not tell"),
        ("SERVER-29-expires", BASE_SETTINGS, "takes at least 300 s"),
    ],
)
def test_what_does_not_fit_says_which_setting_it_needs(name: str, settings: Mapping[str, str], why: str) -> None:
    with pytest.raises(Unplayable, match=why):
        fit(last(name), "4.3", settings, 60_000)


@for_each("release", ["4.3", "3.9"])
def test_most_of_the_suite_can_be_judged_with_default_settings(release: str) -> None:
    """The core passes the dialogues that fit Kafka's default settings, so other brokers must pass them as well."""
    fitted = 0
    for exchange in list(SUITE.values())[::7]:
        if exchange.lacking or "core" not in exchange.stages or "tcp" not in exchange.stages or release not in exchange.releases:
            continue
        variant = list(exchange.variants())[-1]
        try:
            slower, _ = fit(variant, release, KAFKA, 120_000)
        except Unplayable:
            continue
        assert play(slower, CoreStage(release, KAFKA | exchange.of_authorizer)).verdict in ("kept", "not applicable")
        fitted += 1
    assert fitted > 25


def test_settings_that_the_core_does_not_have_or_take_are_left_out() -> None:
    told = {"log.dirs": "x", "group.max.size": "7", "group.initial.rebalance.delay.ms": "nonsense"}
    assert known_settings("4.3", told) == {"group.max.size": "7"}
