"""Short exchanges run over TCP against groupmock in real time, for bytes, queues, silent connections and timers.

They are every short exchange in one of its versions; tests/live/kafka plays all of them on real Kafka. tests/exchanges has the decisive
tests of what only a wire can show.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, wait

import pytest

from groupmock_clients.probe.language.duration import least_ms
from groupmock_clients.probe.language.exchange import RELEASES, Exchange, Variant
from groupmock_clients.probe.language.exchange_suite import load_suite
from groupmock_clients.probe.stages.tcp_broker import TcpBroker
from groupmock_clients.probe.stages.tcp_stage import TcpStage
from groupmock_clients.probe.verdicts.outcome import BROKEN, DialogueOutcome, again
from groupmock_clients.probe.verdicts.runner import play

pytestmark = pytest.mark.xdist_group("exchanges over TCP")  # One pytest-xdist worker runs all dialogues, because they share the servers.

LONGEST_MS = 2_000
PARALLEL = 16
ATTEMPTS = 3  # A busy machine may cause more delay than a server, so only a difference in every attempt counts.
EXCHANGES = load_suite().exchanges


def chosen(release: str) -> list[Variant]:
    """Return the newest version of every short exchange, and the special behaviour of older releases."""
    return [
        list(exchange.variants())[-1]
        for exchange in EXCHANGES
        if not exchange.needs and "tcp" in exchange.stages and release in exchange.releases and least_ms(exchange) <= LONGEST_MS
        if release == RELEASES[0] or speaks_of(exchange, release)
    ]


def speaks_of(exchange: Exchange, release: str) -> bool:
    """Return whether the exchange applies only to older releases or expects something special from this release."""
    if RELEASES[0] not in exchange.releases:
        return True
    return any(release in getattr(getattr(step, "expects", None), "by_release", ()) for step in exchange.steps)


class Servers:
    """One server process per release and settings, started on first use."""

    def __init__(self) -> None:
        self._running: dict[tuple[str, str], tuple[subprocess.Popen[bytes], TcpBroker]] = {}

    def get(self, release: str, settings: dict[str, str]) -> TcpBroker:
        key = (release, repr(settings))
        if key not in self._running:
            self._running[key] = self._start(release, settings)
        return self._running[key][1]

    def _start(self, release: str, settings: dict[str, str]) -> tuple[subprocess.Popen[bytes], TcpBroker]:
        sets = [word for name, value in settings.items() for word in ("--set", f"{name}={value}")]
        command = [sys.executable, "-m", "groupmock", "serve", "--port", "0", "--profile", f"kafka-{release}", "--log", "off", *sets]
        server = subprocess.Popen(command, stdout=subprocess.PIPE)
        assert server.stdout is not None
        host, port = json.loads(server.stdout.readline())["bootstrap"].split(":")
        return server, TcpBroker(host, int(port), release, patience=2)

    def stop(self) -> None:
        for server, broker in self._running.values():
            broker.close()
            server.terminate()
            assert server.wait(10) == 0
            assert server.stdout is not None
            server.stdout.close()


class Played:
    """All dialogues, played concurrently because each mostly waits. Those that broke are played again at the end."""

    def __init__(self, pool: ThreadPoolExecutor, servers: Servers) -> None:
        self._brokers = {
            (variant.name, release): (variant, servers.get(release, variant.exchange.wanted_settings))
            for release in RELEASES
            for variant in chosen(release)
        }
        self._futures = {key: pool.submit(play, variant, TcpStage(broker)) for key, (variant, broker) in self._brokers.items()}

    def outcome(self, name: str, release: str) -> DialogueOutcome:
        found = self._futures[name, release].result(timeout=120)
        if found.verdict != BROKEN:
            return found
        wait(self._futures.values())
        variant, broker = self._brokers[name, release]
        for attempt in range(1, ATTEMPTS + 1):
            found = again(found, play(variant, TcpStage(broker, attempt)))
            if found.verdict != BROKEN:
                break
        return found


@pytest.fixture(scope="module")
def played() -> Iterator[Played]:
    servers = Servers()
    with ThreadPoolExecutor(PARALLEL) as pool:
        yield Played(pool, servers)
    servers.stop()


CASES = [pytest.param(variant.name, release, id=f"{variant.name}@{release}") for release in RELEASES for variant in chosen(release)]


@pytest.mark.parametrize(("name", "release"), CASES)
def test_our_server_keeps(played: Played, name: str, release: str) -> None:
    outcome = played.outcome(name, release)
    assert outcome.verdict in ("kept", "not applicable"), str(outcome)
