"""What happened to each group, in the journal's order, numbered by rebalance.

Order is the line in the journal, never the clock: many rows have the same time, and a clock may go backwards. What belongs together is of
one run: the rows are shuffled once, by `run`, and all that follows stays where it is. Each message is read once, before that.
"""

from __future__ import annotations

from typing import Final

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from ..clients import API_VERSIONS, identified, label, software
from . import wire

PREPARING: Final = "PreparingRebalance"
COMPLETING: Final = "CompletingRebalance"
ASSIGNING: Final = "Assigning"
RECONCILING: Final = "Reconciling"
STABLE: Final = "Stable"
EMPTY: Final = "Empty"
OF_CLASSIC: Final = (PREPARING, COMPLETING)
UNDER_WAY: Final = (*OF_CLASSIC, ASSIGNING, RECONCILING)
AT_REST: Final = (EMPTY, STABLE)
BEHIND_THEIR_BACKS: Final = "generation_set"
"""The cause of a move that begins nothing: a command set the generation."""
OF_JOINER: Final = ("line", "at", "member_id", "client_id", "library", "version")
"""What of a JoinGroup names who may have begun a rebalance, and of a `member` row who came to the target of a consumer group."""

GONE: Final = ("removed", "replaced", "fenced", "away")
"""`member` rows after which a member has nothing."""

MOVED, MEMBER, COMMAND = "moved", "member", "command"
JOIN, JOINED, TOLD, SYNCED, CLOSED = "join", "joined", "told", "synced", "closed"
"""`event`: three row kinds; a JoinGroup came, or a heartbeat with epoch 0; the leader got its answer; the leader's SyncGroup came; a
SyncGroup was answered, or a heartbeat, with what its member may have; a connection that a member joined by ended."""

GROUP: Final = ("run", "group")
CONNECTION: Final = ("run", "connection")
OF_ROWS: Final = ("before", "after", "cause", "reason", "leader", "protocol_type", "protocol_name", "members", "what", "client_id", "name")
"""What an event has of its row as it is."""
OF_MESSAGES: Final = ("named", "claims", "round_claims", "told", "held", "beat")
"""What it has of its message: a JoinGroup came with a member id; is it of a consumer group's heartbeat; the rest as in `wire`."""


def events(rows: DataFrame) -> DataFrame:
    """One line per event: day, run, group, line, at, last_at (of the journal), event, member_id and what that event has; numbered.

    `cycle`: 1 for everything up to the end of the group's first rebalance, 2 up to the end of its second, ... (an answer to SyncGroup,
    which comes after the end, counts to the rebalance that it ends, and so does one to a heartbeat that comes while none is under way).
    `dealt`: {line, member_id, given, revoked (how many)} of an answer to a heartbeat, against the one before.
    Of `moved`: `under_way` (before it), `generation_was`, `begins`, `ends`, `spent_ns` in
    the state before, `backwards` (the clock went back), `members_before`; `last_join` where a join phase ends; `command`: who steered.
    """
    read = _read(rows).join(ends(rows).hint("shuffle_hash"), "run")
    return numbered(_of_groups(_paired(read)))


def ends(rows: DataFrame) -> DataFrame:
    """run, last_at: when each journal ends."""
    return rows.groupBy("run").agg(F.max("at").alias("last_at"))


def _read(rows: DataFrame) -> DataFrame:
    """The rows that tell something, each by itself. `event`: null where a row only completes others."""
    asks, answers = F.col("kind") == "request", F.col("kind") == "reply"
    joins, syncs, beats = (F.col("api_key") == key for key in (wire.JOIN, wire.SYNC, wire.BEAT))
    exchanged = (asks & (joins | syncs | beats | (F.col("api_key") == API_VERSIONS))) | (answers & (joins | syncs | beats))
    read = rows.where(exchanged | F.col("kind").isin(MOVED, MEMBER, COMMAND, "close")).withColumns(wire.said())
    accepted, arrives = F.col("error").isNull(), F.coalesce("delivered", F.lit(True))
    event = (
        F.when(asks & (joins | (beats & (F.col("said.member_epoch") == 0))), JOIN)
        .when(asks & syncs & (F.size("said.assignments") > 0), TOLD)
        .when(answers & joins & accepted & (F.size("said.members") > 0), JOINED)
        .when(answers & syncs & accepted & arrives & wire.readable(), SYNCED)
        .when(answers & beats & accepted & arrives & F.col("said.assignment").isNotNull(), SYNCED)
        .when(F.col("kind") == "close", CLOSED)
        .when(F.col("kind").isin(MOVED, MEMBER, COMMAND), F.col("kind"))
    )
    steered = F.when(F.col("kind") == COMMAND, F.get_json_object("arguments", "$.group"))
    return read.select(
        "day", "run", "line", "at", "kind", "connection", "ticket", "error", event.alias("event"), *OF_ROWS,
        F.coalesce(steered, "group", "said.group_id").alias("group"),
        F.coalesce("member_id", F.nullif(F.col("said.member_id"), F.lit(""))).alias("member_id"),
        F.coalesce("generation", "said.generation_id").alias("generation"),
        F.struct("said.client_software_name", "said.client_software_version").alias("software"),
        (F.coalesce("said.member_id", F.lit("")) != "").alias("named"),
        F.when(asks & joins, wire.claims()).alias("claims"), F.when(answers & joins, wire.round_claims()).alias("round_claims"),
        F.when(asks & syncs, wire.told()).alias("told"),
        F.when(answers & syncs, wire.given()).when(answers & beats, wire.may_have()).alias("held"),
        F.coalesce(beats, F.lit(False)).alias("beat"),
    )  # fmt: skip


