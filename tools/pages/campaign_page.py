"""Write the page of job campaign, with the Characteristics of the last recorded one."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import msgspec

from groupmock_clients.scenarios.catalogue import SCENARIOS, VIRTUAL
from groupmock_clients.scenarios.table import TITLES
from groupmock_pipeline.campaign.characteristics import COUNTS, PERCENTILES
from groupmock_pipeline.campaign.scenario_sizes import SIZES
from groupmock_pipeline.campaign.simulated import ABOUT as SIMULATION_ABOUT
from groupmock_pipeline.campaign.simulated import RECORD as SIMULATION
from groupmock_pipeline.campaign.table_row import FIGURES, RECORD
from tools.records import RECORDS

from .markdown import notice

NOTICE: Final = notice("campaign", "characteristics.json")
DATA: Final = "characteristics.json"
PLAN: Final = "campaign.toml"
SHOWN: Final = {
    "moved": "Partitions moved",
    "rounds": "Rounds",
    "unowned_s": "Partition-seconds without an owner",
    "converge_s": "Seconds to converge",
}
"""Maps a figure of a scenario to the title of its table."""
ABOUT: Final = """
# campaign: scenarios by the thousand, on the virtual clock

`groupmock pipeline campaign PLAN LAKE` plays every combination of [scenario](../../proof/scenarios.md), protocol, sizes and seed of a plan,
and writes one line per play: table `campaign`. Spark's executors play: one task is a batch of seeds of one combination, its lines go
straight to Parquet, no play reaches the driver. Then it writes table `characteristics`: what each combination costs, over its seeds.

```console
$ groupmock pipeline campaign tools/records/campaign.toml lake --json characteristics.json
$ groupmock pipeline campaign - lake --seeds 1..200 --scenario scale-up --protocol design-2 --size members=4,8 --size partitions=24
$ groupmock pipeline campaign - lake --seeds 1..10000 --simulation drawn    # the simulation that tries to break it
$ groupmock scenario run second-loss --virtual --protocol design-3/scripted --seed 17 --journal folder    # one play again, with its journal
```

## The plan

A .toml, .yaml or .json file. `batch`: seeds of a task (50). `sweeps`: each with `seeds` (`FROM..TO`, a must), `scenarios`, `protocols`
(`NAME` or `NAME/CLIENT`) and `sizes`, a number or a list for each; what is left out means all, of sizes the default. A flag replaces what
every sweep says; `-` instead of a file: the flags alone. Combinations that are never played (a rolling upgrade from range to range, fewer
members than a scenario needs) are left out; naming something of which nothing is played is an error. What two sweeps want is played once.

`simulations`: each with `seeds`, `kinds` (groups, steering, faults, wire, hostile, mixed; none, or `drawn`: each seed draws its own), and
`seconds`
(20) and `megabytes` (512), what one seed may take in its child process. A plan may have both. Flags: `--seeds`, `--simulation KIND`.

```toml
{plan}
```

## What holds

* The same plan gives the same lines, whatever the master, the tasks or what was played before: a play draws from its seed alone.
* What the lake has is not played again: a play is known by `seed` and `cell` (scenario, protocol, client, all sizes, and the product with
  its version). A plan that grows costs what is new; another version of groupmock is another cell.
* Each wave (`--wave`, 64 batches) is one Spark job, and its batches appear in the lake as whole partitions (`cell=.../batch=...`) when it
  ends. Who stops a run loses the wave that it was in, and starts it again with the same command.
* A play that fails is a line without figures: `trouble` says why. `broken` has what invariants found. `characteristics` counts both.
* A seed of [the simulation](../../proof/simulation.md) that hangs, dies or finds something is a line of table `simulation`, and no other
  seed's trouble. Table `simulated` sums up: a line per product and kind with `seeds`, `findings`, `hung`, `died`, `replayed`, `rows`,
  `requests`, `virtual_ms`, `first_seed`, `last_seed`, `first_finding`.
