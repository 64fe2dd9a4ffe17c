"""Four stock instances of Kafka Streams on real Kafka move as many tasks as the scripted ones of `groupmock scenario table`, by the streams
protocol (KIP-1071) and by the classic protocol.

`make live PARTS=scenario-table` plays the same with stock instances on groupmock. It needs java and the shared folder.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from streams_on_kafka import stage_on_kafka

from groupmock_clients.scenarios.agree import BY_CHANCE, STARTUP_MS, twin_of
from groupmock_clients.scenarios.catalogue import KAFKA_STREAMS, SCENARIOS, fitting, protocols, scenario
from groupmock_clients.scenarios.measure import measure
from groupmock_clients.scenarios.play import STREAMS, STREAMS_CLASSIC, Sizes, play
from groupmock_clients.scenarios.results import Job, run_one

PLAYED = [
    (named, each.name) for named in (STREAMS, STREAMS_CLASSIC) for each in SCENARIOS if each.row and (named, each.name) != BY_CHANCE
]
pytestmark = pytest.mark.xdist_group("streams-on-kafka")


@pytest.mark.parametrize(("named", "name"), PLAYED)
def test_streams_on_kafka_move_as_many_tasks_as_scripted_instances(named: str, name: str, tmp_path: Path) -> None:
    protocol = protocols("live", f"{named}/{KAFKA_STREAMS}")[0]
    job = Job("live", scenario(name), protocol, fitting(Sizes(), protocol))
    with stage_on_kafka(job.sizes, protocol, tmp_path) as stage:
        run = play(job.scenario, job.sizes, protocol, stage)
        moved = stage.moved
    twin = twin_of(job)
    assert twin is not None
    scripted = run_one(Job("virtual", job.scenario, twin, replace(job.sizes, startup_ms=STARTUP_MS))).figures
    assert scripted is not None
    assert (moved, measure(run.rows).lost) == (scripted["moved"], 0)
