"""Every exchange on the pure core, for every release it speaks of: each test is named after what it proves."""

from __future__ import annotations

import pytest

from groupmock_clients.probe.core_stage import CoreStage
from groupmock_clients.probe.exchange import RELEASES, Exchange, Variant
from groupmock_clients.probe.runner import play
from groupmock_clients.probe.suite import load_suite

EXCHANGES = load_suite().exchanges


def runnable(exchange: Exchange, release: str) -> bool:
    return not exchange.needs and "core" in exchange.stages and release in exchange.releases


CASES = [
    pytest.param(variant, release, id=f"{variant.name}@{release}")
    for release in RELEASES
    for exchange in EXCHANGES
    if runnable(exchange, release)
    for variant in exchange.variants()
]


@pytest.mark.parametrize(("variant", "release"), CASES)
def test_the_core_keeps(variant: Variant, release: str) -> None:
    outcome = play(variant, CoreStage(release, variant.exchange.wanted_settings))
    assert outcome.verdict in ("kept", "not applicable"), str(outcome)
