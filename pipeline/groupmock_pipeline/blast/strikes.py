"""What a fault did to groups: who was struck, and what followed until each group was Stable again with all its members.

`told` is what is looked at of the rows of runs with faults: few and narrow. A *strike* is a `fault` row that is not the end of a wait, or a
steering command that breaks something. A *story* is one group's life in one run: its moves and its members' comings and goings in order,
an array of points, so that everything about a strike is looked up in it without a second shuffle (a story has as many points as the group
had moves and member rows: thousands at most). Reasons are read by the words of `groupmock.core.groups.causes`.
"""

from __future__ import annotations

from typing import Final

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

BREAKING: Final = (
    "complete_delay", "expire_member", "fence_instance", "force_rebalance", "freeze_member", "hold_group", "jump_timer", "lag_replica",
    "load_coordinator", "move_coordinator", "move_coordinators", "move_leader", "move_leaders", "order_joins", "set_generation",
    "stall_node", "step_clock", "stop_node", "unload_coordinator",
)  # fmt: skip
"""Steering commands that break or delay something. The rest repairs, chooses or creates."""
MENDING: Final = (
    "add_node", "append", "catch_up_replica", "choose_leader", "commit_offsets", "compact_topic", "configure_node", "configure_topic",
    "create_topic", "delete_topic", "grow_topic", "produce", "release_group", "reseed", "reset_offsets", "retain_topic", "set_next_offset",
    "start_node", "thaw_member",
)  # fmt: skip
ENDS: Final = ("over", "released")
"""Actions of fault rows that end a wait (groupmock.net.fault_gate)."""
COULD_NOT: Final = "a fault could not steer"
"""`what` of the note that a fault's command was refused."""
GROUP_APIS: Final = (8, 9, 10, 11, 12, 13, 14, 15, 42, 47)
"""APIs whose requests name a group."""
JOIN: Final = 11
STABLE: Final = "Stable"
PREPARING: Final = "PreparingRebalance"
GONE: Final = ("Empty", "Dead", "")
EXPELLED: Final = (
    ("session_expired", "member_silent", "sync_overdue"),
    "^(session of .* expired |member .* did not join again: |member .* sent no SyncGroup within )",
)
"""Causes of a member's row (docs/reference/journal.md), and the sentences of journals that are older than the words; so the next two."""
LEFT: Final = (("member_left", "instance_removed"), "^member .* (left|was removed by its instance id)(:|$)")
RESERVED: Final = (("reservation_left", "reservation_expired"), "^the reserved id")
SESSION_MS: Final = 45_000
"""Kafka's default, where a journal has no JoinGroup of a group."""
GRACE_NS: Final = 1_000_000_000
"""How much later than at its deadline a session may end on a busy machine."""
NS_PER_MS: Final = 1_000_000
PLACE: Final = ("day", "run", "seq")
"""What names a strike."""


def json(column: Column | str, *paths: str) -> Column:
    """The first of these paths of a JSON text that has something."""
    return F.coalesce(*[F.get_json_object(column, path) for path in paths])


def told(rows: DataFrame) -> DataFrame:
    """Of runs that somebody broke: requests that name a group, answers with errors or lost, and whatever happened to groups.

    A line has the row's own columns and, read from its message, `asked` (the group that a request names), `asker` (the member id),
    `session_ms` (of a JoinGroup), `codes` (every error code of an answer: journals of older versions do not name those inside it).
    """
    broken = rows.where(_strikes()).select("run").distinct()
    kind = F.col("kind")
    request = (kind == "request") & F.col("api_key").isin(*GROUP_APIS)
    inside = (kind == "reply") & F.col("message").rlike('"error_code": ?-?[1-9]')
    answer = (kind == "abandoned") | ((kind == "reply") & (F.col("error").isNotNull() | ~F.col("delivered"))) | inside
    note = (kind == "note") & (F.col("what") == COULD_NOT)
    others = kind.isin("fault", "command", "moved", "member", "close")
    member = json("message", "$.member_id", "$.members[0].member_id")
    codes = F.array_distinct(F.regexp_extract_all("message", F.lit('"error_code": ?(-?[1-9][0-9]*)'), F.lit(1)))
    return rows.where(others | request | answer | note).join(broken, "run", "left_semi").select(
        *(*PLACE, "kind", "at", "node", "connection", "ticket", "api_key", "api_name", "client_id", "stage", "action", "fields"),
        *("name", "arguments", "error", "delivered", "group", "member_id", "what", "cause", "reason", "after", "members", "generation"),
        "group_instance_id", F.when(note, json("fields", "$.rule")).otherwise(F.col("rule")).alias("rule"),
        F.when(request, group_named("message")).alias("asked"), F.when(request & (member != ""), member).alias("asker"),
        F.when(request & (F.col("api_key") == JOIN), json("message", "$.session_timeout_ms").cast("long")).alias("session_ms"),
        F.when(inside, codes).alias("codes"),
    )  # fmt: skip


def group_named(message: Column | str) -> Column:
    """The group (the first one) that a request names."""
    places = ("$.group_id", "$.groups[0].group_id", "$.groups[0]", "$.groups_names[0]", "$.coordinator_keys[0]", "$.key")
    return json(message, *places)


def _strikes() -> Column:
    fault = (F.col("kind") == "fault") & ~F.col("action").isin(*ENDS)
    return fault | ((F.col("kind") == "command") & F.col("name").isin(*BREAKING))


