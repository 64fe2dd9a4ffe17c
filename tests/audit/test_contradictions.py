"""Lies are planted into random histories: answers that do not fit their request, or what earlier answers said. The audit names the row,
and from there on it calls nothing about that group kept or broken."""

from __future__ import annotations

import copy
from base64 import b64encode
from collections.abc import Callable
from random import Random
from typing import Any, Final, NamedTuple

from cases import for_each
from properties.audits import AnyRow, history, playable, rows_of

from groupmock.audit.auditor import Auditor, audit
from groupmock.audit.judgement import CONTRADICTED, Kept, NotJudged
from groupmock.audit.subjects import Link
from groupmock.audit.verdicts import Finding
from groupmock.journal.rows import ReplyRow, RequestRow
from groupmock_codec.api_keys import (
    ADD_OFFSETS_TO_TXN,
    ADD_PARTITIONS_TO_TXN,
    CONSUMER_GROUP_HEARTBEAT,
    END_TXN,
    HEARTBEAT,
    INIT_PRODUCER_ID,
    JOIN_GROUP,
    PRODUCE,
    SYNC_GROUP,
    TXN_OFFSET_COMMIT,
)
from groupmock_codec.embedded.consumer import Assignment, TopicPartitions, encode_assignment

HISTORIES: Final = 8
"""The number of random histories per lie."""
NOWHERE: Final = b64encode(encode_assignment(Assignment(assigned_partitions=[TopicPartitions(topic="nowhere", partitions=[99])]))).decode()
"""The assignment of a partition that does not exist."""


def examples() -> list[tuple[str, str]]:
    """Return the examples of rules from which histories are drawn, each (rule, kept or broken)."""
    return [(code, which) for which in ("kept", "broken") for code in playable(which)]


class Place(NamedTuple):
    """An answer into which a lie may be planted, with its request. `told` is the highest generation or epoch that earlier answers had
    told its member, or -1, and `planned` says whether a leader's SyncGroup has assigned to the member before."""

    at: int
    asked: RequestRow
    reply: ReplyRow
    told: int
    planned: bool


def places(rows: list[AnyRow]) -> list[Place]:
    """Return the answers of a journal that are about a group."""
    asked: dict[int, RequestRow] = {}
    told: dict[tuple[str, str], int] = {}
    planned: set[tuple[str, str, int]] = set()
    found = []
    for at, row in enumerate(rows):
        if isinstance(row, RequestRow):
            asked[row.ticket] = row
            if row.api_key == SYNC_GROUP:
                generation = row.message["group_id"], row.message["generation_id"]
                planned.update((generation[0], each["member_id"], generation[1]) for each in row.message["assignments"])
        elif isinstance(row, ReplyRow) and isinstance(asked[row.ticket].message, dict) and "group_id" in asked[row.ticket].message:
            request = asked[row.ticket]
            group, member = request.message["group_id"], request.message.get("member_id") or row.message.get("member_id") or ""
            plan = (group, member, request.message.get("generation_id", -1)) in planned
            found.append(Place(at, request, row, told.get((group, member), -1), plan))
            if row.delivered and not row.error and row.api_key in (JOIN_GROUP, CONSUMER_GROUP_HEARTBEAT):
                told[group, member] = row.message.get("generation_id", row.message.get("member_epoch"))
    return found


Lie = Callable[[Place], dict[str, Any] | None]
"""Returns the fields of the answer's message that are changed, or None if the answer is not about this."""


def _another_member(it: Place) -> dict[str, Any] | None:
    static = it.asked.message.get("group_instance_id") is not None
    fits = it.asked.api_key == JOIN_GROUP and it.asked.message["member_id"] and not static and not it.reply.error
    return {"member_id": "nobody"} if fits else None


def _generation_goes_back(it: Place) -> dict[str, Any] | None:
    return {"generation_id": it.told - 1} if it.asked.api_key == JOIN_GROUP and not it.reply.error and it.told >= 0 else None


