"""The recorder must reconstruct a coordinator's journal from the wire: every exchange of the suite is played on a recorded groupmock
cluster. The rows of connections must be the same in both journals, and so must the rebalances except in the exchanges listed here, each
with a reason that no wire shows. The exchanges are corner cases on purpose; `test_own_journal.py` records the normal life of a group."""

from __future__ import annotations

from functools import cache
from typing import Any

import msgspec
from tapped import TappedStage

from groupmock.journal.rows import Row
from groupmock.rounds import rebalances
from groupmock_clients.probe.language.exchange_suite import load_suite
from groupmock_clients.probe.verdicts.runner import play
from groupmock_codec import APIS
from groupmock_codec.declare import Message, fields_of

RELEASE = "4.3"
EXPIRED = "a session, a reservation or the wait for a SyncGroup ended while nobody asked"
NAMELESS = "who joins without an id is known when it is answered"
REPLACED = "whether a static member that comes back begins a rebalance is decided by a vote that nobody sees"
RESERVED = "what an id that was never used does to its group is known to the coordinator alone"
REFUSED = "an answer that was refused, or abandoned, for a reason inside the coordinator"
EMPTIED = "the group was deleted, moved, or emptied by other means than a request"
UNHEARD = "the client was gone before it was answered"
NULL = 'null and "" are one on the wire'
NOT_ON_THE_WIRE: dict[str, tuple[str, ...]] = {
    EXPIRED: (
        "SERVER-10-expiry", "SERVER-11-expiry", "JG-no-rearm", "SERVER-29-expires", "SERVER-29-heartbeat", "SERVER-23-owes-a-sync",
        "SERVER-23-session", "SERVER-24-expires", "SERVER-27-expires", "SERVER-27-timer", "SERVER-31-parked-sync", "SERVER-31-Preparing",
        "SERVER-38-no-rearm", "SERVER-41-leader", "SERVER-41-all", "SERVER-41-follower", "P1-c3", "P1-c15", "P1-c16", "P1-c18",
        "X-parked-join",
    ),
    NAMELESS: ("SERVER-02-Stable", "SERVER-21-old", "SERVER-21-static", "SERVER-37-Stable"),
    REPLACED: (
        "SERVER-33-other-protocol", "SERVER-36-leader", "SERVER-36-parked-sync", "SERVER-36-parked-join", "SERVER-36-initial",
        "SERVER-37-Completing", "SERVER-37-Preparing", "JE-replace-silent",
    ),
    RESERVED: ("SERVER-28-mapped", "SERVER-28-Stable", "SERVER-28-Completing"),
    REFUSED: ("SERVER-32-Preparing-refused", "P1-c7", "P1-b5-normal", "S-leader-failure", "P1-d8-join", "L-parked-sync"),
    EMPTIED: ("SERVER-49-join", "SERVER-49-sync", "P2-d11-Preparing", "P2-d11-Completing", "P2-d11-unknown", "SERVER-58"),
    UNHEARD: ("P1-d7-reset", "P1-d7-alone"),
    NULL: ("SERVER-16-empty-name",),
}  # fmt: skip
"""Reason -> the exchanges whose recorded rebalances differ from the cluster's own. Exchanges of consumer groups and of share
groups are left out, because the recorder does not reconstruct their states and epochs (docs/how-to/record.md)."""
NOT_RECONSTRUCTED = frozenset({each.name for each in load_suite().exchanges if {"kip848", "share", "streams"} & {*each.needs}})
NO_ACL = "an ACL of no kind is no answer but the end of its connection"
NO_TOKEN = "what SaslAuthenticate says is in no recording"
NO_SECRET = "of an AlterUserScramCredentials request a recording has the header only, because the request holds secrets"
ROWS_DIFFER = {
    **dict.fromkeys(("A-acls", "SEC-77", "SEC-78", "SEC-79"), NO_ACL),
    **dict.fromkeys(("A-sasl", "SEC-08"), NO_TOKEN),
    **dict.fromkeys(("A-scram-set", "SEC-30", "SEC-39"), NO_SECRET),
    "D-acks-none": "a Produce with acks 0 that fails is no answer but the end of its connection",
    "P1-d7-alone": UNHEARD,
    "P1-d7-reset": UNHEARD,
    "P1-d7-sync": UNHEARD,
}
"""Exchange -> the reason why the recording lacks a row of the cluster's own journal, for example an answer whose client was gone."""
PLACE = ("open", "request", "reply", "close")
JsonRow = dict[str, Any]


def as_read(rows: list[Row]) -> list[JsonRow]:
    """Return the rows as they look after a journal file was written and read."""
    found: list[JsonRow] = msgspec.json.decode(msgspec.json.encode(rows))
    return found


@cache
def played() -> list[tuple[str, str, list[JsonRow], list[JsonRow]]]:
    """Return exchange, dialogue, own rows and recorded rows of everything that can be played."""
    found = []
    for exchange in load_suite().exchanges:
        if exchange.lacking or exchange.listeners or "core" not in exchange.stages or RELEASE not in exchange.releases:
            continue
        for variant in exchange.variants():
            stage = TappedStage(exchange.wanted_settings, RELEASE)
            assert play(variant, stage).verdict in ("kept", "not applicable"), variant.name
            found.append((exchange.name, variant.name, as_read(stage.kept.rows), as_read(stage.recorded.rows)))
    return found


def on_the_wire(message: Any, kind: type[Message], version: int) -> Any:
    """Return the message without the fields that this version does not have."""
    if message is None:
        return None
    told = {}
    for field in fields_of(kind):
        if field.present(version):
            value = message.get(field.name)
            if field.wire.kind == "array" and value and field.wire.element_wire.kind == "struct":
                value = [on_the_wire(each, field.wire.element_wire.struct, version) for each in value]
            told[field.name] = value
    return told


def comparable(row: JsonRow) -> JsonRow:
    shown = {name: value for name, value in row.items() if name != "seq"}
    if row["kind"] == "reply":
        shown["message"] = on_the_wire(row.get("message"), APIS[row["api_key"]].response.message, row["api_version"])
    return shown


def rounds_of(rows: list[JsonRow]) -> list[tuple[object, ...]]:
    return [
        (
            each.group, each.number, each.cause, each.generation_before, each.generation_after, each.members_before, each.members_after,
            each.ended_in, tuple(each.joined), each.last_joined, each.protocol, tuple((phase.state, phase.cause) for phase in each.phases),
            each.moves,
        )
        for each in rebalances(rows)
    ]  # fmt: skip


def test_every_row_of_every_connection_is_the_same() -> None:
    different = {
        exchange
        for exchange, _, own, recorded in played()
        if [comparable(row) for row in own if row["kind"] in PLACE] != [comparable(row) for row in recorded if row["kind"] in PLACE]
    }
    assert different == set(ROWS_DIFFER)


def test_the_rebalances_are_the_same_but_for_what_no_wire_shows() -> None:
    asked = [(exchange, own, recorded) for exchange, _, own, recorded in played() if exchange not in NOT_RECONSTRUCTED]
    different = {exchange for exchange, own, recorded in asked if rounds_of(own) != rounds_of(recorded)}
    assert different == {name for names in NOT_ON_THE_WIRE.values() for name in names}
    assert len(asked) > 700


def test_no_exchange_is_named_twice() -> None:
    names = [name for names in NOT_ON_THE_WIRE.values() for name in names]
    assert len(names) == len(set(names))
