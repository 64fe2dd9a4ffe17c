"""Play scenarios on the virtual clock in the executors, by protocol, sizes and seed, for the tables campaign and characteristics.
The job `campaign` also plays seeds of the simulation that tries to break the cluster, and writes the tables simulation and simulated.

    groupmock pipeline campaign PLAN LAKE
    groupmock pipeline campaign - LAKE --seeds 1..100 --scenario scale-up --protocol design-2 --size members=4,8
    groupmock pipeline campaign - LAKE --seeds 1..10000 --simulation drawn

PLAN is a .toml, .yaml or .json file with `batch` and either `sweeps` or `simulations`. Each sweep of a plan has `seeds` (FROM..TO),
`scenarios`, `protocols` and `sizes` (lists; without them all, or the defaults). Each simulation of a plan has `seeds`, `kinds`, and the
limits of a seed: `seconds` and `megabytes`. A command-line flag replaces the value of every entry of the plan file. The job `campaign` does
not play parts of the plan whose results are in the lake already. The page docs/reference/pipeline/campaign.md has more about the job
`campaign`.
"""

from __future__ import annotations

import argparse
import logging
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from pyspark.sql import functions as F

from .. import tables
from ..campaign.campaign_plan import OFFERED, CampaignPlan, SimulationStretch, Stretch, read_plan, simulation_stretches, stretches
from ..campaign.characteristics import characteristics
from ..campaign.export import to_json
from ..campaign.simulated import COUNTED, PLAY, RECORD, seeds, simulate_all, summed_up
from ..campaign.sweep import ORDINAL, left, played, plays
from ..errors import BadInput

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

INPUT: Final = "the plan: a .toml, .yaml or .json file, or - for the flags alone"
WAVE: Final = 64
TABLE: Final = "campaign"
SIMULATION: Final = "simulation"

log = logging.getLogger("groupmock_pipeline")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--seeds", metavar="FROM..TO", help="seeds of every sweep")
    parser.add_argument("--scenario", action="append", default=[], metavar="NAME", help="only this one (repeatable)")
    parser.add_argument("--protocol", action="append", default=[], metavar="NAME[/CLIENT]", help="only this one (repeatable)")
    parser.add_argument("--size", action="append", default=[], metavar="NAME=N[,N...]", help="one size, as in members=4,8 (repeatable)")
    kinds = f"of the simulation: {', '.join(OFFERED)} (repeatable)"
    parser.add_argument("--simulation", action="append", default=[], metavar="KIND", help=kinds)
    parser.add_argument("--batch", type=int, metavar="N", help="seeds that one task plays (default 50)")
    parser.add_argument("--wave", type=int, default=WAVE, metavar="N", help=f"batches between two commits to the lake (default {WAVE})")
    parser.add_argument("--json", type=Path, metavar="FILE", help="the characteristics of this lake as JSON too")


def run(spark: SparkSession, arguments: argparse.Namespace) -> None:
    """Play the scenarios of the plan that the lake lacks, wave by wave, then write the characteristics of all that the lake has."""
    plan = read_plan(arguments.input, flags(arguments))
    if arguments.wave < 1:
        raise BadInput(f"--wave {arguments.wave}: at least 1")
    if arguments.json is not None and not arguments.json.absolute().parent.is_dir():
        raise BadInput(f"--json {arguments.json}: there is no such folder; make it first")
    wanted, simulations = stretches(plan, arguments.input), simulation_stretches(plan, arguments.input)
    if simulations:
        simulate(spark, plan, simulations, arguments.output, arguments.wave)
    if wanted:
        play(spark, plan, wanted, arguments.output, arguments.wave)
        tables.replace(characteristics(tables.read(spark, arguments.output, TABLE)).coalesce(1), arguments.output, "characteristics")
    if wanted and arguments.json is not None:
        arguments.json.write_bytes(to_json(tables.read(spark, arguments.output, "characteristics")))


def flags(arguments: argparse.Namespace) -> dict[str, Any]:
    """Return the flags of the command line by the names of a sweep's fields. Raises BadInput."""
    sizes = dict(_size(word) for word in arguments.size)
    said = {"seeds": arguments.seeds, "scenarios": arguments.scenario, "protocols": arguments.protocol}
    return {**said, "sizes": sizes, "kinds": arguments.simulation, "batch": arguments.batch}


def _size(word: str) -> tuple[str, list[int | float]]:
    name, _, values = word.partition("=")
    try:
        return name, [float(each) if "." in each else int(each) for each in values.split(",")]
    except ValueError:
        raise BadInput(f"--size {word}: write NAME=N or NAME=N,N, as in --size members=4,8") from None


def play(spark: SparkSession, plan: CampaignPlan, wanted: Sequence[Stretch], lake: str, wave: int = WAVE) -> None:
    """Play the plan of a campaign in waves. Each wave is a Spark job whose batches appear in the lake as whole partitions, so that a
    killed run loses only that wave."""
    every = sum(each.last - each.first + 1 for each in wanted)
    _in_waves(left(plays(spark, wanted, plan.batch), done(spark, lake)), every, lake, wave, TABLE, lambda todo: played(todo, wave))


def simulate(spark: SparkSession, plan: CampaignPlan, wanted: Sequence[SimulationStretch], lake: str, wave: int = WAVE) -> None:
    """Play seeds of the simulation in waves, then sum up their findings."""
    every = sum(each.last - each.first + 1 for each in wanted)
    todo = left(seeds(spark, wanted, plan.batch), done(spark, lake, SIMULATION), PLAY)
    _in_waves(todo, every, lake, wave, SIMULATION, lambda todo: played(todo, wave, simulate_all, RECORD))
    tables.replace(summed_up(tables.read(spark, lake, SIMULATION)).coalesce(1), lake, "simulated")
    # Only one number per kind of journal row is collected to the driver.
    for row in tables.read(spark, lake, "simulated").orderBy("product", "kind").collect():
        log.info("simulation: %s: %d findings in %d seeds (%d hung, %d died)", *(row[name] for name in COUNTED))


def _in_waves(todo: DataFrame, every: int, lake: str, wave: int, table: str, made: Callable[[DataFrame], DataFrame]) -> None:
    number = F.floor(F.col(ORDINAL) / wave)
    # The driver gets the numbers of the unfinished waves and their sizes.
    waves = sorted((row[0], row[1]) for row in todo.groupBy(number.alias("wave")).count().collect())
    log.info("%s: %d plays, of which the lake has %d", table, every, every - sum(count for _, count in waves))
    for place, (each, count) in enumerate(waves, 1):
        log.info("%s: wave %d of %d: %d plays", table, place, len(waves), count)
        tables.add(made(todo.where(number == each)), lake, table)


def done(spark: SparkSession, lake: str, table: str = TABLE) -> DataFrame | None:
    return tables.find(spark, lake, table)
