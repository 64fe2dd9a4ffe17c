"""Mistakes planted in the policy and in the rows are found by the invariants that are made for them."""

from __future__ import annotations

import copy
from base64 import b64decode, b64encode
from collections.abc import Callable
from functools import cache
from typing import Any

import pytest
from cases import for_each

from groupmock_clients.cooperative.policy import Loss, Round
from groupmock_clients.scenarios.catalogue import scenario
from groupmock_clients.scenarios.invariants import broken
from groupmock_clients.scenarios.play import Protocol, ScenarioRun, Sizes, play
from groupmock_clients.scenarios.virtual import open_stage
from groupmock_codec.embedded import consumer, designs

SIZES = Sizes(members=3, partitions=6, startup_ms=300, rate=5.0)
Rows = list[dict[str, Any]]


def run(name: str, protocol: str, client: str = "scripted") -> ScenarioRun:
    chosen = Protocol(protocol, client)
    with open_stage(SIZES, chosen) as stage:
        return play(scenario(name), SIZES, chosen, stage)


@cache
def sound(name: str, protocol: str, client: str) -> ScenarioRun:
    return run(name, protocol, client)


def found(played: ScenarioRun) -> set[str]:
    return {each.invariant for each in broken(played)}


def changed(name: str, protocol: str, change: Callable[[Rows], None], client: str = "scripted") -> set[str]:
    """Return the invariants that are broken in the same run with changed rows."""
    before = sound(name, protocol, client)
    assert broken(before) == []
    rows: Rows = copy.deepcopy([dict(row) for row in before.rows])
    change(rows)
    return found(ScenarioRun(before.scenario, before.sizes, before.protocol, before.stage, rows))


# Each function below replaces a part of the assignor by a wrong one that the invariants must notice.

_LOSS = Round.loss


def _lost_anyway(self: Round, partition: Any) -> Loss:
    try:
        return _LOSS(self, partition)
    except KeyError:
        return Loss(self.now + self.rules.patience_ms, "")


def _one_deadline(self: Round, partition: Any) -> Loss:
    loss = _LOSS(self, partition)
    if self.memory is not None and self.memory.lost:
        return Loss(min(each.deadline for each in self.memory.lost.values()), loss.owner)
    return loss


def _never(self: Round, *_: Any) -> bool:
    return False


def _no_namesake(self: Round, member: str) -> None:
    return None


def _everything(self: Round, moves: Any, handing_over: bool) -> list[Any]:
    return list(moves.values())


PLANTED = {
    "what was given up on request waits": ({"in_transfer": _never, "loss": _lost_anyway}, "scale-up", "design-2", "I2b"),
    "one deadline for all that is lost": ({"loss": _one_deadline}, "second-loss", "design-2", "I5b"),
    "who comes back finds nothing": ({"welcome": _never}, "death-in-time", "design-2", "I5"),
    "names mean nothing": ({"_namesake": _no_namesake}, "second-loss", "design-2", "I5"),
    "Design III moves everything at once": ({"choose": _everything}, "death-too-late", "design-3", "I6"),
}


@for_each("mistake", PLANTED)
def test_a_mistake_in_the_policy_is_found(mistake: str, monkeypatch: pytest.MonkeyPatch) -> None:
    faults, name, protocol, invariant = PLANTED[mistake]
    assert broken(sound(name, protocol, "scripted")) == []
    for where, fault in faults.items():
        monkeypatch.setattr(Round, where, fault)
    assert invariant in found(run(name, protocol))


# Each function below changes journal rows in a wrong way that the invariants must notice.


def brought(rows: Rows) -> list[dict[str, Any]]:
    """Return the SyncGroup requests of leaders, oldest first."""
    return [row["message"] for row in rows if row["kind"] == "request" and row["api_key"] == 14 and row["message"]["assignments"]]


def assignments(message: dict[str, Any]) -> list[tuple[dict[str, Any], consumer.Assignment]]:
    return [(each, consumer.decode_assignment(b64decode(each["assignment"]))) for each in message["assignments"]]


def rewritten(place: dict[str, Any], stock: consumer.Assignment, design: designs.DesignAssignment) -> None:
    stock.user_data = designs.ASSIGNMENT.encode(design.version, design)
    place["assignment"] = b64encode(consumer.encode_assignment(stock)).decode()


def give_twice(rows: Rows) -> None:
    """Assign a partition of the second member to the first one as well in the last rebalance."""
    (first, mine), (_, theirs) = assignments(brought(rows)[-1])[:2]
    mine.assigned_partitions += theirs.assigned_partitions
    first["assignment"] = b64encode(consumer.encode_assignment(mine)).decode()


