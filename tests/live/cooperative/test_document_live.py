"""A stock consumer leads a group of scripted members through the document's seven rebalances, and its SyncGroup has exactly the
document's bytes."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import pytest
from coop_house import LIBRARIES
from doc_vectors import T1_MS, Example, Held, Round, examples, held
from waiting import until

from groupmock_clients.cooperative.policy import name_of

EXAMPLES = pytest.mark.parametrize("example", examples(), ids=lambda example: example.name)
EVERY_LIBRARY = pytest.mark.parametrize("library", LIBRARIES)
DELAYED = pytest.mark.parametrize("house", [{"group_initial_rebalance_delay_ms": 700}], indirect=True)


def rows(journal: str) -> list[dict[str, Any]]:
    """Return the SyncGroup requests with assignments so far, ignoring an incomplete last line."""
    lines = Path(journal).read_text().splitlines(keepends=True)
    found = [json.loads(line) for line in lines if line.endswith("\n")]
    return [row for row in found if row.get("kind") == "request" and row["api_key"] == 14 and row["message"].get("assignments")]


def sent_by_leader(journal: str) -> list[dict[str, str]]:
    """Return the assignments of each request in hex, by the member's name."""
    return [
        {name_of(one["member_id"]): base64.b64decode(one["assignment"]).hex() for one in row["message"]["assignments"]}
        for row in rows(journal)
    ]


def in_hex(one: Round) -> dict[str, str]:
    """Return the expected assignments of the leader in hex. D' is a second process of D."""
    return {name.rstrip("'"): data.hex() for name, data in one.assignment_wire.items()}


class Group:
    """A group of a stock leader and scripted members, named as in the document."""

    def __init__(self, house: Any, leader: Any, example: Example) -> None:
        self.house, self.leader, self.design = house, leader, example.design
        self.scripts = {name: house.script(name, example.design) for name in example.initial if name != "A"}

    def held(self) -> dict[str, Held]:
        self.leader.check()
        return {"A": self.leader.owned()} | {name: script.owned for name, script in self.scripts.items()}

    def change(self, members: set[str]) -> None:
        """Change the group to these members: new ones join, and the others leave."""
        for name in set(self.scripts) - members:
            self.house.gone(self.scripts.pop(name))
        for name in members - {"A", *self.scripts}:
            self.scripts[name] = self.house.script(name.rstrip("'"), self.design)


@DELAYED
@EXAMPLES
@EVERY_LIBRARY
def test_a_stock_leader_sends_the_documents_bytes(library: str, example: Example, house: Any) -> None:
    broker = house.broker
    leader = house.stock(library, "A", {"design": example.design, "delay_ms": T1_MS}, poll_ms=60_000)
    broker.wait_for("g", members=1)
    group = Group(house, leader, example)
    settled = {name: held(claim) for name, claim in example.initial.items()}
    until("the initial claims", lambda: group.held() == settled, lambda: (group.held(), broker.story("g")))
    view = broker.wait_for("g", state="Stable", members=len(settled))
    assert name_of(view.leader) == "A"
    # The leader has sent exactly one SyncGroup in each generation, so the number of generations is that of its SyncGroups.
    before = view.generation
    until("the journal's file", lambda: len(sent_by_leader(broker.journal)) == before, lambda: broker.story("g"))

    for number, one in enumerate(example.rounds, 1):
        group.change(set(one.claims))
        wanted = before + number
        until(f"round {number}", lambda wanted=wanted: len(sent_by_leader(broker.journal)) >= wanted, lambda: broker.story("g"))
    sent = sent_by_leader(broker.journal)[before:]
    assert sent == [in_hex(one) for one in example.rounds], broker.story("g")
    embedded = [row["embedded"] for row in rows(broker.journal)[before:]]
    assert all(len(shown) == len(one.sent) * (1 if example.design == 1 else 2) for shown, one in zip(embedded, example.rounds, strict=True))
