"""Lines of exchanges that open connections, authenticate and steer rights."""

from __future__ import annotations

import re

import pytest
from cases import for_each

from groupmock_clients.probe.language.exchange import Connect, Exchange, Expectation, Raw, Timing
from groupmock_clients.probe.language.macros import LogicalLine
from groupmock_clients.probe.language.parser import read_one
from groupmock_clients.probe.language.steps import step_of
from groupmock_clients.probe.language.syntax import ExchangeError, FunctionCall, Literal, Text
from groupmock_clients.probe.stages.core_stage import CoreStage
from groupmock_clients.probe.verdicts.runner import play

EXCHANGE = Exchange("X", "about lines", "x:1")


def parsed(text: str) -> object:
    return step_of(LogicalLine("x:2", text), EXCHANGE)


@for_each(("text", "step"), [
    ("A connects SASL", Connect(member="A", listener="SASL")),
    ("A/2 connects TLS with foreign", Connect(member="A/2", listener="TLS", certificate="foreign")),
    ("A connects BOTH bare", Connect(member="A", listener="BOTH", bare=True)),
    ('A connects SASL as "$stem-u" by PLAIN', Connect(member="A", listener="SASL", user=Text("$stem-u"), mechanism="PLAIN")),
    ("A: token plain(a, b) as said",
     Raw(member="A", framed=True, token=True, bound="said", parts=(FunctionCall("plain", (Literal("a"), Literal("b"))),))),
])  # fmt: skip
def test_line_about_a_connection_is_read(text: str, step: object) -> None:
    assert parsed(text) == step


@for_each(("text", "what"), [
    ("A connects", "no step looks like"),
    ("A connects SASL by PLAIN", "'as USER'"),
    ("A connects TLS with mine", "one of client, foreign expected"),
    ('A: bytes b"x" as said -> closed', "only the answer to a token can have a name"),
])  # fmt: skip
def test_line_about_a_connection_that_means_nothing_is_refused(text: str, what: str) -> None:
    with pytest.raises(ExchangeError, match=re.escape(what)):
        parsed(text)


def test_expectation_of_an_end_may_have_a_time() -> None:
    step = parsed('A: bytes b"x" -> bytes x"15" before 90 | 3.9: closed after 100..300')
    assert isinstance(step, Raw) and step.expects is not None
    assert step.expects.of("4.4") == Expectation("bytes", fields=(("bytes", Literal(b"\x15")),), timing=Timing("before", 0, 90))
    assert step.expects.of("3.9") == Expectation("closed", timing=Timing("after", 100, 300))


def test_report_of_a_failure_has_no_bytes_of_an_authentication() -> None:
    text = 'exchange X "about a secret"\nrows: X\n\nA: SaslAuthenticate v1 auth_bytes=b"open sesame" -> 0\n'
    outcome = play(next(iter(read_one("x", text).variants())), CoreStage("4.4", {}))
    assert outcome.failure is not None and "11 bytes" in outcome.failure.sent
    assert "sesame" not in outcome.failure.sent + outcome.failure.seen
