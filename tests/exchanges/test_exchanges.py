"""Every exchange runs on the pure core for every release that it names, and a failure names the rules that the exchange proves."""

from __future__ import annotations

from collections.abc import Iterator

from cases import for_each

from groupmock_clients.probe.language.exchange import RELEASES, Exchange, Variant
from groupmock_clients.probe.language.exchange_suite import load_suite
from groupmock_clients.probe.stages.core_stage import CoreStage
from groupmock_clients.probe.verdicts.runner import play

EXCHANGES = load_suite().exchanges


def runnable(exchange: Exchange, release: str) -> bool:
    return not exchange.lacking and "core" in exchange.stages and release in exchange.releases


def dialogues(release: str) -> Iterator[tuple[Variant, str]]:
    """Yield the dialogues that are played with that release."""
    return ((variant, release) for exchange in EXCHANGES if runnable(exchange, release) for variant in exchange.variants())


def named(value: Variant | str) -> str:
    return value if isinstance(value, str) else value.name


def kept(variant: Variant, release: str) -> None:
    outcome = play(variant, CoreStage(release, variant.exchange.wanted_settings))
    assert outcome.verdict in ("kept", "not applicable"), str(outcome)


@for_each(("variant", "release"), dialogues("3.9"), ids=named)
def test_the_core_answers_as_3_9_does(variant: Variant, release: str) -> None:
    kept(variant, release)


@for_each(("variant", "release"), dialogues("4.3"), ids=named)
def test_the_core_answers_as_4_3_does(variant: Variant, release: str) -> None:
    kept(variant, release)


@for_each(("variant", "release"), dialogues("4.4"), ids=named)
def test_the_core_answers_as_4_4_does(variant: Variant, release: str) -> None:
    kept(variant, release)


def test_every_release_is_played() -> None:
    assert set(RELEASES) == {"3.9", "4.3", "4.4"}
