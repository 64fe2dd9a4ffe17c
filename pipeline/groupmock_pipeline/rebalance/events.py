"""What happened to each group, in the journal's order, numbered by rebalance.

One frame holds everything that the figures need, so that it is shuffled by (run, group) once. Order is the line in the journal, never the
clock: many rows have the same time, and a clock may go backwards.
"""

from __future__ import annotations

from typing import Final

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from ..clients import connections, identified, label
from . import wire

PREPARING: Final = "PreparingRebalance"
COMPLETING: Final = "CompletingRebalance"
STABLE: Final = "Stable"
EMPTY: Final = "Empty"
UNDER_WAY: Final = (PREPARING, COMPLETING)
OF_JOINER: Final = ("line", "at", "member_id", "client_id", "library", "version")
"""What of a JoinGroup names who may have begun a rebalance."""

MOVED, MEMBER, COMMAND = "moved", "member", "command"
JOIN, JOINED, TOLD, SYNCED, CLOSED = "join", "joined", "told", "synced", "closed"
"""`event`: three row kinds; a JoinGroup came; the leader got its answer; the leader's SyncGroup came; a SyncGroup was answered; a
connection that a member joined by ended."""

GROUP: Final = ("run", "group")
_HELD: Final = "array<struct<topic: string, number: int>>"
OWN: Final = {
    "named": "boolean",
    "claims": f"array<struct<name: string, held: {_HELD}>>",
    "generation": "bigint",
    "round_claims": f"array<struct<member_id: string, held: {_HELD}>>",
    "told": (
        f"array<struct<member_id: string, held: {_HELD}, asked_back: struct<design: int, revoked: {_HELD}, timeout_ms: bigint>>>"
    ),
    "held": _HELD,
}
"""What an exchange's event has of its own. `named`: a JoinGroup that came with a member id; the rest by the functions below."""


def events(rows: DataFrame) -> DataFrame:
    """One line per event: day, run, group, line, at, event, member_id and what that event has (see the functions below); numbered.

    `cycle`: 1 for everything up to the end of the group's first rebalance, 2 up to the end of its second, ... (an answer to SyncGroup,
    which comes after the end, counts to the rebalance that it ends). Of `moved`: `under_way` (before it), `begins`, `ends`, `spent_ns` in
    the state before, `backwards` (the clock went back), `members_before`; `last_join` where a join phase ends; `command`: who steered.
    """
    return numbered(_rows(rows).unionByName(_exchanged(rows), allowMissingColumns=True))


def _rows(rows: DataFrame) -> DataFrame:
    """Three kinds of rows, as they are."""
    command = F.get_json_object("arguments", "$.group")
    group = F.when(F.col("kind") == COMMAND, command).otherwise(F.col("group"))
    kept = rows.where(F.col("kind").isin(MOVED, MEMBER, COMMAND)).select(
        "day", "run", group.alias("group"), "line", "at", F.col("kind").alias("event"),
        "before", "after", "generation", "cause", "reason", "leader", "protocol_type", "protocol_name", "members",
        "member_id", "what", "client_id", "name",
    )  # fmt: skip
    return kept.where(F.col("group").isNotNull())


def _exchanged(rows: DataFrame) -> DataFrame:
    """The events of every exchange, in one pass: at most one where the request came, one where it was answered, one where the connection
    by which a member joined ended."""
    exchanges = wire.exchanges(rows).join(connections(rows), ["run", "connection"], "left")
    known = exchanges.withColumns(identified(F.col("client_id")))
    joins, syncs = F.col("api_key") == wire.JOIN, F.col("api_key") == wire.SYNC
    answered, closed = F.col("answer_line").isNotNull(), joins & F.col("closed.line").isNotNull() & F.col("member_id").isNotNull()
    heard = answered & F.col("accepted") & F.coalesce("delivered", F.lit(True))
    readable = F.col("answer_inside").isNotNull() | (F.col("answer.assignment") == "")  # nothing at all: the member has nothing
    tells = {"told": _told(), "generation": F.col("asked.generation_id")}
    each = F.array(
        F.when(joins, _event(JOIN, "line", "at", claims=_claims(), named=F.coalesce("asked.member_id", F.lit("")) != "")),
        F.when(syncs & (F.size("asked.assignments") > 0), _event(TOLD, "line", "at", **tells)),
        F.when(joins & answered & F.col("accepted") & (F.size("answer.members") > 0), _event(JOINED, "answer_line", "answer_at", **_led())),
        F.when(syncs & heard & readable, _event(SYNCED, "answer_line", "answer_at", **_given())),
        F.when(closed, _event(CLOSED, "closed.line", "closed.at")),
    )
    happened = known.select("day", "run", "group", F.explode(F.array_compact(each)).alias("each"))
    return happened.select("day", "run", "group", "each.*")


