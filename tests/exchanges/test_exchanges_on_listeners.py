"""Every exchange about listeners with SASL runs on the whole driver, with bytes and a virtual clock, for every release that it names."""

from __future__ import annotations

from collections.abc import Iterator

from cases import for_each
from wire_stage import WireStage

from groupmock_clients.probe.language.exchange import RELEASES, Connect, Exchange, Variant
from groupmock_clients.probe.language.exchange_suite import load_suite
from groupmock_clients.probe.verdicts.runner import play

USERS = {"alice": "open sesame", "bob": "good night"}
LISTENERS = {"PLAIN": "PLAINTEXT", "SASL": "SASL_PLAINTEXT", "SHORT": "SASL_PLAINTEXT"}
SESSION_OF_SHORT = {"connections.max.reauth.ms": "1500"}
EXCHANGES = [each for each in load_suite().exchanges if "listeners" in each.needs]


def speaks_tls(exchange: Exchange) -> bool:
    return any(isinstance(step, Connect) and step.listener not in LISTENERS for step in exchange.steps)


def dialogues() -> Iterator[tuple[Variant, str]]:
    for exchange in EXCHANGES:
        for release in exchange.releases if not speaks_tls(exchange) else ():
            yield from ((variant, release) for variant in exchange.variants())


def named(value: Variant | str) -> str:
    return value if isinstance(value, str) else value.name


@for_each(("variant", "release"), dialogues(), ids=named)
def test_listeners_answer_as_kafka_does(variant: Variant, release: str) -> None:
    exchange = variant.exchange
    # All listeners of a rig have the same settings, and each dialogue has a rig of its own.
    settings = exchange.wanted_settings | (SESSION_OF_SHORT if "SHORT" in exchange.listeners else {})
    outcome = play(variant, WireStage(settings, release, listeners=LISTENERS, passwords=USERS))
    assert outcome.verdict == "kept", str(outcome)


def test_every_release_is_played() -> None:
    assert {release for _, release in dialogues()} == set(RELEASES)
