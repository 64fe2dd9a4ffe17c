"""Find the injected faults of a run and the events of each group, so that `after` can say what followed each fault.

A *strike* is a `fault` row that does not end a wait, or a steering command that breaks something. A *story* is the life of one group in one
run: an ordered array of points, one for each state change and each member that comes or goes (thousands at most). `relevant_rows` selects
the few rows and columns of runs with faults that matter. `lives` collects all of a run in one line by a single shuffle, so that a run's
rows are read once however many strikes look at them. Reasons are matched by the sentences of `groupmock.core.groups.causes`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from groupmock_codec import api_keys, error_codes
from groupmock_codec.group_states import DEAD, EMPTY, PREPARING_REBALANCE
from groupmock_codec.units import NS_PER_MS

from ..rebalance.events import BEHIND_THEIR_BACKS, OF_CLASSIC

if TYPE_CHECKING:
    from pyspark.sql.window import WindowSpec

BREAKING: Final = (
    "abort_transaction", "archive_records", "complete_delay", "deny", "elect_unclean_leader", "expire_locks", "expire_member",
    "expire_transactional_id", "fence_instance", "fence_member", "fence_transaction", "force_rebalance", "freeze_member",
    "hold_deliveries", "hold_group", "hold_markers", "jump_timer", "lag_replica", "load_coordinator", "move_coordinator",
    "move_coordinators", "move_leader", "move_leaders", "move_transaction_coordinator", "order_joins", "release_records",
    "remove_acls", "remove_user", "set_generation", "stall_node", "step_clock", "stop_node", "truncate_log", "unload_coordinator",
)  # fmt: skip
"""Steering commands that break or delay something. All other commands repair, choose or create something."""
MENDING: Final = (
    "add_node", "allow", "append", "catch_up_replica", "choose_leader", "commit_offsets", "compact_topic", "configure_group",
    "configure_node", "configure_topic", "create_topic", "delete_topic", "grow_topic", "produce", "release_group", "release_markers",
    "reseed", "reset_offsets", "resume_deliveries", "retain_topic", "set_next_offset", "set_user", "start_node", "thaw_member",
)  # fmt: skip
ENDS: Final = ("over", "released")
"""Actions of fault rows that end a wait (groupmock.net.fault_gate)."""
COULD_NOT: Final = "a fault could not steer"
"""The field `what` of the note row that is written when the command of a fault was refused."""
GROUP_APIS: Final = (
    api_keys.OFFSET_COMMIT, api_keys.OFFSET_FETCH, api_keys.FIND_COORDINATOR, api_keys.JOIN_GROUP, api_keys.HEARTBEAT, api_keys.LEAVE_GROUP,
    api_keys.SYNC_GROUP, api_keys.DESCRIBE_GROUPS, api_keys.DELETE_GROUPS, api_keys.OFFSET_DELETE,
    api_keys.CONSUMER_GROUP_HEARTBEAT, api_keys.STREAMS_GROUP_HEARTBEAT,
)  # fmt: skip
"""APIs whose requests name a group."""
GONE: Final = (EMPTY, DEAD, "")
EXPELLED: Final = (
    ("session_expired", "member_silent", "sync_overdue", "revocation_overdue"),
    "^(session of .* expired |member .* did not join again: |member .* sent no SyncGroup within )",
)
"""The causes for which the coordinator removes a member by itself (docs/reference/journal.md), and a pattern of the sentences that older
journals have instead of causes. LEFT and RESERVED have the same form."""
LEFT: Final = (("member_left", "instance_removed"), "^member .* (left|was removed by its instance id)(:|$)")
RESERVED: Final = (("reservation_left", "reservation_expired"), "^the reserved id")
SESSION_MS: Final = 45_000
"""Kafka's default session timeout, for a group without a JoinGroup in the journal."""
GRACE_NS: Final = 1_000_000_000
"""Allowance for a session that expires late on a busy machine."""
WHOLE: Final = (Window.unboundedPreceding, Window.unboundedFollowing)
PLACE: Final = ("day", "run", "seq")
"""The columns that identify an injected fault."""
ASKS: Final = (
    "group_id string, groups array<string>, groups_names array<string>, coordinator_keys array<string>, key string, member_id string, "
    "members array<struct<member_id: string>>, session_timeout_ms string"
)
"""The fields of requests that name groups and members. An entry of `groups` is a name, or an object with a `group_id` as JSON text."""
ORDERS: Final = "node string, group string, subject array<string>, member string, instance string"
"""The fields of commands that name nodes, groups and members."""
NAMES: Final = ",".join(f"{code}:{name}" for code, name in error_codes.NAMES.items())
"""Kafka's names of error codes in the format of `str_to_map`, as one literal, which keeps Spark's plan short."""