def _event(event: str, line: str, at: str, **own: Column) -> Column:
    """One event with the same fields whatever it is; what it does not have is null."""
    place = [F.col(line).alias("line"), F.col(at).alias("at"), F.lit(event).alias("event")]
    shared = [F.col(name) for name in ("member_id", "connection", "client_id", "library", "version", "accepted")]
    return F.struct(*place, *shared, *(own.get(name, F.lit(None)).cast(kind).alias(name) for name, kind in OWN.items()))


def _claims() -> Column:
    """What a JoinGroup says to hold, by protocol in its order."""

    def one(each: Column, place: Column) -> Column:
        path = F.concat(F.lit("protocols["), place, F.lit("].metadata"))
        return F.struct(each["name"].alias("name"), wire.claimed(F.col("inside"), path).alias("held"))

    return F.transform("asked.protocols", one)


def _led() -> dict[str, Column]:
    """The leader's answer to JoinGroup, which has everybody's claims."""
    held = F.transform(
        "answer.members",
        lambda each, place: F.struct(
            each["member_id"].alias("member_id"),
            wire.claimed(F.col("answer_inside"), F.concat(F.lit("members["), place, F.lit("].metadata"))).alias("held"),
        ),
    )
    return {"generation": F.col("answer.generation_id"), "round_claims": held}


def _told() -> Column:
    """What a SyncGroup with assignments tells each member; null where nothing of it was decoded."""

    def one(each: Column, place: Column) -> Column:
        path = F.concat(F.lit("assignments["), place, F.lit("].assignment"))
        held, back = wire.assigned(F.col("inside"), path), wire.asked_back(F.col("inside"), path)
        return F.struct(each["member_id"].alias("member_id"), held.alias("held"), back.alias("asked_back"))

    return F.when(F.col("inside").isNotNull(), F.transform("asked.assignments", one))


def _given() -> dict[str, Column]:
    """A SyncGroup's answer: all that the member has from now on."""
    return {"generation": F.col("asked.generation_id"), "held": wire.assigned(F.col("answer_inside"), F.lit("assignment"))}


# -- numbering ---------------------------------------------------------------------------------------------------------


def numbered(frame: DataFrame) -> DataFrame:
    """See `events`."""
    past = Window.partitionBy(*GROUP).orderBy("line").rowsBetween(Window.unboundedPreceding, -1)
    moved = F.col("event") == MOVED

    def latest(what: Column) -> Column:
        return F.last(what, ignorenulls=True).over(past)

    seen = frame.withColumns(
        {
            "_before": latest(F.when(moved, F.struct("line", "at", "after", "members"))),
            "protocol": latest(F.when(moved, F.col("protocol_name"))),
            "_steered": latest(F.when(F.col("event") == COMMAND, F.struct("line", "at", "name"))),
            "_join": latest(F.when((F.col("event") == JOIN) & F.col("accepted"), F.struct(*OF_JOINER))),
        }
    )
    was, now = F.coalesce(F.col("_before.after").isin(*UNDER_WAY), F.lit(False)), F.col("after").isin(*UNDER_WAY)
    steered = (F.col("_steered.at") == F.col("at")) & (F.col("_steered.line") > F.coalesce("_before.line", F.lit(0)))
    marked = seen.withColumns(
        {
            "under_way": was,
            "begins": moved & now & ~was,
            "ends": moved & ~now & was,
            "spent_ns": F.when(moved & was, F.greatest(F.col("at") - F.col("_before.at"), F.lit(0))),
            "backwards": F.coalesce(moved & was & (F.col("at") < F.col("_before.at")), F.lit(False)),
            "members_before": F.coalesce("_before.members", F.when(F.col("before").isin("", EMPTY), F.lit(0)).cast("bigint")),
            "state_before": F.col("_before.after"),
            "command": F.when(moved & steered, F.col("_steered.name")),
            "last_join": F.when(moved & (F.col("after") == COMPLETING), F.col("_join")),
        }
    )
    ended = F.coalesce(F.count_if("ends").over(past), F.lit(0))
    cycle = ended + F.when(F.col("event") == SYNCED, 0).otherwise(1)
    return marked.withColumn("cycle", cycle).drop("_before", "_steered", "_join")


def library_label() -> Column:
    """`kafka-python 3.0.12` of a `join`."""
    return F.when((F.col("event") == JOIN) & F.col("accepted"), label())