def take_silently(rows: Rows) -> None:
    """Give the first member an empty assignment without asking it to revoke its partitions."""
    place, stock = assignments(brought(rows)[-1])[0]
    stock.assigned_partitions = []
    place["assignment"] = b64encode(consumer.encode_assignment(stock)).decode()


def ask_for_what_is_not_there(rows: Rows) -> None:
    (place, stock), (_, other) = assignments(brought(rows)[-1])[:2]
    design = designs.carried_assignment(stock.user_data)
    assert design is not None
    design.revoke_topic_partitions = other.assigned_partitions
    rewritten(place, stock, design)


def wait_beside_revocations(rows: Rows) -> None:
    for message in brought(rows):
        for place, stock in assignments(message):
            design = designs.carried_assignment(stock.user_data)
            if design is not None and design.revoke_topic_partitions:
                design.scheduled_rebalance_timeout = 700
                rewritten(place, stock, design)
                return
    raise AssertionError("nobody was asked to give anything up")


def heard(rows: Rows, what: str) -> dict[str, Any]:
    """Return the last row in which a rebalance listener was called in that way."""
    return next(row for row in reversed(rows) if row["kind"] == "client" and row["what"] == what and row["fields"]["partitions"])


def told_again(rows: Rows) -> None:
    last = heard(rows, "assigned")
    rows.insert(rows.index(last) + 1, {**last})


def gone_that_stays(rows: Rows) -> None:
    """Add a call of on_partitions_revoked after the first rebalance, although the member keeps claiming the partitions."""
    first = next(row for row in rows if row["kind"] == "client" and row["what"] == "assigned" and row["fields"]["partitions"])
    rows.insert(rows.index(first) + 1, {**first, "what": "revoked"})


def drop_a_record(rows: Rows) -> None:
    last = next(row for row in reversed(rows) if row["kind"] == "client" and row["what"] == "delivered")
    rows.remove(last)


def repeat_a_record(rows: Rows) -> None:
    last = next(row for row in reversed(rows) if row["kind"] == "client" and row["what"] == "delivered")
    rows.append({**last, "client": "m0002" if last["client"] != "m0002" else "m0001"})


MISTAKES = {
    "given twice": ("scale-up", "design-2", give_twice, "I1"),
    "given twice by KIP-429": ("scale-up", "cooperative-sticky", give_twice, "I1"),
    "given twice by range": ("scale-down", "range", give_twice, "I1"),
    "silently taken": ("scale-up", "design-2", take_silently, "I4"),
    "asked for what it does not hold": ("scale-up", "design-2", ask_for_what_is_not_there, "I4"),
    "a timeout beside revocations": ("scale-up", "design-2", wait_beside_revocations, "I3"),
    "nobody owns it in the end": ("scale-down", "range", take_silently, "I2"),
    "not balanced in the end": ("scale-down", "cooperative-sticky", take_silently, "I6"),
    "told that something came which it had": ("scale-up", "design-1", told_again, "I4"),
    "told that something went which it claims": ("scale-up", "design-2", gone_that_stays, "I4"),
    "a record lost": ("scale-up", "range", drop_a_record, "no record is lost"),
}


@for_each("mistake", MISTAKES)
def test_a_mistake_in_the_rows_is_found(mistake: str) -> None:
    name, protocol, change, invariant = MISTAKES[mistake]
    assert invariant in changed(name, protocol, change)


def test_a_record_that_comes_twice_is_a_twins_mistake() -> None:
    """The record may come again only if its first consumer was killed before it committed."""
    assert changed("scale-down", "design-2", repeat_a_record, "scripted-twin") == {"no record comes twice to a twin"}
    assert changed("scale-down", "design-2", repeat_a_record, "scripted") == set()


def test_what_a_killed_twin_had_may_come_again() -> None:
    def repeat_what_the_dead_had(rows: Rows) -> None:
        killed = next(row for row in rows if row["kind"] == "client" and row["what"] == "killed")
        had = [row for row in rows if row["kind"] == "client" and row["what"] == "delivered" and row["client"] == killed["client"]]
        fields = had[0]["fields"]
        rows.append({**had[0], "client": "m0003", "fields": {**fields, "last": fields["first"]}})

    assert changed("death-too-late", "design-2", repeat_what_the_dead_had, "scripted-twin") == set()


@for_each("protocol", ["range", "cooperative-sticky", "design-1", "design-2", "design-3"])
def test_a_sentence_says_what_where_and_when(protocol: str) -> None:
    before = sound("scale-down", protocol, "scripted")
    rows: Rows = copy.deepcopy([dict(row) for row in before.rows])
    drop_a_record(rows)
    (only,) = broken(ScenarioRun(before.scenario, before.sizes, before.protocol, before.stage, rows))
    assert str(only).startswith("no record is lost at ")
    assert str(only).endswith("produced and never delivered")