def _epoch_goes_back(it: Place) -> dict[str, Any] | None:
    fits = it.asked.api_key == CONSUMER_GROUP_HEARTBEAT and it.asked.message["member_epoch"] > 0 and not it.reply.error
    return {"member_epoch": it.told - 1} if fits and it.told >= 0 else None


def _old_generation_accepted(it: Place) -> dict[str, Any] | None:
    fits = it.asked.api_key == HEARTBEAT and 0 <= it.asked.message["generation_id"] < it.told
    return {"error_code": 0} if fits and it.reply.error == "ILLEGAL_GENERATION" else None


def _protocol_of_nobody(it: Place) -> dict[str, Any] | None:
    return {"protocol_name": "nobody's"} if it.asked.api_key == JOIN_GROUP and not it.reply.error else None


def _members_for_a_follower(it: Place) -> dict[str, Any] | None:
    fits = it.asked.api_key == JOIN_GROUP and not it.reply.error and it.reply.message["members"]
    return {"leader": "somebody else"} if fits else None


def _partition_that_does_not_exist(it: Place) -> dict[str, Any] | None:
    fits = it.asked.api_key == SYNC_GROUP and not it.reply.error and it.planned and it.reply.message.get("protocol_type") == "consumer"
    return {"assignment": NOWHERE} if fits else None


LIES: Final[dict[str, Lie]] = {
    "another-member": _another_member,
    "generation-goes-back": _generation_goes_back,
    "epoch-goes-back": _epoch_goes_back,
    "old-generation-accepted": _old_generation_accepted,
    "protocol-of-nobody": _protocol_of_nobody,
    "members-for-a-follower": _members_for_a_follower,
    "partition-that-does-not-exist": _partition_that_does_not_exist,
}
WITHOUT_REQUEST: Final = ("answered-twice", "never-asked")


def planted(rows: list[AnyRow], lie: str, dice: Random) -> tuple[list[AnyRow], int, str | int] | None:
    """Return the journal with one lie, the lie's row number, and the group or connection that it makes doubtful, or None if no answer is
    suitable."""
    if lie in LIES:
        fitting = [(it, changed) for it in places(rows) if (changed := LIES[lie](it)) is not None and it.reply.delivered]
    else:
        # A heartbeat that seems to repeat the one before is judged when its answer comes, so the lie would be taken for its occasion.
        fitting = [(it, {}) for it in places(rows) if it.reply.delivered and it.asked.api_key != HEARTBEAT]
    if not fitting:
        return None
    it, changed = dice.choice(fitting)
    told = copy.copy(it.reply)
    told.message = {**told.message, **changed}
    told.error = None if "error_code" in changed else told.error
    told.api_version += lie == "another-version"
    told.ticket += 50_000 if lie == "never-asked" else 0
    instead = [it.reply, told] if lie in WITHOUT_REQUEST else [told]
    made = [copy.copy(row) for row in (*rows[: it.at], *instead, *rows[it.at + 1 :])]
    for seq, row in enumerate(made, 1):
        row.seq = seq
    about = it.asked.connection if lie in WITHOUT_REQUEST else str(it.asked.message["group_id"])
    return made, it.at + len(instead), about


def after(rows: list[AnyRow], lie: int, about: str | int) -> list[Kept | NotJudged | Finding]:
    """Audit a journal, and return the judgements about the group or connection from the lie on, as long as the group exists."""
    found: list[Kept | NotJudged | Finding] = []
    looking = False

    def judged(code: str, group: str | None, link: Link | None, what: Kept | NotJudged | Finding) -> None:
        if looking and about in (group, None if link is None else link.number):
            found.append(what)

    def over(group: str | None, _: object) -> None:
        nonlocal looking
        looking = looking and group != about

    auditor = Auditor(judged=judged, over=over)
    for row in rows:
        looking = looking or row.seq == lie
        auditor.feed(row)
    assert [hole for hole in auditor.close().holes if not hole.startswith(f"row {lie} contradicts earlier rows: ")] == []
    assert len(auditor.holes) == 1
    return found