def strike_rows(rows: DataFrame) -> DataFrame:
    """Select the rows of injected faults, and the commands that steering faults cause."""
    return rows.where(_strikes())


def relevant_rows(rows: DataFrame) -> DataFrame:
    """Select rows of runs with an injected fault: requests that name a group, answers that are errors or were lost, and everything that
    happened to groups.

    Each line has the row's own columns and, parsed from its message, `asked` (the group that a request names), `asker` (the member id),
    `session_ms` (of a JoinGroup) and `codes` (every error code in a reply; older journals do not list nested ones).
    """
    kind = F.col("kind")
    request = (kind == "request") & F.col("api_key").isin(*GROUP_APIS)
    inside = F.col("message").rlike('"error_code": ?-?[1-9]')
    answer = (kind == "abandoned") | ((kind == "reply") & (F.col("error").isNotNull() | ~F.col("delivered") | inside))
    note = (kind == "note") & (F.col("what") == COULD_NOT)
    others = kind.isin("fault", "command", "moved", "member", "close")
    codes = F.array_distinct(F.regexp_extract_all("message", F.lit('"error_code": ?(-?[1-9][0-9]*)'), F.lit(1)))
    read = of_struck_runs(rows.where(others | request | answer | note), rows).select(
        *(*PLACE, "kind", "at", "node", "connection", "ticket", "api_key", "api_name", "client_id", "stage", "action", "fields"),
        *("name", "arguments", "error", "delivered", "group", "member_id", "what", "cause", "reason", "before", "after", "members"),
        *("generation", "group_instance_id", "rule"), F.when(kind == "request", F.from_json("message", ASKS)).alias("asks"),
        F.when(kind == "reply", codes).alias("codes"),
    )  # fmt: skip
    join = F.when(F.col("api_key") == api_keys.JOIN_GROUP, F.col("asks.session_timeout_ms").cast("long"))
    member = F.coalesce("asks.member_id", F.get("asks.members", F.lit(0))["member_id"])
    group = F.get("asks.groups", F.lit(0))
    named = (F.get(f"asks.{name}", F.lit(0)) for name in ("groups_names", "coordinator_keys"))
    asked = F.coalesce("asks.group_id", F.get_json_object(group, "$.group_id"), group, *named, "asks.key")
    new = {"asked": asked, "asker": F.nullif(member, F.lit("")), "session_ms": join}
    return read.withColumns(new).drop("asks")


def of_struck_runs(some: DataFrame, rows: DataFrame) -> DataFrame:
    """Keep only the rows of runs that have an injected fault. The run names are broadcast, because few runs have one."""
    return some.join(F.broadcast(strike_rows(rows).select("run").distinct()), "run", "left_semi")


def _strikes() -> Column:
    """Return the condition that matches the rows of injected faults. The names are split in two lists because Parquet uses its
    dictionaries only for `IN` lists of up to ten values."""
    fault = (F.col("kind") == "fault") & ~F.col("action").isin(*ENDS)
    breaking = F.col("name").isin(*BREAKING[:10]) | F.col("name").isin(*BREAKING[10:])
    return fault | ((F.col("kind") == "command") & breaking)


