"""Runs whose stories are judged: recorded journals, and simulated runs with what their server had at several moments."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from io import BytesIO
from typing import Any, Final, NamedTuple

import msgspec
from recorded_journals import FOLDER

from groupmock.journal.read import JournalReader, line_of, read, row_of
from groupmock.rig import WireRig
from groupmock.rig.kept_rows import KeptRows
from groupmock_clients.scenarios.catalogue import SCENARIOS, VIRTUAL, plays
from groupmock_clients.scenarios.play import Sizes, play
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
from tools.story_check.trial import Rows, views_of

PROTOCOLS: Final = ("range", "cooperative-sticky", "kip-848")


class Moment(NamedTuple):
    """What the server had after so many rows."""

    rows: int
    views: Mapping[str, View]


class ToldRun(NamedTuple):
    """All rows of a run. `moments`: some of them, in order, the end included; none of a recorded run."""

    name: str
    rows: Rows
    moments: list[Moment]


def recorded_runs() -> list[ToldRun]:
    """The journals of tests/data/journals."""
    return [ToldRun(path.name, read(path)[1], []) for path in sorted(FOLDER.glob("*.jsonl.gz"))]


def simulated_run(seed: int) -> ToldRun:
    """The run that the simulation makes of a seed."""
    playing = Watched(draw(seed))
    playing.run()
    playing.end()
    playing.look()
    rows = list(JournalReader(BytesIO(playing.world.journal.data())))
    return ToldRun(f"simulation {seed}", rows, playing.moments)


def scenario_runs() -> Iterator[ToldRun]:
    """Every scenario on the virtual clock, with an eager, a cooperative and the consumer protocol (KIP-848)."""
    for scenario in SCENARIOS:
        for protocol in (each for each in VIRTUAL if each.name in PROTOCOLS and plays(scenario, each)):
            with open_stage(Sizes(), protocol) as stage:
                seen = play(scenario, Sizes(), protocol, stage)
            rows = [row for each in seen.rows if (row := row_of(msgspec.json.encode(each)))]
            yield ToldRun(f"{scenario.name}, {protocol.name}", rows, [])


def transactional_run() -> ToldRun:
    """Offsets that a producer commits for the groups `committed`, `aborted` and `open`, named after the end of the transaction."""
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
    moments = [Moment(len(kept.rows), views_of(rig.core.cluster))]
    return ToldRun("transactions", [row for each in kept.rows if (row := row_of(line_of(each)))], moments)


class Watched(Playing):
    """A simulated run that looks at the server each time that it has waited."""

    def __init__(self, plan: SimulationPlan) -> None:
        super().__init__(plan, sampled=False)
        self.moments: list[Moment] = []

    def look(self) -> None:
        """Keep what the server has now. The first line of the journal is its header."""
        self.moments.append(Moment(len(self.world.journal.lines) - 1, views_of(self.world.core.cluster)))

    def _wait(self, ms: Any) -> None:
        super()._wait(ms)
        self.look()
