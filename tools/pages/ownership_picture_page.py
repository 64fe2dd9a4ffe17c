"""Draw README's picture: the ownership maps of one rolling restart, played with three protocols on the virtual clock."""

from __future__ import annotations

from typing import Any, Final

from groupmock.rounds import ownership_maps
from groupmock.timeline.forms.ownership import Panel, pictured
from groupmock_clients.scenarios.catalogue import scenario
from groupmock_clients.scenarios.play import GROUP, RUNNER, Protocol, Sizes, play
from groupmock_clients.scenarios.virtual import open_stage

SCENARIO: Final = "rolling-bounce"
HEADING: Final = "A rolling restart: three consumers of twelve partitions stop and start again, one after the other"
PANELS: Final = {
    "range": ("Eager (range)", "in every rebalance all members give up everything"),
    "design-2": ("Design II", "partitions wait for the process that stopped"),
    "cooperative-sticky": ("Cooperative-sticky (KIP-429)", "only what changes its owner is given up"),
}
SIZES: Final = Sizes(members=3, partitions=12, rate=0.0)
WORDS: Final = {"stop": "stops", "start": "starts again"}


def text() -> str:
    return pictured([_panel(protocol, *words) for protocol, words in PANELS.items()], HEADING)


def _panel(protocol: str, title: str, about: str) -> Panel:
    played = Protocol(protocol, "scripted")
    with open_stage(SIZES, played) as stage:
        rows = play(scenario(SCENARIO), SIZES, played, stage).rows
    said = [row for row in rows if row["kind"] == "client" and row["client"] == RUNNER]
    begin = next(row["t"] for row in said if row["what"] == "begin")
    steps = [(row["t"], _step(row["fields"])) for row in said if row["what"] == "step" and row["t"] >= begin]
    return Panel(title, ownership_maps(rows, GROUP)[GROUP], begin, steps, about)


def _step(fields: dict[str, Any]) -> str:
    return f"{fields['member']} {WORDS[fields['step']]}"