def _paired(read: DataFrame) -> DataFrame:
    """With group and member id also where only the other half of an exchange has them, `accepted`: an answer without an error or none so
    far, and of its connection `software` and `joiners` {group, member_id}."""
    exchange, connection = Window.partitionBy(*CONNECTION, "ticket"), Window.partitionBy(*CONNECTION)
    asks = F.col("kind") == "request"
    asked = F.first(F.when(asks, F.struct("group", "member_id")), ignorenulls=True).over(exchange)
    answer = F.first(F.when(F.col("kind") == "reply", F.struct("error", "member_id")), ignorenulls=True).over(exchange)
    known = read.withColumns({"asked": asked, "answer": answer}).withColumns(
        {
            "group": F.coalesce("group", "asked.group"),
            "member_id": F.coalesce("member_id", "asked.member_id", F.when(asks, F.col("answer.member_id"))),
            "accepted": F.col("answer.error").isNull(),
        }
    )
    joiner = F.when((F.col("event") == JOIN) & F.col("group").isNotNull() & F.col("member_id").isNotNull(), F.struct("group", "member_id"))
    return known.withColumns({"software": software().over(connection), "joiners": F.collect_set(joiner).over(connection)})


def _of_groups(paired: DataFrame) -> DataFrame:
    """The events with their group. The end of a connection is one of every member that joined by it."""
    whose = F.when(F.col("event") == CLOSED, F.col("joiners")).otherwise(F.array(F.struct("group", "member_id")))
    library = {name: F.when(F.col("event") == JOIN, column) for name, column in identified(F.col("client_id")).items()}
    found = paired.where(F.col("event").isNotNull()).select(
        "day", "run", F.inline(whose), "line", "at", "last_at", "event", "connection", "accepted", "generation", *OF_ROWS, *OF_MESSAGES,
        *(column.alias(name) for name, column in library.items()),
    )  # fmt: skip
    return found.where(F.col("group").isNotNull())


def numbered(frame: DataFrame) -> DataFrame:
    """See `events`."""
    past = Window.partitionBy(*GROUP).orderBy("line").rowsBetween(Window.unboundedPreceding, -1)
    moved = F.col("event") == MOVED

    def latest(what: Column) -> Column:
        return F.last(what, ignorenulls=True).over(past)

    seen = frame.withColumns(
        {
            "_before": latest(F.when(moved, F.struct("line", "at", "after", "members", "generation"))),
            "protocol": latest(F.when(moved, F.col("protocol_name"))),
            "_steered": latest(F.when(F.col("event") == COMMAND, F.struct("line", "at", "name"))),
            "_join": latest(F.when((F.col("event") == JOIN) & F.col("accepted"), F.struct(*OF_JOINER))),
        }
    )
    was, now = F.coalesce(F.col("_before.after").isin(*UNDER_WAY), F.lit(False)), F.col("after").isin(*UNDER_WAY)
    at_once = moved & ~was & _at_once()
    steered = (F.col("_steered.at") == F.col("at")) & (F.col("_steered.line") > F.coalesce("_before.line", F.lit(0)))
    marked = seen.withColumns(
        {
            "under_way": was,
            "begins": (moved & now & ~was) | at_once,
            "ends": (moved & ~now & was) | at_once,
            "generation_was": F.col("_before.generation"),
            "dealt": _dealt(),
            "spent_ns": F.when(moved & was, F.greatest(F.col("at") - F.col("_before.at"), F.lit(0))),
            "backwards": F.coalesce(moved & was & (F.col("at") < F.col("_before.at")), F.lit(False)),
            "members_before": F.coalesce("_before.members", F.when(F.col("before").isin("", EMPTY), F.lit(0)).cast("bigint")),
            "state_before": F.col("_before.after"),
            "command": F.when(moved & steered, F.col("_steered.name")),
            "last_join": F.when(moved & (F.col("after") == COMPLETING), F.col("_join")),
        }
    )
    ended = F.coalesce(F.count_if("ends").over(past), F.lit(0))
    cycle = ended + F.when((F.col("event") == SYNCED) & ~(F.col("beat") & F.col("under_way")), 0).otherwise(1)
    return marked.withColumn("cycle", cycle).drop("_before", "_steered", "_join")


def _at_once() -> Column:
    """Did a consumer group go from rest to rest by a new epoch?"""
    rests = F.col("before").isin(*AT_REST) & F.col("after").isin(*AT_REST)
    by_itself = F.coalesce(F.col("cause") != BEHIND_THEIR_BACKS, F.lit(True))
    return F.coalesce(rests & by_itself & (F.col("generation") > F.col("_before.generation")), F.lit(False))


def _dealt() -> Column:
    """What an answer to a heartbeat gives to its member and asks back, against what it may have by the answer before. Whoever joins again,
    is away, fenced or gone has nothing."""
    past = Window.partitionBy(*GROUP, "member_id").orderBy("line").rowsBetween(Window.unboundedPreceding, -1)
    answer, nothing = F.col("beat") & (F.col("event") == SYNCED), F.array().cast(wire.HELD)
    without = (F.col("beat") & (F.col("event") == JOIN)) | ((F.col("event") == MEMBER) & F.col("what").isin(*GONE))
    had = F.coalesce(F.last(F.when(answer, F.col("held")).when(without, nothing), ignorenulls=True).over(past), nothing)
    given, revoked = F.array_except("held", had).alias("given"), F.size(F.array_except(had, "held")).cast("bigint").alias("revoked")
    return F.when(answer, F.struct("line", "member_id", given, revoked))


def library_label() -> Column:
    """`kafka-python 3.0.12` of a `join`."""
    return F.when((F.col("event") == JOIN) & F.col("accepted"), label())
