"""Put the events of each group in order, and number them by rebalance.

The order is the line in the journal and not the clock, because many rows have the same time and a clock may go backwards. Rows are shuffled
once, by `run`, and each message is parsed once, before the shuffle.

Columns are SQL text: one call into Java per step, where a Column per operator would take ten. Python writes a tuple of words like a list in
SQL.
"""

from __future__ import annotations

from typing import Final

from pyspark.sql import DataFrame

from groupmock_codec.api_keys import (
    API_VERSIONS,
    CONSUMER_GROUP_HEARTBEAT,
    HEARTBEAT,
    JOIN_GROUP,
    OFFSET_COMMIT,
    STREAMS_GROUP_HEARTBEAT,
    SYNC_GROUP,
)
from groupmock_codec.group_states import ASSIGNING, COMPLETING_REBALANCE, EMPTY, NOT_READY, PREPARING_REBALANCE, RECONCILING, STABLE

from ..clients import IDENTIFIED, SOFTWARE_TOLD
from ..windows import BEFORE, OF_GROUP, OF_MEMBER
from . import processes, wire

OF_CLASSIC: Final = (PREPARING_REBALANCE, COMPLETING_REBALANCE)
UNDER_WAY: Final = (*OF_CLASSIC, NOT_READY, ASSIGNING, RECONCILING)
AT_REST: Final = (EMPTY, STABLE)
BEATS: Final = (CONSUMER_GROUP_HEARTBEAT, STREAMS_GROUP_HEARTBEAT)
"""The heartbeats with which the coordinator assigns partitions (KIP-848) or tasks (KIP-1071)."""
BEHIND_THEIR_BACKS: Final = "generation_set"
"""The cause of a state change that begins no rebalance: a command set the generation."""
OF_JOINER: Final = ("line", "at", "member_id", "client_id", "library", "version")
"""The columns that identify the sender of a JoinGroup, or the member of a consumer group that reached its target."""

GONE: Final = ("removed", "replaced", "fenced", "away")
"""The changes in a member row after which the member owns nothing."""

MOVED, MEMBER, COMMAND = "moved", "member", "command"
JOIN, JOINED, TOLD, SYNCED, CLOSED, ALIVE = "join", "joined", "told", "synced", "closed", "alive"
"""The values of the column `event`. MOVED, MEMBER and COMMAND are rows of these kinds. JOIN is a JoinGroup request, or one of
BEATS with epoch 0. JOINED is the leader's JoinGroup reply, TOLD the leader's SyncGroup request. SYNCED is a reply to
SyncGroup, or to a heartbeat, with the member's assignment. CLOSED is the end of a connection that a member used. ALIVE is a heartbeat or
commit of a member by another connection than it joined by: after the end of that one the member goes on."""

GROUP: Final = ("run", "group")
OF_CONNECTION: Final = "over (partition by run, connection)"
OF_EXCHANGE: Final = "over (partition by run, connection, ticket)"
PAST: Final = f"over ({OF_GROUP} order by line {BEFORE})"
PAST_OF_MEMBER: Final = f"over ({OF_MEMBER} order by line {BEFORE})"
OF_LEDGER: Final = ("last_at",)
"""The columns of `runs` that an event has."""
OF_ROWS: Final = (
    "before", "after", "cause", "reason", "leader", "protocol_type", "protocol_name", "members", "what", "client_id", "group_instance_id",
    "name",
)  # fmt: skip
"""The columns of an event that are taken from its row unchanged."""
OF_MESSAGES: Final = ("named", "claims", "round_claims", "told", "held", "beat")
"""The columns of an event that are read from its message. `named` says that a JoinGroup has a member id and `beat` that the message is
one of BEATS; see `wire` for the rest."""


def events(rows: DataFrame) -> DataFrame:
    """Return one numbered line per event of rows with OF_LEDGER: day, run, group, line, at, last_at (of the journal), event, member_id and
    the columns of that event.

    `cycle` is 1 up to the end of the group's first rebalance, 2 up to the end of the second, and so on. A SyncGroup reply, which comes
    after the end, counts for the rebalance that it ends. So does a reply to one of BEATS outside of a rebalance.

    `dealt` of such a reply is {line, member_id, given, revoked (count)} against the previous reply. State changes have
    `under_way` (before it), `generation_was`, `begins`, `ends`, `spent_ns` (in the state before), `backwards` (the clock went back),
    `members_before`, `last_join` (at the end of a join phase) and `command` (the steering command).
    """
    return numbered(_of_groups(_paired(_read(rows).repartition("run"))))