@for_each("lie", [*LIES, "another-version", *WITHOUT_REQUEST])
def test_nothing_is_kept_or_broken_after_an_answer_that_does_not_fit(lie: str) -> None:
    dice, not_judged = Random(lie), 0
    suitable = [each for each in examples() if planted(history([(*each, 0)], 0), lie, dice) is not None]
    for ties in range(HISTORIES):
        drawn = [(*dice.choice(listed), dice.randrange(3_000)) for listed in (suitable, examples(), examples())]
        found = planted(history(drawn, ties), lie, dice)
        assert found is not None
        judgements = after(*found)
        assert set(judgements) <= {CONTRADICTED}, (drawn, found[1], judgements)
        not_judged += len(judgements)
    assert not_judged > 0


OF_PRODUCERS: Final = ("CLIENT-70", "CLIENT-87", "CLIENT-88", "CLIENT-89", "CLIENT-90", "CLIENT-91", "CLIENT-92")
NAMES: Final = ("transactional_id", "v3_and_below_transactional_id")
IN_TRANSACTIONS: Final = (ADD_PARTITIONS_TO_TXN, ADD_OFFSETS_TO_TXN, TXN_OFFSET_COMMIT, PRODUCE, END_TXN)


def about_a_producer(row: AnyRow) -> bool:
    return isinstance(row, RequestRow) and any(isinstance(row.message, dict) and row.message.get(name) for name in NAMES)


def lie_to_a_producer(rows: list[AnyRow], lie: str, dice: Random) -> tuple[list[AnyRow], int] | None:
    """Return the journal with a lie to a producer and the lie's row number, or None if no answer is suitable. `another-version` says
    that an answer is of another version than its request. With `epoch-goes-back` an earlier answer has told the producer a later epoch."""
    asked = {row.ticket: row for row in rows if isinstance(row, RequestRow) and about_a_producer(row)}
    answers = [row for row in rows if isinstance(row, ReplyRow) and row.ticket in asked and row.delivered and not row.error]
    keys = IN_TRANSACTIONS if lie == "another-version" else (INIT_PRODUCER_ID,)
    fitting = [row for row in answers if row.api_key in keys]
    if not fitting:
        return None
    true = dice.choice(fitting)
    request, told = asked[true.ticket], copy.copy(true)
    if lie == "another-version":
        told.api_version += 1
        return [told if row is true else row for row in rows], true.seq
    before = copy.copy(request)
    before.ticket = told.ticket = true.ticket + 50_000
    told.t = told.written = request.t
    told.message = {**true.message, "producer_epoch": true.message["producer_epoch"] + 1}
    at = rows.index(request)
    made = [copy.copy(row) for row in (*rows[:at], before, told, *rows[at:])]
    for seq, row in enumerate(made, 1):
        row.seq = seq
    return made, true.seq + 2


@for_each("lie", ["another-version", "epoch-goes-back"])
def test_nothing_is_judged_about_a_producer_after_an_answer_that_does_not_fit(lie: str) -> None:
    dice, not_judged = Random(lie), 0
    for code, which in [each for each in examples() if each[0] in OF_PRODUCERS]:
        found = lie_to_a_producer(list(rows_of(code, which, 0)), lie, dice)
        if found is None:
            continue
        rows, at = found
        told: list[Kept | NotJudged | Finding] = []
        later: list[Kept | NotJudged | Finding] = []
        auditor = Auditor(OF_PRODUCERS, judged=lambda _code, _group, _link, what, told=told: told.append(what))
        for row in rows:
            told.clear()
            auditor.feed(row)
            later += told if row.seq > at and about_a_producer(row) else ()
        assert len(auditor.holes) == 1 and auditor.holes[0].startswith(f"row {at} contradicts earlier rows: "), (code, which, auditor.holes)
        assert set(later) <= {CONTRADICTED}, (code, which, later)
        not_judged += len(later)
    assert not_judged > 0


def test_no_true_journal_contradicts_itself() -> None:
    assert [hole for code, which in examples() for hole in audit(rows_of(code, which, 0)).holes] == []
