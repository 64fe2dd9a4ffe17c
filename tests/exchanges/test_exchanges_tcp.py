"""Exchanges over TCP against our server, in real time: what the core alone cannot show (bytes, queues, mute connections, timers).

`make test` plays every short exchange in one of its versions; `.ci/run` all of them on real Kafka and on us.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import pytest

from groupmock.broker import Broker
from groupmock_clients.probe.exchange import RELEASES, Exchange, Variant
from groupmock_clients.probe.parser import load_folder
from groupmock_clients.probe.runner import Outcome, play_until_kept
from groupmock_clients.probe.tcp_stage import TcpBroker, TcpStage
from groupmock_clients.probe.timing import least_ms

FOLDER = Path(__file__).parent
LONGEST_MS = 2_000
PARALLEL = 24
ATTEMPTS = 3  # a busy machine delays us more than any server: what is wrong is wrong every time
EXCHANGES = load_folder(FOLDER)


def chosen(release: str) -> list[Variant]:
    """The newest version of every short exchange; of older releases what they do in their own way."""
    return [
        list(exchange.variants())[-1]
        for exchange in EXCHANGES
        if not exchange.needs and "tcp" in exchange.stages and release in exchange.releases and least_ms(exchange) <= LONGEST_MS
        if release == RELEASES[0] or speaks_of(exchange, release)
    ]


def speaks_of(exchange: Exchange, release: str) -> bool:
    """Does it hold for older releases only, or expect something else of this one?"""
    if RELEASES[0] not in exchange.releases:
        return True
    return any(release in getattr(getattr(step, "expects", None), "by_release", ()) for step in exchange.steps)


class Servers:
    """One server per release and settings, started when first asked for."""

    def __init__(self) -> None:
        self._running: dict[tuple[str, str], tuple[Broker, TcpBroker]] = {}

    def get(self, release: str, settings: dict[str, str]) -> TcpBroker:
        key = (release, repr(settings))
        if key not in self._running:
            broker = Broker(profile=f"kafka-{release}", settings=settings, seed=1).start()
            host, port = broker.bootstrap.split(":")
            self._running[key] = broker, TcpBroker(host, int(port), release, patience=2)
        return self._running[key][1]

    def stop(self) -> None:
        for broker, probe in self._running.values():
            probe.close()
            broker.stop()


def again(variant: Variant, broker: TcpBroker) -> Outcome:
    return play_until_kept(variant, lambda attempt: TcpStage(broker, attempt), ATTEMPTS)


@pytest.fixture(scope="module")
def played() -> Iterator[dict[tuple[str, str], Future[Outcome]]]:
    """All dialogues under way at once: each mostly waits. A test looks at its own."""
    servers = Servers()
    with ThreadPoolExecutor(PARALLEL) as pool:
        yield {
            (variant.name, release): pool.submit(again, variant, servers.get(release, variant.exchange.wanted_settings))
            for release in RELEASES
            for variant in chosen(release)
        }
    servers.stop()


CASES = [pytest.param(variant.name, release, id=f"{variant.name}@{release}") for release in RELEASES for variant in chosen(release)]


@pytest.mark.parametrize(("name", "release"), CASES)
def test_our_server_keeps(played: dict[tuple[str, str], Future[Outcome]], name: str, release: str) -> None:
    outcome = played[name, release].result(timeout=60)
    assert outcome.verdict in ("kept", "not applicable"), str(outcome)
