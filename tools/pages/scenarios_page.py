"""Write the page of scenarios, and README's block about them, from the results of `groupmock scenario table --json`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

from msgspec.structs import replace

from groupmock_clients.scenarios import measure
from groupmock_clients.scenarios.catalogue import SCENARIOS
from groupmock_clients.scenarios.play import STREAMS, STREAMS_CLASSIC
from groupmock_clients.scenarios.results import ScenarioResult, ScenarioResults, from_json
from groupmock_clients.scenarios.table import TITLES, characteristics, everything, sizes
from tools.records import RECORDS

from .markdown import notice

NOTICE: Final = notice("scenarios", "scenarios-*.json")
LIVE: Final = "scenarios-live.json"
VIRTUAL: Final = "scenarios-virtual.json"
LARGE: Final = "scenarios-large.json"
TWINS: Final = ("aiokafka-twin", "scripted-twin", "aiokafka", "kafka-python", "connect", "scripted", "confluent-kafka")

ABOUT: Final = """
"Incremental Cooperative Rebalancing" ends each of its designs with Characteristics: it rates the cost of a Kubernetes process death, a
rolling bounce and scaling up or down with YES and IMPROVED. This page has the table of Characteristics with measured figures. `groupmock
scenario` plays each scenario with stock clients over TCP (`--live`), a process per member, and with scripted members on a virtual clock
(`--virtual`): the same policy code, the same core and driver, with up to a thousand members and more. All figures of the scenarios come
from the journal.

```console
$ groupmock scenario list
$ groupmock scenario run death-in-time --virtual --members 100 --partitions 400
$ groupmock scenario run death-in-time --live --protocol design-2/aiokafka --journal /tmp/journals
$ groupmock scenario table --live --agree --json measured.json
$ groupmock scenario table --report html --output scenarios.html
```