def _read(rows: DataFrame) -> DataFrame:
    """Parse each relevant row of a journal by itself. `event` is null for rows that only complete others."""
    asks, answers = "(kind = 'request')", "(kind = 'reply')"
    joins, syncs = (f"(api_key = {key})" for key in (JOIN_GROUP, SYNC_GROUP))
    beats = f"(api_key in {BEATS})"
    any_of_them = f"({joins} or {syncs} or {beats})"
    lives = f"(api_key in {(HEARTBEAT, OFFSET_COMMIT)})"
    exchanged = f"({asks} and ({any_of_them} or {lives} or api_key = {API_VERSIONS})) or ({answers} and {any_of_them})"
    read = rows.where(f"{exchanged} or kind in {(MOVED, MEMBER, COMMAND, 'close')}").withColumns(wire.said())
    accepted = "error is null and coalesce(delivered, true)"
    event = f"""case when {asks} and ({joins} or ({beats} and said.member_epoch = 0)) then '{JOIN}'
        when {asks} and ({lives} or ({beats} and said.member_epoch > 0)) then '{ALIVE}'
        when {asks} and {syncs} and size(said.assignments) > 0 then '{TOLD}'
        when {answers} and {joins} and error is null and size(said.members) > 0 then '{JOINED}'
        when {answers} and {syncs} and {accepted} and {wire.READABLE} then '{SYNCED}'
        when {answers} and {beats} and {accepted} and (said.assignment is not null or said.active_tasks is not null) then '{SYNCED}'
        when kind = 'close' then '{CLOSED}'
        when kind in {(MOVED, MEMBER, COMMAND)} then kind end as event"""
    steered = f"case when kind = '{COMMAND}' then get_json_object(arguments, '$.group') end"
    return read.selectExpr(
        "day", "run", "line", "at", *OF_LEDGER, "kind", "connection", "ticket", "error", event, *OF_ROWS,
        f"coalesce({steered}, `group`, said.group_id) as `group`",
        "coalesce(member_id, nullif(said.member_id, '')) as member_id",
        "coalesce(generation, said.generation_id) as generation",
        "struct(said.client_software_name, said.client_software_version) as software",
        "coalesce(said.member_id, '') != '' as named",
        f"case when {asks} and {joins} then {wire.claims()} end as claims",
        f"case when {answers} and {joins} then {wire.round_claims()} end as round_claims",
        f"case when {asks} and {syncs} then {wire.told()} end as told",
        f"case when {answers} and {syncs} then {wire.given()} when {answers} and {beats} then {wire.may_have()} end as held",
        f"coalesce({beats}, false) as beat",
    )  # fmt: skip


def _paired(read: DataFrame) -> DataFrame:
    """Add group and member id to the half of an exchange that lacks them, `accepted` (the answer has no error, or there is none yet),
    and the connection's `software` and `users` {group, member_id}. Heartbeats and commits are dropped if their member joined by this
    connection before, as nearly all did."""
    known = read.selectExpr(
        "*",
        f"first(case when kind = 'request' then struct(`group`, member_id) end, true) {OF_EXCHANGE} as asked",
        f"first(case when kind = 'reply' then struct(error, member_id) end, true) {OF_EXCHANGE} as answer",
    ).selectExpr(
        "* except (`group`, member_id)",
        "coalesce(`group`, asked.`group`) as `group`",
        "coalesce(member_id, asked.member_id, case when kind = 'request' then answer.member_id end) as member_id",
        "answer.error is null as accepted",
    )
    named = "`group` is not null and member_id is not null then struct(`group`, member_id"
    earlier = "exists(joins, joined -> joined.`group` = `group` and joined.member_id = member_id and joined.line < line)"
    return known.selectExpr(
        "* except (software)",
        f"{SOFTWARE_TOLD} {OF_CONNECTION} as software",
        f"collect_list(case when event = '{JOIN}' and {named}, line) end) {OF_CONNECTION} as joins",
        f"collect_set(case when event in {(JOIN, ALIVE)} and {named}) end) {OF_CONNECTION} as users",
    ).where(f"coalesce(event != '{ALIVE}', true) or (member_id is not null and not {earlier})")


def _of_groups(paired: DataFrame) -> DataFrame:
    """Return the events, each with the group that it concerns. The end of a connection is an event of every member that used it."""
    whose = f"inline(case when event = '{CLOSED}' then users else array(struct(`group`, member_id)) end)"
    found = paired.where("event is not null").selectExpr(
        "day", "run", whose, "line", "at", *OF_LEDGER, "event", "connection", "accepted", "generation", *OF_ROWS, *OF_MESSAGES,
        *(f"case when event = '{JOIN}' then {text} end as {name}" for name, text in IDENTIFIED.items()),
    )  # fmt: skip
    return found.where("`group` is not null")


