"""Every scenario runs once over TCP with every protocol and stock client. `make live PARTS=scenario-table` plays the whole table."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from groupmock_clients.scenarios import live
from groupmock_clients.scenarios.agree import compared
from groupmock_clients.scenarios.catalogue import JAVA_CLIENTS, LIVE, SCENARIOS, protocols, scenario
from groupmock_clients.scenarios.live import opening
from groupmock_clients.scenarios.live import stage as live_stage
from groupmock_clients.scenarios.live.forked_members import close_all
from groupmock_clients.scenarios.live.member_spec import MemberSpec
from groupmock_clients.scenarios.live.process import Hear, MemberProcess
from groupmock_clients.scenarios.play import TOPIC, Missed, Protocol, Sizes, Speaks, Unsupported
from groupmock_clients.scenarios.results import Job, ScenarioResult, run_one

SIZES = Sizes(
    members=3, partitions=6, session_ms=3000, heartbeat_ms=300, delay_ms=7000, move_interval_ms=500, initial_delay_ms=500, absence_ms=300,
    metadata_ms=500, commit_ms=500, rate=5,
)  # fmt: skip
PLAYED = {
    "death-at-once": ["range/aiokafka"],
    "death-in-time": ["design-2/aiokafka", "design-3/kafka-python-twin"],
    "death-too-late": ["range/kafka-python"],
    "rolling-bounce": ["design-2/kafka-python-twin", "design-1/aiokafka-twin"],
    "scale-up": ["cooperative-sticky/confluent-kafka", "design-1/kafka-python", "kip-848/confluent-kafka"],
    "scale-down": ["cooperative-sticky/kafka-python", "design-3/aiokafka-twin"],
    "leader-exit": ["design-2/kafka-python"],
    "second-loss": ["design-2/aiokafka-twin"],
    "new-subscription": ["design-1/aiokafka"],
    "partition-growth": ["design-3/kafka-python", "design-1/kafka-python-twin"],
    "mixed-upgrade": ["design-2/kafka-python", "design-3/aiokafka"],
}
RUNS = [(name, protocol) for name, those in PLAYED.items() for protocol in those]
AT_ONCE = 4
pytestmark = pytest.mark.xdist_group("live-scenarios")


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[str, str], tuple[Job, ScenarioResult]]]:
    """Yield a function that returns a scenario's results. A few scenarios run at a time, because they mostly wait."""
    folder = tmp_path_factory.mktemp("journals")
    jobs = {(name, named): Job("live", scenario(name), protocols("live", named)[0], SIZES, folder) for name, named in RUNS}
    with ThreadPoolExecutor(AT_ONCE) as pool:
        played: dict[tuple[str, str], Future[ScenarioResult]] = {}

        def played_of(name: str, named: str) -> tuple[Job, ScenarioResult]:
            if not played:
                played.update({key: pool.submit(run_one, job) for key, job in jobs.items()})
            return jobs[name, named], played[name, named].result()

        yield played_of
    close_all()


@pytest.mark.parametrize(("name", "named"), RUNS)
def test_nothing_is_broken_and_the_virtual_clock_tells_the_same(
    name: str, named: str, results: Callable[[str, str], tuple[Job, ScenarioResult]]
) -> None:
    """Records are not lost, invariants hold, twins deliver nothing twice after a hand-over, and moves and rebalances equal those on the
    virtual clock."""
    job, first = results(name, named)
    result = compared(job, first)
    assert result.trouble is None
    assert result.figures is not None
    assert (result.broken, result.figures["lost"], result.agreed) == ([], 0, True), f"the journal is {job.file}"


def test_every_scenario_and_every_protocol_is_played_here() -> None:
    """Kafka Connect and Kafka Streams are the only exceptions, because they need Java."""
    assert PLAYED.keys() == {each.name for each in SCENARIOS}
    assert {named for _, named in RUNS} == {str(each) for each in LIVE if each.client not in JAVA_CLIENTS}


def test_a_member_that_ends_by_itself_is_told_with_what_it_logged(tmp_path: Path) -> None:
    with live.open_stage(SIZES, protocols("live", "range/kafka-python")[0], tmp_path / "journal.jsonl") as stage:
        with pytest.raises(Missed, match=r"(?s)m0001 ended by itself with status 1.*Topic name"):
            stage.start("m0001", Speaks.TARGET, ["no topic!"])
    close_all()


def test_what_does_not_settle_is_told_with_the_groups_story(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live_stage, "PATIENCE_S", 0.0)
    sizes = Sizes(members=2, partitions=2, session_ms=500, heartbeat_ms=100, delay_ms=1, move_interval_ms=1, initial_delay_ms=0)
    with live.open_stage(sizes, protocols("live", "range/aiokafka")[0]) as stage:
        stage.create(TOPIC, 2)
        with pytest.raises(Missed, match=r"(?s)waited 1 s for a settled group of m0001, m0002: .*m0001\S* joins, "):
            stage.start("m0001", Speaks.TARGET, [TOPIC])
            stage.settled(frozenset({"m0001", "m0002"}))
    close_all()


def test_a_member_whose_start_was_interrupted_may_talk_after_the_close(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C interrupts the start, so the stage does not know the member, and no broker is left to record its messages."""
    born: list[MemberProcess] = []
    spoke, closed = threading.Event(), threading.Event()

    def interrupted(spec: MemberSpec, log: Path, hear: Hear) -> MemberProcess:
        def late(member: str, event: str, facts: dict[str, Any]) -> None:
            spoke.set()
            assert closed.wait(20)
            hear(member, event, facts)
            said.append(event)

        born.append(MemberProcess(spec, log, late))
        assert spoke.wait(20)
        raise KeyboardInterrupt

    said: list[str] = []
    monkeypatch.setattr(live_stage, "MemberProcess", interrupted)
    with pytest.raises(KeyboardInterrupt), live.open_stage(SIZES, protocols("live", "range/aiokafka")[0]) as stage:
        stage.start("m0001", Speaks.TARGET, [TOPIC])
    closed.set()
    born[0].kill()
    assert said[0] == "ready"
    close_all()


@pytest.mark.parametrize(
    ("protocol", "why"),
    [
        (Protocol("cooperative-sticky", "aiokafka"), "aiokafka cannot list cooperative-sticky"),
        (Protocol("design-2", "confluent-kafka"), "confluent-kafka has no assignor for design-2"),
    ],
)
def test_what_a_library_does_not_have_is_refused(protocol: Protocol, why: str) -> None:
    with live.open_stage(SIZES, protocol) as stage, pytest.raises(Unsupported, match=why):
        stage.start("m0001", Speaks.TARGET, [TOPIC])


def test_a_library_that_is_not_installed_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(opening, "find_spec", lambda _: None)
    with pytest.raises(Unsupported, match="needs the Python package confluent_kafka"):
        live.open_stage(SIZES, protocols("live", "cooperative-sticky/confluent-kafka")[0]).__enter__()