def lives(rows: DataFrame) -> DataFrame:
    """Return one line per run with its injected faults (`strikes`), the events of its groups (`stories`) and what else happened
    (`happenings`), as unordered arrays.

    A story has `group`, `story` (points in order) and `session_ns` (the longest session timeout of its members). A point has seq, at, the
    state and generation after it, `live` (members after it), `left` (members that left on their own so far), `moved` (true for a state
    change, false for a member row), `begins` (a rebalance, see `_begins`), `why`, and `expelled` and `added` (instance id, else client id,
    else null).
    """
    known = _points(_struck(_called(rows.repartition("run"))))
    point = F.struct("seq", "at", "state", "generation", "live", "left", "moved", "begins", "why", "expelled", "added")
    session = F.coalesce(F.max("session_ms"), F.lit(SESSION_MS)) * NS_PER_MS
    groups = known.groupBy("day", "run", "home").agg(
        F.sort_array(F.collect_list(F.when(F.col("home").isNotNull() & F.col("session_ms").isNull(), point))).alias("story"),
        session.alias("session_ns"), F.collect_list("strike").alias("strikes"), F.collect_list("happening").alias("happenings"),
    )  # fmt: skip
    story = F.when(F.size("story") > 0, F.struct(F.col("home").alias("group"), "story", "session_ns"))
    return groups.groupBy("day", "run").agg(
        F.collect_list(story).alias("stories"), *(F.flatten(F.collect_list(name)).alias(name) for name in ("strikes", "happenings"))
    )


def _called(rows: DataFrame) -> DataFrame:
    """Add to each row `call` (the request that the row's ticket names) and `first` (the first request of its connection).

    Requests are dropped afterwards, except JoinGroups whose session timeout differs from the connection's previous one.
    """
    request = F.col("kind") == "request"
    call = F.when(request, F.struct("asked", "asker", F.col("api_name").alias("api"), F.col("client_id").alias("client")))
    session = F.struct("asked", "session_ms")
    order = Window.partitionBy("run", "connection").orderBy("seq")
    known = rows.withColumns(
        {
            "call": F.max(call).over(Window.partitionBy("run", "ticket")),
            "first": F.min(F.when(request, F.struct("seq", "asked"))).over(order.rowsBetween(*WHOLE)),
            "last": F.last(F.when(F.col("session_ms").isNotNull(), session), ignorenulls=True).over(order.rowsBetween(WHOLE[0], -1)),
        }
    )
    return known.where(~request | (F.col("session_ms").isNotNull() & ~F.col("last").eqNullSafe(session))).drop("last")


def _struck(called: DataFrame) -> DataFrame:
    """Add `strike` to the rows of injected faults, with the group, member and API concerned. Add `happening` to rows that tell of an
    error, a lost answer or the end of a connection."""
    fields = F.from_json("fields", "called_off string, rule string, reason string")
    kept = F.col("kind").isin("fault", "note")
    read = called.withColumns(
        {"said": F.when(kept, fields), "orders": F.when(F.col("kind") == "command", F.from_json("arguments", ORDERS))}
    ).withColumn("rule", F.coalesce("rule", "said.rule"))
    whole = read.withColumns({"echo": _echo(), "let_go_at": _let_go(), "refused": _refused()})
    return whole.withColumns({"strike": F.when(_strikes() & ~F.col("echo"), _about()), "happening": _happening()})


def _echo() -> Column:
    """Match the command that a steering fault gives, which follows the fault's own row in the same nanosecond. Fault and command count
    as one strike."""
    before = Window.partitionBy("run").orderBy("seq").rowsBetween(Window.unboundedPreceding, -1)
    last = F.last(F.when((F.col("kind") == "fault") & _strikes(), F.struct("action", "at")), ignorenulls=True).over(before)
    echo = (F.col("kind") == "command") & (last["action"] == F.col("name")) & (last["at"] == F.col("at"))
    return F.coalesce(echo, F.lit(False))


def _let_go() -> Column:
    """Return when the wait that a rule imposed on a request ended, or null if the rule imposed none or the wait never ended."""
    ends = (F.col("kind") == "fault") & F.col("action").isin(*ENDS)
    return F.max(F.when(ends, F.col("at"))).over(Window.partitionBy("run", "rule", "ticket"))


def _refused() -> Column:
    """Return why the core refused the command of a steering fault."""
    note = F.when(F.col("kind") == "note", F.col("said.reason"))
    return F.max(note).over(Window.partitionBy("run", "rule", "at"))


