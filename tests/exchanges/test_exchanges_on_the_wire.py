"""Exchanges that only a wire can show (malformed bytes, closed connections) run over TCP. The live exchanges cover all others."""

from __future__ import annotations

import pytest

from groupmock import Broker
from groupmock_clients.probe.language.exchange import RELEASES
from groupmock_clients.probe.language.exchange_suite import load_suite
from groupmock_clients.probe.stages.tcp_broker import TcpBroker
from groupmock_clients.probe.stages.tcp_stage import TcpStage
from groupmock_clients.probe.verdicts.runner import play

ON_THE_WIRE = [each for each in load_suite().exchanges if not each.lacking and "core" not in each.stages]
PATIENCE = 20
"""Factor on the probe's time limits, because this test does not judge the speed of a busy machine."""


@pytest.mark.parametrize("release", RELEASES)
def test_our_server_keeps(release: str) -> None:
    with Broker(profile=f"kafka-{release}", settings={"group.initial.rebalance.delay.ms": 400}) as broker:
        host, _, port = broker.bootstrap.rpartition(":")
        peer = TcpBroker(host, int(port), release, patience=PATIENCE)
        try:
            outcomes = [play(variant, TcpStage(peer)) for each in ON_THE_WIRE if release in each.releases for variant in each.variants()]
        finally:
            peer.close()
    assert [str(outcome) for outcome in outcomes if outcome.verdict not in ("kept", "not applicable")] == []
    assert len(outcomes) >= 10