def numbered(frame: DataFrame) -> DataFrame:
    """Add `cycle` and the columns of state changes, see `events`."""
    latest = {
        "_before": f"event = '{MOVED}' then struct(line, at, after, members, generation)",
        "protocol": f"event = '{MOVED}' then protocol_name",
        "_steered": f"event = '{COMMAND}' then struct(line, at, name)",
        "_join": f"event = '{JOIN}' and accepted then struct({', '.join(OF_JOINER)})",
    }
    seen = frame.selectExpr("*", *(f"last(case when {what} end, true) {PAST} as {name}" for name, what in latest.items()))
    moved, was, now = f"(event = '{MOVED}')", f"coalesce(_before.after in {UNDER_WAY}, false)", f"(after in {UNDER_WAY})"
    at_once = f"({moved} and not {was} and {AT_ONCE})"
    steered = "_steered.at = at and _steered.line > coalesce(_before.line, 0)"
    marked = seen.selectExpr(
        "*",
        f"{was} as under_way",
        f"({moved} and {now} and not {was}) or {at_once} as begins",
        f"({moved} and not {now} and {was}) or {at_once} as ends",
        "_before.generation as generation_was",
        f"{_dealt()} as dealt",
        f"{_arrivals()} as arrivals",
        f"case when {moved} and {was} then greatest(at - _before.at, 0L) end as spent_ns",
        f"coalesce({moved} and {was} and at < _before.at, false) as backwards",
        f"coalesce(_before.members, cast(case when before in {('', EMPTY)} then 0 end as bigint)) as members_before",
        "_before.after as state_before",
        f"case when {moved} and {steered} then _steered.name end as command",
        f"case when {moved} and after = '{COMPLETING_REBALANCE}' then _join end as last_join",
    )
    late = f"event = '{SYNCED}' and not (beat and under_way)"
    cycle = f"coalesce(count_if(ends) {PAST}, 0L) + case when {late} then 0 else 1 end as cycle"
    return marked.selectExpr("* except (_before, _steered, _join)", cycle)


BY_ITSELF: Final = f"coalesce(cause != '{BEHIND_THEIR_BACKS}', true)"
AT_ONCE: Final = f"coalesce(before in {AT_REST} and after in {AT_REST} and {BY_ITSELF} and generation > _before.generation, false)"
"""Tells whether a consumer group got a new epoch and was at rest again in one state change."""


def replaced() -> str:
    """Return SQL of the member id that the member of a `replaced` row replaced."""
    return "nullif(regexp_extract(reason, r' replaces (.+)$', 1), '')"


def _arrivals() -> str:
    """Return SQL of what an event says about who is connected: a list of `processes.ARRIVAL`."""
    came = processes.arrival(processes.COMES, "member_id", "coalesce(group_instance_id, client_id)")
    by = f"last(case when event in {(JOIN, ALIVE)} then connection end, true) {PAST_OF_MEMBER}"
    one = {
        f"event = '{MEMBER}' and what = 'replaced'": f"array({processes.arrival(processes.GOES, replaced())}, {came})",
        f"event = '{MEMBER}' and what = 'added'": f"array({came})",
        f"event = '{MEMBER}' and what in ('removed', 'refused')": f"array({processes.arrival(processes.GOES, 'member_id')})",
        f"event = '{MEMBER}' and what in {GONE}": f"array({processes.arrival(processes.HANGS_UP, 'member_id')})",
        f"event = '{CLOSED}' and {by} = connection": f"array({processes.arrival(processes.HANGS_UP, 'member_id')})",
        f"(event = '{JOIN}' and named) or event = '{ALIVE}'": f"array({processes.arrival(processes.AGAIN, 'member_id')})",
    }
    cases = " ".join(f"when {when} then {what}" for when, what in one.items())
    return f"case {cases} else cast(array() as array<{processes.ARRIVAL}>) end"


def _dealt() -> str:
    """Return SQL comparing the assignment in a reply to one of BEATS with the previous one. A member that rejoins, is away,
    fenced or gone owns nothing."""
    answer, nothing = f"beat and event = '{SYNCED}'", f"cast(array() as {wire.HELD})"
    without = f"(beat and event = '{JOIN}') or (event = '{MEMBER}' and what in {GONE})"
    had = f"coalesce(last(case when {answer} then held when {without} then {nothing} end, true) {PAST_OF_MEMBER}, {nothing})"
    given, revoked = f"array_except(held, {had}) as given", f"cast(size(array_except({had}, held)) as bigint) as revoked"
    return f"case when {answer} then struct(line, member_id, {given}, {revoked}) end"