* Limits: virtual members only. A play costs about 8 ms a rebalance with 3 or 4 members, 17 with 8, 26 with 12: groups of a thousand are for
  `groupmock scenario`. A worker that its system kills ends the run; the same command goes on from the last whole wave. On a cluster
  every executor needs groupmock[pipeline], or `--ship` ([what travels](../../how-to/pipeline.md#what-travels)).

## Columns
""".strip()
CAMPAIGN_ABOUT: Final = {
    "cell": "the combination, in words and a digest of all of it; partition of the table",
    "batch": "first seed of its batch; partition of the table",
    "product": "who was measured, with its version",
    "scenario": "name in the catalogue",
    "protocol": "range, cooperative-sticky, design-1, design-2, design-3",
    "client": "scripted; scripted-twin goes on delivering during a round",
    "seed": "what the play drew from",
    "trouble": "why there are no figures; null: there are",
    "broken": "what invariants found; empty is how it should be",
}


def text() -> str:
    return page(RECORDS)


def page(folder: Path) -> str:
    data, plan = folder / DATA, folder / PLAN
    lines = [NOTICE, ABOUT.replace("{plan}", plan.read_text(encoding="utf-8").strip()), "", *_columns()]
    if data.exists():
        lines += ["", "## The Characteristics, over many seeds", "", *_measured(msgspec.json.decode(data.read_bytes()))]
    return "\n".join(lines) + "\n"


def _columns() -> Iterator[str]:
    yield "| `campaign` | type | |"
    yield "|---|---|---|"
    measured = "see [what is measured](../../proof/scenarios.md)"
    about = {**dict.fromkeys(SIZES, "see `groupmock scenario --help`"), **dict.fromkeys(FIGURES, measured)}
    for field in RECORD.fields:
        yield f"| `{field.name}` | {field.dataType.simpleString()} | {(about | CAMPAIGN_ABOUT)[field.name]} |"
    yield from ("", "| `simulation` | type | |", "|---|---|---|")
    yield from (f"| `{field.name}` | {field.dataType.simpleString()} | {SIMULATION_ABOUT[field.name]} |" for field in SIMULATION.fields)
    spread = ", ".join(f"`_{name}`" for name in ("min", *PERCENTILES, "max"))
    yield ""
    yield f"`characteristics`: a line per combination, with {', '.join(f'`{name}`' for name in COUNTS)},"
    yield f"and of every figure {spread}."
    yield "`rebalances` are generations that were brought to their end between a scenario's first step and its end, of all plays."


def _measured(rows: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    plays, rebalances = (sum(row[name] for row in rows) for name in ("plays", "rebalances"))
    failed, broken = (sum(row[name] for row in rows) for name in ("failed", "broken"))
    lost = max(row["lost_max"] or 0 for row in rows)
    products = ", ".join(sorted({row["product"] for row in rows}))
    yield f"{rebalances:,} simulated rebalances in {plays:,} plays of {len(rows)} combinations ({products});"
    yield f"{failed} plays failed, {broken} broke an invariant, {lost} records were lost."
    yield _steady(rows)
    yield "A cell is the median over the seeds, in brackets the 99th percentile where it differs."
    for sizes in dict.fromkeys(_sizes(row) for row in _ordered(rows)):
        mine = [row for row in rows if _sizes(row) == sizes]
        yield from ("", f"### {mine[0]['members']} members, {mine[0]['partitions']} partitions", "")
        told = ", ".join(f"{name} {value}" for name, value in sizes if name not in ("members", "partitions"))
        yield f"{_seeds(mine)}."
        yield f"Sizes: {told}."
        for name, title in SHOWN.items():
            yield from ("", f"#### {title}", "", *_table(mine, name))


def _steady(rows: Sequence[Mapping[str, Any]]) -> str:
    """Describe how much the counts vary between seeds."""
    same = {name: sum(row[f"{name}_min"] == row[f"{name}_max"] for row in rows) for name in ("rounds", "moved")}
    return (
        f"The seed decides when things happen, hardly ever what: in {same['rounds']} of these combinations every seed has as many rounds,\n"
        f"in {same['moved']} as many moves."
    )


def _ordered(rows: Iterable[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Sort rows so that the sizes with most combinations come first."""
    counted: dict[object, int] = {}
    for row in rows:
        counted[_sizes(row)] = counted.get(_sizes(row), 0) + 1
    return sorted(rows, key=lambda row: -counted[_sizes(row)])


def _sizes(row: Mapping[str, Any]) -> tuple[tuple[str, Any], ...]:
    return tuple((name, row[name]) for name in SIZES)


def _seeds(rows: Sequence[Mapping[str, Any]]) -> str:
    spans = sorted({(row["first_seed"], row["last_seed"]) for row in rows})
    return f"seeds {', '.join(f'{first} to {last}' for first, last in spans)}; {sum(row['rebalances'] for row in rows):,} rebalances"


def _table(rows: Sequence[Mapping[str, Any]], name: str) -> Iterator[str]:
    cells = {(row["scenario"], f"{row['protocol']}/{row['client']}"): row for row in rows}
    across = [each for each in VIRTUAL if any(key[1] == str(each) for key in cells)]
    down = [each.name for each in SCENARIOS if any(key[0] == each.name for key in cells)]
    yield f"| | {' | '.join(f'{TITLES[each.name]}<br>{each.client}' for each in across)} |"
    yield f"|---|{'---:|' * len(across)}"
    for scenario in down:
        yield f"| {scenario} | {' | '.join(_cell(cells.get((scenario, str(each))), name) for each in across)} |"


def _cell(row: Mapping[str, Any] | None, name: str) -> str:
    if row is None:
        return "–"
    median, high = (_number(row[f"{name}_{told}"], name) for told in PERCENTILES)
    return median if median == high else f"{median} ({high})"


def _number(value: float | None, name: str) -> str:
    if value is None:
        return "failed"
    return f"{value:.1f}" if name.endswith("_s") else re.sub(r"\.0$", "", f"{value:.1f}")
