"""Runs whose stories are checked: recorded journals, and runs on the virtual clock with snapshots of their server."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from io import BytesIO
from typing import Any, Final, NamedTuple

from kitchen_of_two import TwoMembers
from recorded_journals import FOLDER

from groupmock.journal.read import JournalReader, line_of, read, row_of
from groupmock.rig import WireRig
from groupmock.rig.kept_rows import KeptRows
from groupmock_clients.scenarios.catalogue import SCENARIOS, VIRTUAL, plays
from groupmock_clients.scenarios.play import Protocol, Scenario, Sizes, play
from groupmock_clients.scenarios.virtual import open_stage
from groupmock_clients.simulation.draw import draw
from groupmock_clients.simulation.plan import SimulationPlan
from groupmock_clients.simulation.play import Playing
from groupmock_codec.messages.k22_init_producer_id import InitProducerIdRequest
from groupmock_codec.messages.k26_end_txn import EndTxnRequest
from groupmock_codec.messages.k28_txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
)
from tools.story_check.judge import View
from tools.story_check.trial import Rows, story_of, views_of

PROTOCOLS: Final = ("range", "cooperative-sticky", "kip-848")


class Moment(NamedTuple):
    """The state of the server after a number of rows."""

    rows: int
    views: Mapping[str, View]


class ToldRun(NamedTuple):
    """All rows of a run. `moments` are snapshots of the server in order and include the end; a recorded run has none. `told` is the
    story with consumer lag from a narrator that knows the log ends, or None."""

    name: str
    rows: Rows
    moments: list[Moment]
    told: list[str] | None = None

    def story(self) -> list[str]:
        return story_of(self.rows) if self.told is None else self.told


def recorded_runs() -> list[ToldRun]:
    return [ToldRun(path.name, read(path)[1], []) for path in sorted(FOLDER.glob("*.jsonl.gz"))]


def simulated_run(seed: int) -> ToldRun:
    playing = Watched(draw(seed))
    playing.run()
    playing.end()
    playing.look()
    rows = list(JournalReader(BytesIO(playing.world.journal.data())))
    return ToldRun(f"simulation {seed}", rows, playing.moments)


def scenario_runs() -> Iterator[ToldRun]:
    """Yield every scenario on the virtual clock, with an eager, a cooperative and the consumer protocol (KIP-848)."""
    for scenario in SCENARIOS:
        for protocol in (each for each in VIRTUAL if each.name in PROTOCOLS and plays(scenario, each)):
            yield scenario_run(scenario, protocol)


def scenario_run(scenario: Scenario, protocol: Protocol) -> ToldRun:
    with open_stage(Sizes(), protocol) as stage:
        seen = play(scenario, Sizes(), protocol, stage)
    return ToldRun(f"{scenario.name}, {protocol.name}", _as_read(seen.rows), [])


def transactional_run() -> ToldRun:
    """Commit offsets in a transaction for each of the groups `committed`, `aborted` and `open`, which are named after the result."""
    kept = KeptRows(details=True)
    rig = WireRig.make(topics={"t": 1}, seed=3, sinks=[kept])
    wire = rig.connect()
    for group in ("committed", "aborted", "open"):
        given = wire.ask(22, 4, InitProducerIdRequest(transactional_id=group, transaction_timeout_ms=60_000), "anna")
        about = {"transactional_id": group, "producer_id": given.producer_id, "producer_epoch": given.producer_epoch}
        topics = [
            TxnOffsetCommitRequestTopic(name="t", partitions=[TxnOffsetCommitRequestPartition(partition_index=0, committed_offset=4)])
        ]
        rig.sleep(100)
        wire.ask(28, 5, TxnOffsetCommitRequest(group_id=group, topics=topics, **about), "anna")
        rig.sleep(100)
        if group != "open":
            wire.ask(26, 3, EndTxnRequest(committed=group == "committed", **about), "anna")
    rig.sleep(100)
    return ToldRun("transactions", _as_read(kept.rows), [Moment(len(kept.rows), views_of(rig.core.cluster))])


def kitchen_run() -> ToldRun:
    """Play a group with two unusual commits: an offset beyond the log's end, and an offset of another member's partition. A third member
    joins, and the leader has not yet sent the assignments."""
    stage = TwoMembers()
    stage.produce("orders", 1, 12)
    for member, partition, offset in ((stage.ben, 1, 9), (stage.ben, 1, 6), (stage.anna, 3, 5)):
        member.commit({("orders", partition): offset})
        stage.sleep(100)
    for member in (stage.consumer("cleo"), stage.ben, stage.anna):
        member.join()
    stage.sleep(1000)
    rows = _as_read(stage.ring.rows)
    return ToldRun("kitchen", rows, [Moment(len(rows), views_of(stage.core.cluster))], list(stage.story()))


def _as_read(rows: Iterable[Any]) -> Rows:
    """Convert rows to the form that a reader gets from their journal."""
    return [row for each in rows if (row := row_of(line_of(each)))]


class Watched(Playing):
    """A simulated run that takes a snapshot of the server after every wait."""

    def __init__(self, plan: SimulationPlan) -> None:
        super().__init__(plan, sampled=False)
        self.moments: list[Moment] = []

    def look(self) -> None:
        """Take a snapshot of the server. The first line of the journal is its header."""
        self.moments.append(Moment(len(self.world.journal.lines) - 1, views_of(self.world.core.cluster)))

    def _wait(self, ms: Any) -> None:
        super()._wait(ms)
        self.look()
