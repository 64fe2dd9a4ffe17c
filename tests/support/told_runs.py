"""Runs whose stories are judged: recorded journals, and simulated runs with what their server had at several moments."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from io import BytesIO
from typing import Any, Final, NamedTuple

import msgspec
from recorded_journals import FOLDER

from groupmock.journal.read import JournalReader, read, row_of
from groupmock_clients.scenarios.catalogue import SCENARIOS, VIRTUAL, plays
from groupmock_clients.scenarios.play import Sizes, play
from groupmock_clients.scenarios.virtual import open_stage
from groupmock_clients.simulation.draw import draw
from groupmock_clients.simulation.plan import SimulationPlan
from groupmock_clients.simulation.play import Playing
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
            journal = b"".join(msgspec.json.encode(row) + b"\n" for row in seen.rows)
            yield ToldRun(f"{scenario.name}, {protocol.name}", [row for line in journal.splitlines() if (row := row_of(line))], [])


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