With `--report html` the table is a page: a line per scenario, a column per protocol, and in each cell a small [ownership
map](../how-to/timeline.md#read-the-ownership-map) of the run, its moves, its partition-seconds without an owner and its generations, shaded
beside the other protocols.

Every run of a scenario must keep [the invariants](../how-to/cooperative.md#checked-invariants), and no run may lose a record. With twin
consumers only records of a killed process may be delivered twice. With `--agree`, a live run and the virtual run of the same scenario must
have the same number of moved partitions and rebalance rounds. A live run that differs is repeated alone, twice at most, because on a busy
machine a process may come back too late. Exit code 1 of `groupmock scenario` means that a run broke an invariant, lost a record, or differs
from its virtual run.
""".strip()

READING: Final = """
A cell of the table has the design document's word, if the document has one for that line, then the number of partitions that moved to
another process, and then the partition-seconds in which records waited. Designs II and III wait on purpose: the partitions of a departed
process are reserved for it. If the departed process comes back, nothing moves; if it does not, the delay was in vain. Consumers of both
libraries deliver no records during a rebalance, with any assignor. A [twin](../reference/glossary.md#twin) delivers records during a
rebalance, so that its partition-seconds are those of partitions that really moved. In a consumer group (KIP-848: `group.protocol=consumer`,
the broker assigns by `uniform`) no member stops for other members: only partitions that move wait, and those of a killed process wait until
its session ends. A consumer group reserves the partitions of a killed process for no member.
""".strip()


STREAMS_READING: Final = """
The members are instances of a Kafka Streams application that counts the records of a topic: a subtopology with a changelog, and one standby
task for each task. Each instance has one thread, and one that comes back has its state directory still. Moved tasks stand for moved
partitions. By the streams protocol (KIP-1071: `group.protocol=streams`) the broker lets tasks stay where they are, and an instance that is
closed leaves at once. By the classic protocol the leader gives the tasks to the instances in turn, whoever had them, as long as every
instance counts as caught up (`acceptable.recovery.lag`, 10,000 records), and a closed instance remains in the group until its session ends.
A topology in use cannot change, nor can the number of its tasks: these scenarios are not played. Stock instances of Kafka Streams 4.4.0 on
groupmock (`--live`) move as many tasks as the scripted ones, and so do stock instances on Apache Kafka 4.4.0
(`tests/live/kafka/test_streams_scenarios_on_kafka.py`). One count is not compared: if a process is back before its session ends, the
streams protocol moves 3 or 4 tasks, because the state directory of the first instance may hold every task.
""".strip()


def text() -> str:
    return page(RECORDS)


def page(folder: Path) -> str:
    """Return the page made from the results of scenarios in the files of this folder. Parts without a file are left out, and virtual
    results if there are live ones."""
    parts = [NOTICE, "# Scenarios: the Characteristics, measured", ABOUT, *_scenarios()]
    every, virtual, large = (_results(folder / name) for name in (LIVE, VIRTUAL, LARGE))
    live = None if every is None else _without_streams(every)
    if live is not None:
        parts += ["## Live", sizes(live), _lines(characteristics(live)), READING, "With twins:", _lines(characteristics(live, TWINS))]
    if every is not None:
        parts += ["## Live and virtual", *_agreement(every)]
    both = [(title, _of_streams(found)) for title, found in (("live", every), ("virtual", virtual)) if found is not None]
    for title, streams in both:
        if streams.results:
            parts += [f"## Kafka Streams, {title}", sizes(streams), _lines(characteristics(streams))]
    if any(streams.results for _, streams in both):
        parts.append(STREAMS_READING)
    parts += ["## The figures", _measured()]
    if large is not None:
        parts += ["## A large group, virtual", sizes(large), _lines(characteristics(large))]
    if every is not None:
        parts += ["## Everything, live", _lines(everything(every))]
    elif virtual is not None:
        parts += ["## Everything, virtual", sizes(virtual), _lines(everything(virtual))]
    return "\n\n".join(parts) + "\n"


def twins_table(folder: Path) -> str:
    """Return README's block: the live table, else the virtual one. For the designs it shows twins, because the document has members
    deliver during a round."""
    found = _results(folder / LIVE) or _results(folder / VIRTUAL)
    if found is None:
        raise FileNotFoundError(f"neither {LIVE} nor {VIRTUAL} is in {folder}: `make scenarios` makes them")
    results = _without_streams(found)
    return _lines(
        [
            *characteristics(results, TWINS),
            "",
            f"A cell shows the partitions that moved and the partition-seconds without delivery. {sizes(results)}",
        ]
    )


def _results(file: Path) -> ScenarioResults | None:
    return from_json(file.read_bytes()) if file.exists() else None


def _of_streams(found: ScenarioResults) -> ScenarioResults:
    return replace(found, libraries={}, results=[each for each in found.results if each.protocol in (STREAMS, STREAMS_CLASSIC)])


def _without_streams(found: ScenarioResults) -> ScenarioResults:
    return replace(found, results=[each for each in found.results if each.protocol not in (STREAMS, STREAMS_CLASSIC)])


def _scenarios() -> Iterator[str]:
    yield "## The scenarios"
    yield _lines(["| | |", "|---|---|", *(f"| `{each.name}` | {each.about} |" for each in SCENARIOS)])


def _measured() -> str:
    """Return the definitions of the terms that the module `measure` gives."""
    text = measure.__doc__ or ""
    return text[text.index("* A *generation*") :].strip().replace("GRACE_MS", f"{measure.GRACE_MS} ms")


def _agreement(live: ScenarioResults) -> Iterator[str]:
    """Yield sentences on how many live runs have the same numbers of moves and rounds as on the virtual clock, and on the others."""
    compared = [each for each in live.results if each.agreed is not None]
    agreed = sum(each.agreed is True for each in compared)
    yield (
        f"{len(compared)} of {len(live.results)} live runs were compared with a virtual run of the same sizes; {agreed} of them count the "
        f"same moved partitions and the same rebalance rounds. `groupmock scenario table --virtual` shows the figures of the virtual runs."
    )
    rest = [each for each in live.results if each.agreed is False or each.broken or each.figures is None]
    if rest:
        yield "These live runs deviate from their virtual runs:"
        yield _lines(f"- {each.scenario}, {TITLES[each.protocol]}, {each.client}: {'; '.join(_wrong(each))}" for each in rest)


def _wrong(result: ScenarioResult) -> Iterator[str]:
    yield from (each.splitlines()[0] for each in result.broken)
    if result.figures is None:
        yield (result.trouble or "unknown").splitlines()[0]


def _lines(lines: Iterable[str]) -> str:
    return "\n".join(lines)
