"""The examples of every audit rule give the same verdicts over TCP with a server process for each. Their journals give the verdicts of
the virtual run. The first right and wrong example of each rule are also played through `groupmock record`, whose recording is judged.

With RULE_EXAMPLES_RECORD=1 the tests that pass are noted in tools/records/judge.json, for docs/proof/judge.md."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Final

import pytest
from audit_examples import exchange_of, played
from recording_proxy import proxy

from groupmock.audit.auditor import audit
from groupmock.audit.offline import audit_journal
from groupmock.audit.rule import registered
from groupmock.audit.verdicts import BROKEN as FOUND_BROKEN
from groupmock.audit.verdicts import KEPT as FOUND_KEPT
from groupmock.audit.verdicts import Audit
from groupmock_clients.probe.language.exchange import Exchange
from groupmock_clients.probe.language.scope import Value
from groupmock_clients.probe.stages.contract import NotOnThisStage
from groupmock_clients.probe.stages.tcp_broker import TcpBroker
from groupmock_clients.probe.stages.tcp_stage import TcpStage
from groupmock_clients.probe.verdicts.outcome import BROKEN, DialogueOutcome, again
from groupmock_clients.probe.verdicts.runner import play
from tools.records import RECORDS, save

# One pytest-xdist worker runs all examples, because they run concurrently inside one test.
pytestmark = pytest.mark.xdist_group("rule examples over TCP")

RULES: Final = registered()
PARALLEL: Final = 6
ATTEMPTS: Final = 3
"""Number of attempts for an example. A busy machine delays us more than any server, so only a difference in every attempt counts. That
holds for verdicts too, because the client of an example pauses where the machine has no time for it."""
ROUTES: Final = {
    "add_faults": "/v1/faults",
    "fence_transaction": "/v1/transactions/{transactional_id}/fence",
    "move_coordinator": "/v1/coordinators/move",
    "unload_coordinator": "/v1/coordinators/unload",
}
"""Commands of exchanges that the control API offers, with their routes. Fields of a path are missing in the body. The route of faults takes
one rule at a time."""


class SteeredStage(TcpStage):
    """A stage over TCP that sends operator commands to the control API."""

    control = ""

    def command(self, name: str, arguments: dict[str, Value]) -> None:
        if name not in ROUTES:
            raise NotOnThisStage(f"!{name} has no route here")
        path = ROUTES[name].format_map(arguments)
        whole = {field: value for field, value in arguments.items() if f"{{{field}}}" not in ROUTES[name]}
        bodies = whole["rules"] if name == "add_faults" else [whole]
        assert isinstance(bodies, list)
        for body in bodies:
            asked = urllib.request.Request(self.control + path, json.dumps(body).encode(), {"Content-Type": "application/json"})
            urllib.request.urlopen(asked, timeout=10).close()


class Server:
    """A server process for one example."""

    def __init__(self, settings: dict[str, str], journal: Path) -> None:
        sets = [word for name, value in settings.items() for word in ("--set", f"{name}={value}")]
        command = [sys.executable, "-m", "groupmock", "serve", "--port", "0", "--profile", "kafka-4.3", "--log", "off", "--control", "0"]
        self.process = subprocess.Popen([*command, "--journal", str(journal), *sets], stdout=subprocess.PIPE)
        assert self.process.stdout is not None
        ready = json.loads(self.process.stdout.readline())
        self.control = str(ready["control"])
        self.host, self.port = ready["bootstrap"].split(":")
        self.broker = TcpBroker(self.host, int(self.port), "4.3", patience=2)

    def plays(self, exchange: Exchange, broker: TcpBroker, attempt: int) -> DialogueOutcome:
        """Play an exchange by way of this broker's address, with commands to the server itself."""
        stage = SteeredStage(broker, attempt)
        stage.control = self.control
        return play(next(exchange.variants()), stage)

    def stop(self) -> None:
        self.broker.close()
        self.process.terminate()
        assert self.process.wait(10) == 0
        assert self.process.stdout is not None
        self.process.stdout.close()


