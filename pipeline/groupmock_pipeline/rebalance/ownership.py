"""Compute which member owned a partition when, from requests and replies.

A member owns what a SyncGroup reply assigned (in a consumer or streams group, the reply to a heartbeat). It owns that until a reply takes
it away, until the member joins without claiming it, until the member is removed, replaced, fenced or away, or until the connection by which
it last joined ends. A member whose connection ended owns its partitions again when it sends a heartbeat or commit by another one.
"""

from __future__ import annotations

from typing import Final

from pyspark.sql import DataFrame

from ..windows import BEFORE, OF_MEMBER, SO_FAR
from .events import ALIVE, CLOSED, GONE, JOIN, MEMBER, SYNCED, replaced
from .wire import HELD

FOR_EVER: Final = 2**63 - 1
PLACE: Final = "struct<line: bigint, at: bigint, rebalance: bigint>"


def change() -> str:
    """Return SQL of {line, at, event, member_id, connection, held} for an event that may change a member's partitions, else null. `held`
    is all that the member owns (SYNCED), or all that it may still own."""
    gone = f"(event = '{MEMBER}' and what in {GONE})"
    member = f"case when {gone} and what = 'replaced' then {replaced()} else member_id end"
    matters = f"(event in {(SYNCED, CLOSED, ALIVE)} or {gone} or (event = '{JOIN}' and (named or accepted)))"
    claim = "coalesce(get(filter(claims, each -> each.name = protocol), 0), get(claims, 0)).held"
    held = f"coalesce(case when event = '{SYNCED}' then held when event = '{JOIN}' then {claim} end, cast(array() as {HELD}))"
    changed = f"struct(line, at, event, {member} as member_id, connection, {held} as held)"
    return f"case when {matters} and {member} is not null then {changed} end"


def part(partition: str, line: str, member_id: str, process: str = "null", at: str = "null", until: str = "null") -> str:
    """Return SQL of an entry of `parts`: that one member was assigned a partition or owned it. With `process` (its member id without the
    random part) the SyncGroup at `line` assigned the partition. With `at` and `until` {line, at, rebalance} the reply at `line` made it
    the owner (line FOR_EVER: to the journal's end)."""
    told = f"cast({process} as string) as process, cast({at} as bigint) as at, cast({until} as {PLACE}) as until"
    return f"struct({partition} as partition, {line} as line, {member_id} as member_id, {told})"


def owned(lines: DataFrame) -> DataFrame:
    """Return lines of two kinds with run, group and last_at: a rebalance has its `parts` and its other columns in `summary`, and a
    SyncGroup reply has the parts that it assigned."""
    starts = "array_prepend(returns, struct(line, at))"
    begun = f"filter({starts}, start -> {_still_his('each')})"
    spans = f"transform({begun}, start -> {part('each', 'start.line', 'member_id', at='start.at', until=_until('each'))})"
    owns = f"flatten(transform(held, each -> {spans}))"
    parts = f"case when summary is null then {owns} else parts end as parts"
    return _given(_opened(lines)).selectExpr("run", "`group`", "rebalance", "last_at", "summary", parts)


def _opened(lines: DataFrame) -> DataFrame:
    """Put the rebalances of a group and its members' changes of ownership into lines of their own: run, group, rebalance, last_at, and
    either `summary` and `parts` or the fields of a change."""
    apart = ("run", "`group`", "rebalance", "last_at", "changes", "parts")
    whole = f"struct(* except ({', '.join(apart)}))"
    line = f"case when change is null then {whole} end as summary, case when change is null then parts end as parts"
    opened = f"inline(transform(array_prepend(changes, null), change -> struct({line}, change)))"
    return lines.selectExpr("run", "`group`", "rebalance", "last_at", opened).selectExpr(
        "run", "`group`", "rebalance", "last_at", "summary", "parts", "change.*"
    )


def _given(changes: DataFrame) -> DataFrame:
    """Keep the lines of rebalances, and of the changes of ownership only the SyncGroup replies. Such a reply gets `losses` [{until,
    held, event}], the member's changes before its `next` reply, and `returns` [{line, at}], when it went on by another connection."""
    before = f"over ({OF_MEMBER} order by line {BEFORE})"
    joined_by = f"last(case when event = '{JOIN}' then connection end, true) {before} as joined_by"
    # The last change before a sign of life tells whether the member had lost its connection.
    last = f"last(case when event not in {(ALIVE, CLOSED)} or event = '{CLOSED}' and joined_by = connection then event end, true) {before}"
    again = f"coalesce(event = '{ALIVE}' and {last} = '{CLOSED}', false) as again"
    by = f"last(case when event = '{JOIN}' or again then connection end, true) {before}"
    so_far = f"count_if(event = '{SYNCED}') over ({OF_MEMBER} order by line {SO_FAR})"
    signs = changes.selectExpr("*", joined_by).selectExpr("*", again).selectExpr("*", f"{by} as by")
    marked = signs.selectExpr("*", f"case when summary is not null then rebalance else {so_far} end as epoch").where(
        f"summary is not null or again or event not in {(ALIVE, CLOSED)} or event = '{CLOSED}' and by = connection"
    )
    epoch = f"over ({OF_MEMBER}, epoch order by line rows between unbounded preceding and unbounded following)"
    place = "struct(line, at, rebalance)"
    losses = f"collect_list(case when event not in {(SYNCED, ALIVE)} then struct({place} as until, held, event) end) {epoch} as losses"
    returns = f"collect_list(case when event = '{ALIVE}' then struct(line, at) end) {epoch} as returns"
    given = marked.selectExpr("*", losses, returns).where(f"summary is not null or event = '{SYNCED}'")
    return given.selectExpr("*", f"lead({place}) over ({OF_MEMBER} order by epoch) as next")


def _still_his(partition: str) -> str:
    """Return SQL of whether a member lost a partition before `start` only by the end of a connection, if at all."""
    lost = f"loss.until.line < start.line and not array_contains(loss.held, {partition})"
    return f"not exists(losses, loss -> {lost} and loss.event != '{CLOSED}')"


def _until(partition: str) -> str:
    """Return SQL of the place in the journal at which a member lost a partition that it owned from `start` on."""
    loss = f"get(filter(losses, loss -> loss.until.line > start.line and not array_contains(loss.held, {partition})), 0).until"
    never = f"struct({FOR_EVER}L as line, cast(null as bigint) as at, cast(null as bigint) as rebalance)"
    return f"coalesce({loss}, next, {never})"