def _about() -> Column:
    is_fault = F.col("kind") == "fault"
    subject = [F.get("orders.subject", F.lit(place)) for place in (0, 1)]
    return F.struct(
        "seq", "at", F.when(is_fault, "rule").otherwise("command").alias("source"), "rule",
        F.coalesce("action", "name").alias("kind"), F.coalesce("stage", F.lit("command")).alias("stage"),
        F.when(is_fault, F.col("node")).otherwise(F.col("orders.node").cast("long")).alias("node"), "connection", "ticket",
        F.coalesce("call.asked", "orders.group", subject[0]).alias("group"),
        F.coalesce("call.asker", "orders.member", "orders.instance", subject[1]).alias("member"), "call.client", "call.api",
        F.when(is_fault, F.col("fields")).otherwise(F.col("arguments")).alias("details"),
        F.when(is_fault, F.coalesce("said.called_off", "refused")).alias("called_off"),
        F.when(is_fault, F.greatest("at", "let_go_at")).otherwise(F.col("at")).alias("let_go_at"),
    )  # fmt: skip


def _happening() -> Column:
    """Return the distinct errors in an answer by Kafka's names, whether the answer was lost or never made, and whether a connection
    closed."""
    closed = F.col("kind") == "close"
    inside = F.transform("codes", lambda code: F.coalesce(F.try_element_at(F.str_to_map(F.lit(NAMES)), code), code))
    names = F.when(F.size("codes") > 0, inside).when(F.col("error").isNotNull(), F.array("error")).otherwise(F.array())
    lost = (F.col("kind") == "abandoned") | ((F.col("kind") == "reply") & ~F.col("delivered"))
    happening = F.struct(
        "seq", "at", "connection", F.when(~closed, F.col("ticket")).alias("ticket"), closed.alias("closed"), lost.alias("lost"),
        F.when(closed, F.col("first.asked")).otherwise(F.col("call.asked")).alias("group"), names.alias("errors"),
    )  # fmt: skip
    return F.when(F.col("kind").isin("reply", "abandoned", "close"), happening)


def _because(said: tuple[tuple[str, ...], str]) -> Column:
    causes, sentences = said
    return F.coalesce(F.col("cause").isin(*causes), F.col("reason").rlike(sentences))


def _begins(order: WindowSpec) -> Column:
    """Tell whether a state change begins or restarts a rebalance: in a classic group by collecting JoinGroups, in a consumer group by a
    new epoch (docs/reference/pipeline/rebalances.md, `phases`)."""
    of_consumers = ~F.col("before").isin(*OF_CLASSIC) & ~F.col("after").isin(*OF_CLASSIC)
    before = F.last(F.when(F.col("kind") == "moved", F.col("generation")), ignorenulls=True).over(order.rowsBetween(WHOLE[0], -1))
    new_epoch = of_consumers & (F.col("generation") > before) & F.coalesce(F.col("cause") != BEHIND_THEIR_BACKS, F.lit(True))
    return F.coalesce((F.col("kind") == "moved") & ((F.col("after") == PREPARING_REBALANCE) | new_epoch), F.lit(False))


def _points(rows: DataFrame) -> DataFrame:
    """Compute the fields of the events (`points`) in the story of a group. `home` is the group of the story, or null if the row belongs to
    no story.

    A state change says how many members there are; between two of them the member rows are counted.
    """
    home = F.when(F.col("kind").isin("moved", "member"), F.col("group")).when(F.col("session_ms").isNotNull(), F.col("asked"))
    order = Window.partitionBy("run", "home").orderBy("seq")
    moved = F.col("kind") == "moved"
    gone = (F.col("what") == "removed") & ~_because(RESERVED)
    step = F.when(moved, F.coalesce("members", F.lit(0))).when(F.col("what") == "added", 1).when(gone, -1).otherwise(0)
    expelled = _because(EXPELLED)
    who = F.coalesce("group_instance_id", "client_id", "member_id")
    marked = rows.withColumn("home", home).withColumn("block", F.count(F.when(moved, 1)).over(order))
    block = Window.partitionBy("run", "home", "block").orderBy("seq")
    return marked.select(
        "day", "run", "home", "seq", "at", moved.alias("moved"), _begins(order).alias("begins"), F.col("reason").alias("why"),
        "session_ms", "strike", "happening",
        F.last("after", ignorenulls=True).over(order).alias("state"),
        F.coalesce(F.last("generation", ignorenulls=True).over(order), F.lit(0)).alias("generation"),
        F.sum(step).over(block).alias("live"),
        F.coalesce(F.sum(F.when(gone & _because(LEFT) & ~expelled, 1)).over(order), F.lit(0)).alias("left"),
        F.when(gone & expelled, who).alias("expelled"),
        F.when(F.col("what") == "added", who).alias("added"),
    )  # fmt: skip
