"""Simulation seeds played by Spark give the same lines as played directly; a hanging or crashing play is a line, and known plays are
skipped."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from groupmock_clients.simulation.limited import HUNG, SeedVerdict, judged, within_limits
from groupmock_pipeline import tables
from groupmock_pipeline.campaign import simulated
from groupmock_pipeline.campaign.campaign_plan import DRAWN, read_plan, simulation_stretches
from groupmock_pipeline.errors import BadInput
from groupmock_pipeline.jobs import campaign

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def planned(text: str, folder: Path) -> Any:
    file = folder / "plan.toml"
    file.write_text(text, encoding="utf-8")
    return read_plan(str(file), {})


def line(seed: int, kind: str = "groups", seconds: float = 20.0) -> dict[str, Any]:
    return {"cell": kind, "batch": "1", "product": "p", "kind": kind, "seconds": seconds, "megabytes": 512, "seed": seed}


def test_a_lake_of_seeds_grows_by_what_it_has_not(spark: SparkSession, tmp_path: Path) -> None:
    lake = str(tmp_path / "lake")
    for seeds in ("1..3", "2..5"):
        plan = planned(f'batch = 2\n[[simulations]]\nseeds = "{seeds}"\nkinds = ["groups", "{DRAWN}"]\n', tmp_path)
        campaign.simulate(spark, plan, simulation_stretches(plan, "plan"), lake, wave=2)
    rows = [row.asDict(recursive=True) for row in tables.read(spark, lake, "simulation").collect()]
    assert sorted((row["kind"], row["seed"]) for row in rows) == [(kind, seed) for kind in (DRAWN, "groups") for seed in range(1, 6)]
    for row in rows:
        by_hand = judged(row["seed"], None if row["kind"] == DRAWN else row["kind"])
        assert (row["digest"], row["requests"], row["drawn"], row["judge"]) == (by_hand.digest, by_hand.requests, by_hand.kind, None)
    summed = {row["kind"]: row for row in tables.read(spark, lake, "simulated").collect()}
    for kind in (DRAWN, "groups"):
        assert (summed[kind]["seeds"], summed[kind]["findings"], summed[kind]["first_finding"]) == (5, 0, None)
    assert summed["groups"]["requests"] == sum(row["requests"] for row in rows if row["kind"] == "groups")


def test_a_seed_that_hangs_is_a_line_and_its_batch_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    def hangs(seed: int, kind: str | None) -> SeedVerdict:
        while seed == 2:
            pass
        return judged(seed, kind)

    def limited(seeds: list[int], kind: str | None, seconds: float, megabytes: int) -> Any:
        return within_limits(seeds, kind, seconds, megabytes, judge=hangs)

    monkeypatch.setattr(simulated, "within_limits", limited)
    found = list(simulated.simulated_lines([line(seed, seconds=2.0) for seed in (1, 2, 3)]))
    assert [(each["seed"], each["judge"]) for each in found] == [(1, None), (2, HUNG), (3, None)]
    assert found[1]["finding"] == "no end within 2 s" and found[2]["digest"]


def test_a_finding_keeps_its_plan_and_its_story(monkeypatch: pytest.MonkeyPatch) -> None:
    from groupmock.core.groups.classic.states import ANSWERS, PREPARING, Answer, Do, Question

    monkeypatch.setitem(ANSWERS, (PREPARING, Question.HEARTBEAT), Answer(Do.ANSWER, 0, True))
    found = [each for each in simulated.simulated_lines([line(seed) for seed in range(12)]) if each["judge"] == "groups"]
    assert found and '"steps":[["start","c0"]' in found[0]["plan"] and found[0]["story"]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('[[simulations]]\nkinds = ["groups"]', "seeds"),
        ('[[simulations]]\nseeds = 1\nkinds = ["storms"]', "no kind 'storms'"),
        ('[[simulations]]\nseeds = "9..1"', "9..1"),
        ("[[simulations]]\nseeds = 1\nseconds = 0", "seconds"),
        ("batch = 3", "neither sweeps nor simulations"),
    ],
)
def test_a_plan_that_cannot_be_says_why(text: str, says: str, tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=says):
        simulation_stretches(planned(text, tmp_path), "plan")


def test_flags_alone_make_a_plan() -> None:
    plan = read_plan("-", {"seeds": "1..4", "kinds": [DRAWN, "wire"], "batch": 2})
    found = [(each.cell.kind, each.first, each.last, each.offset) for each in simulation_stretches(plan, "-")]
    assert found == [(DRAWN, 1, 4, 0), ("wire", 1, 4, 2)]
