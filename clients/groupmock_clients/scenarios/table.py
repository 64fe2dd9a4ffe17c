"""Format measurements as Markdown, as the document's Characteristics with figures and all results line by line."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from .catalogue import KAFKA_STREAMS, PROCESS_DEATH, ROLLING_BOUNCE, SCALE, SCENARIOS, TOUR, WORDS, fitting
from .play import Protocol, Sizes
from .results import ScenarioResult, ScenarioResults

LINES: Final = {
    "death-at-once": f"{PROCESS_DEATH}, back before its session ends",
    "death-in-time": f"{PROCESS_DEATH}, back in time",
    "death-too-late": f"{PROCESS_DEATH}, back too late",
    "rolling-bounce": ROLLING_BOUNCE,
    "scale-up": "Scale up",
    "scale-down": "Scale down",
}
"""Maps a scenario to its line in the table "Characteristics"."""
ROWS: Final = {each.name: each.row for each in SCENARIOS if each.row in (PROCESS_DEATH, ROLLING_BOUNCE, SCALE)}
TITLES: Final = {
    "range": "eager range",
    "cooperative-sticky": "KIP-429",
    "design-1": "Design I",
    "design-2": "Design II",
    "design-3": "Design III",
    "kip-848": "KIP-848",
    "connect": "Kafka Connect",
    "streams-classic": "Streams, classic",
    "kip-1071": "Streams, KIP-1071",
}
COLUMNS: Final = {
    "rounds": "rounds",
    "moved": "moved",
    "unowned_s": "without owner",
    "undelivered_s": "not delivered",
    "duplicates": "twice",
    "lost": "lost",
    "converge_s": "to converge, s",
}
"""Maps a field of Figures to the head of its column. Times without a unit are partition-seconds."""


JAVA_TITLES: Final = {"connect": "Kafka Connect: {:g} workers", KAFKA_STREAMS: "Kafka Streams: {:g} instances"}
CLIENTS: Final = ("aiokafka", "kafka-python", "connect", KAFKA_STREAMS, "scripted", "confluent-kafka")


def characteristics(results: ScenarioResults, clients: Sequence[str] = CLIENTS) -> list[str]:
    """Return the table "Characteristics" of the document on the designs with one column per protocol, measured with the first of these
    clients that has the protocol.

    A cell has the document's assessment, the partitions moved, and the partition-seconds not delivered.
    """
    shown = {name: client for name in TITLES if (client := _client(results, name, clients)) is not None}
    return _table(
        ["", *(f"{TITLES[name]}<br>{client}" for name, client in shown.items())],
        (
            [line, *(_cell(_find(results, scenario, name, client), ROWS[scenario]) for name, client in shown.items())]
            for scenario, line in LINES.items()
            if any(each.scenario == scenario for each in results.results)
        ),
    )


def _client(results: ScenarioResults, protocol: str, clients: Sequence[str]) -> str | None:
    there = {each.client for each in results.results if each.protocol == protocol}
    return next((client for client in clients if client in there), None)


def _find(results: ScenarioResults, scenario: str, protocol: str, client: str) -> ScenarioResult | None:
    wanted = (scenario, protocol, client)
    return next((each for each in results.results if (each.scenario, each.protocol, each.client) == wanted), None)


def _cell(result: ScenarioResult | None, row: str) -> str:
    if result is None:
        return "–"
    if result.figures is None:
        return _trouble(result)
    word = WORDS.get((row, result.protocol))
    told = f"{result.figures['moved']:g} · {result.figures['undelivered_s']:.1f} s"
    return f"{word}: {told}" if word else told


def _trouble(result: ScenarioResult) -> str:
    """Return the first line of the error, because a table cell has one line."""
    return f"**{(result.trouble or 'unknown').splitlines()[0]}**".replace("|", "\\|")


def everything(results: ScenarioResults) -> list[str]:
    """Return one table per scenario, with a line per protocol and client."""
    lines: list[str] = []
    for scenario in (*SCENARIOS, TOUR):
        mine = [each for each in results.results if each.scenario == scenario.name]
        if mine:
            lines += ["", f"### {scenario.name}", "", scenario.about, ""]
            lines += one_scenario(mine)
    return lines[1:]


def one_scenario(mine: Iterable[ScenarioResult]) -> list[str]:
    """Return a table with a line per protocol and client."""
    return _table(["", *COLUMNS.values()], ([f"{TITLES[each.protocol]}, {each.client}", *_figures(each)] for each in mine))


def _figures(result: ScenarioResult) -> Iterator[str]:
    if result.figures is None:
        yield _trouble(result)
        yield from [""] * (len(COLUMNS) - 1)
        return
    for name in COLUMNS:
        value = result.figures[name]
        yield f"{value:.1f}" if name.endswith("_s") else f"{value:g}"


def sizes(results: ScenarioResults) -> str:
    """Describe the conditions of the measurement in a sentence. Java programs have their own (catalogue.fitting) and get another one."""
    of = ", ".join(f"{name} {number}" for name, number in results.libraries.items())
    size = results.sizes
    text = (
        f"{'Stock clients over TCP' if results.stage == 'live' else 'Scripted members on the virtual clock'}{f' ({of})' if of else ''}: "
        f"{size['members']:g} members, {size['partitions']:g} partitions, {size['rate']:g} records per second and partition, "
        f"{_times(size)}; Design III moves {size['max_moves']:g} at a time, every {size['move_interval_ms']:g} ms; "
        f"scaled by {size['change']:g}; seed {size['seed']:g}."
    )
    for client, title in JAVA_TITLES.items():
        if any(each.client == client for each in results.results):
            own = fitting(Sizes(**{name: int(value) for name, value in size.items()}), Protocol(client, client)).as_fields()
            text += f" {title.format(own['members'])}, {_times(own)}."
    return text


def _times(size: Mapping[str, float]) -> str:
    return f"session {size['session_ms']:g} ms, heartbeats every {size['heartbeat_ms']:g} ms, delay {size['delay_ms']:g} ms"


def _table(head: list[str], rows: Iterable[list[str]]) -> list[str]:
    return [f"| {' | '.join(head)} |", "|---" * len(head) + "|", *(f"| {' | '.join(row)} |" for row in rows)]