def over_tcp(code: str, which: str, journal: Path, recording: Path | None = None) -> tuple[DialogueOutcome, Audit]:
    """Play an example until its answers are as the text says and the rule finds what it should in the server's journal, or in the
    recording of a proxy before it. Return the outcome of all attempts, and the last audit."""
    exchange = exchange_of(RULES[code], which)
    wanted = which.partition("-")[0]
    outcome: DialogueOutcome | None = None
    found: Audit | None = None
    for attempt in range(1, ATTEMPTS + 1):
        played_now = one_attempt(exchange, attempt, journal, recording)
        outcome = played_now if outcome is None else again(outcome, played_now)
        judged = journal if recording is None else recording
        with judged.open("rb") as file:
            found = audit_journal(judged.name, file).audit
        if outcome.verdict != BROKEN and found.rules[code].verdict == wanted:
            break
    assert outcome is not None and found is not None
    return outcome, found


def one_attempt(exchange: Exchange, attempt: int, journal: Path, recording: Path | None) -> DialogueOutcome:
    """Play an example once, with a new server and new files."""
    journal.unlink(missing_ok=True)
    server = Server(exchange.wanted_settings, journal)
    try:
        if recording is None:
            return server.plays(exchange, server.broker, attempt)
        recording.unlink(missing_ok=True)
        with proxy(f"{server.host}:{server.port}", recording) as address:
            host, port = address.split(":")
            broker = TcpBroker(host, int(port), "4.3", patience=2)
            outcome = server.plays(exchange, broker, attempt)
            broker.close()
        return outcome
    finally:
        server.stop()


def note(kind: str, code: str, which: str) -> None:
    """Note in the record that an example was judged rightly, if the environment asks for it."""
    if os.environ.get("RULE_EXAMPLES_RECORD") != "1" or which not in ("kept", "broken"):
        return
    place = RECORDS / "judge.json"
    data = json.loads(place.read_text(encoding="utf-8"))
    seen = data.setdefault("seen", {}).setdefault(code, [])
    data["seen"][code] = sorted({*seen, f"{kind} {which}"})
    save(place, data)


CASES: Final = [(code, which) for code, rule in RULES.items() for which in rule.examples()]
RECORDED: Final = [(code, which) for code in RULES for which in ("kept", "broken")]
Played = dict[tuple[str, str], "Future[tuple[DialogueOutcome, Audit]]"]


def chosen(request: pytest.FixtureRequest, fixture: str, cases: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """Return the cases of the tests that were selected, because only those need to be played."""
    params = [item.callspec.params for item in request.session.items if fixture in getattr(item, "fixturenames", ())]
    wanted = {(each["code"], each["which"]) for each in params}
    return [case for case in cases if case in wanted]


@pytest.fixture(scope="module")
def over_wire(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Played]:
    folder = tmp_path_factory.mktemp("examples")
    with ThreadPoolExecutor(PARALLEL) as pool:
        yield {case: pool.submit(over_tcp, *case, folder / f"{'-'.join(case)}.jsonl") for case in chosen(request, "over_wire", CASES)}


@pytest.mark.parametrize(("code", "which"), CASES)
def test_the_verdict_is_that_of_the_virtual_run(over_wire: Played, code: str, which: str) -> None:
    outcome, found = over_wire[code, which].result(timeout=300)
    assert outcome.verdict == "kept", str(outcome)
    virtual = audit(played(RULES[code], which))
    assert found.rules[code].verdict == virtual.rules[code].verdict == which.partition("-")[0], [each.sentence for each in found.findings]
    assert {each.rule for each in found.findings} == {each.rule for each in virtual.findings}
    note("live", code, which)


@pytest.fixture(scope="module")
def through_a_proxy(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Played]:
    folder = tmp_path_factory.mktemp("recordings")
    with ThreadPoolExecutor(PARALLEL) as pool:
        yield {
            case: pool.submit(over_tcp, *case, folder / f"{'-'.join(case)}.jsonl", folder / f"{'-'.join(case)}-recorded.jsonl")
            for case in chosen(request, "through_a_proxy", RECORDED)
        }


@pytest.mark.parametrize(("code", "which"), RECORDED)
def test_a_recording_is_judged_as_the_virtual_run(through_a_proxy: Played, code: str, which: str) -> None:
    outcome, found = through_a_proxy[code, which].result(timeout=300)
    assert outcome.verdict == "kept", str(outcome)
    assert found.rules[code].verdict == (FOUND_KEPT if which == "kept" else FOUND_BROKEN)
    assert {each.rule for each in found.findings} <= ({code, *RULES[code].implies} if which == "broken" else set())
    note("recorded", code, which)