# -- strikes -----------------------------------------------------------------------------------------------------------


def strikes(told: DataFrame) -> DataFrame:
    """One line per strike, with the group, member and API that it is about."""
    kept = told.where(F.col("kind").isin("fault", "command", "note"))
    whole = kept.withColumns({"echo": _echo(), "let_go_at": _let_go(), "refused": _refused()})
    struck = whole.where(_strikes() & ~F.col("echo"))
    requests = told.where(F.col("kind") == "request")
    asked = requests.select("run", "ticket", "asked", "asker", F.col("api_name").alias("api"), F.col("client_id").alias("client"))
    return _about(struck.drop("asked", "asker", "client_id").join(asked, ["run", "ticket"], "left"))


def _echo() -> Column:
    """A steering fault's own command follows its row in the same nanosecond: one strike, not two."""
    before = Window.partitionBy("run").orderBy("seq").rowsBetween(Window.unboundedPreceding, -1)
    last = F.last(F.when((F.col("kind") == "fault") & _strikes(), F.struct("action", "at")), ignorenulls=True).over(before)
    echo = (F.col("kind") == "command") & (last["action"] == F.col("name")) & (last["at"] == F.col("at"))
    return F.coalesce(echo, F.lit(False))


def _let_go() -> Column:
    """When the wait that a rule caused for a request was over; null: it caused none, or it never was."""
    ends = (F.col("kind") == "fault") & F.col("action").isin(*ENDS)
    return F.max(F.when(ends, F.col("at"))).over(Window.partitionBy("run", "rule", "ticket"))


def _refused() -> Column:
    """Why the core refused the command of a steering fault."""
    note = F.when(F.col("kind") == "note", json("fields", "$.reason"))
    return F.max(note).over(Window.partitionBy("run", "rule", "at"))


def _about(struck: DataFrame) -> DataFrame:
    is_fault = F.col("kind") == "fault"
    return struck.select(
        *PLACE, "at", F.when(is_fault, "rule").otherwise("command").alias("source"), "rule",
        F.coalesce("action", "name").alias("kind"), F.coalesce("stage", F.lit("command")).alias("stage"),
        F.when(is_fault, F.col("node")).otherwise(json("arguments", "$.node").cast("long")).alias("node"), "connection", "ticket",
        F.coalesce("asked", json("arguments", "$.group", "$.subject[0]")).alias("group"),
        F.coalesce("asker", json("arguments", "$.member", "$.instance", "$.subject[1]")).alias("member"), "client", "api",
        F.when(is_fault, F.col("fields")).otherwise(F.col("arguments")).alias("details"),
        F.when(is_fault, F.coalesce(json("fields", "$.called_off"), "refused")).alias("called_off"),
        F.when(is_fault, F.greatest("at", "let_go_at")).otherwise(F.col("at")).alias("let_go_at"),
    )  # fmt: skip


# -- stories -----------------------------------------------------------------------------------------------------------


def stories(told: DataFrame) -> DataFrame:
    """Per run and group: `story`, its points in order, and `session_ns`, the longest session timeout of its members.

    A point: seq, at, state and generation after it, `live` members after it, `left` (how many left on their own by then), `moved` (a move,
    no member's row), `why`, `expelled` and `added` (whom: instance id, else client id; else null).
    """
    happened = told.where(F.col("kind").isin("moved", "member") | F.col("session_ms").isNotNull())
    points = _points(happened.withColumn("group", F.coalesce("group", "asked")).where(F.col("group").isNotNull()))
    fields = ("seq", "at", "state", "generation", "live", "left", "moved", "why", "expelled", "added")
    point = F.when(F.col("session_ms").isNull(), F.struct(*fields))
    session = F.coalesce(F.max("session_ms"), F.lit(SESSION_MS)) * NS_PER_MS
    return points.groupBy("run", "group").agg(F.sort_array(F.collect_list(point)).alias("story"), session.alias("session_ns"))


def _because(said: tuple[tuple[str, ...], str]) -> Column:
    causes, sentences = said
    return F.coalesce(F.col("cause").isin(*causes), F.col("reason").rlike(sentences))


def _points(told: DataFrame) -> DataFrame:
    """A move says how many members there are; between two moves they are counted by the members' rows."""
    order = Window.partitionBy("run", "group").orderBy("seq")
    moved = F.col("kind") == "moved"
    gone = (F.col("what") == "removed") & ~_because(RESERVED)
    step = F.when(moved, F.coalesce("members", F.lit(0))).when(F.col("what") == "added", 1).when(gone, -1).otherwise(0)
    expelled = _because(EXPELLED)
    who = F.coalesce("group_instance_id", "client_id", "member_id")
    marked = told.withColumn("block", F.count(F.when(moved, 1)).over(order))
    block = Window.partitionBy("run", "group", "block").orderBy("seq")
    return marked.select(
        "run", "group", "seq", "at", moved.alias("moved"), F.col("reason").alias("why"), "session_ms",
        F.last("after", ignorenulls=True).over(order).alias("state"),
        F.coalesce(F.last("generation", ignorenulls=True).over(order), F.lit(0)).alias("generation"),
        F.sum(step).over(block).alias("live"),
        F.coalesce(F.sum(F.when(gone & _because(LEFT) & ~expelled, 1)).over(order), F.lit(0)).alias("left"),
        F.when(gone & expelled, who).alias("expelled"),
        F.when(F.col("what") == "added", who).alias("added"),
    )  # fmt: skip
