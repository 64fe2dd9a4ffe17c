"""One line per rebalance out of its events: when, why, how long in which state, who."""

from __future__ import annotations

from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from .events import (
    ASSIGNING,
    COMPLETING,
    JOIN,
    JOINED,
    MEMBER,
    MOVED,
    OF_CLASSIC,
    OF_JOINER,
    PREPARING,
    RECONCILING,
    SYNCED,
    TOLD,
    UNDER_WAY,
    library_label,
)
from .ownership import change

KEY: Final = ("run", "group", "rebalance")

BY_CAUSE: Final = {
    "member_joined": "join",
    "member_changed": "metadata change",
    "leader_rejoined": "leader rejoin",
    "instance_returned": "static replacement",
    "instance_taken_over": "static replacement",
    "member_left": "leave",
    "instance_removed": "leave",
    "session_expired": "session expiry",
    "member_fenced": "fenced",
    "revocation_overdue": "revocation timeout",
    "instance_away": "static member away",
    "topics_changed": "topics changed",
    "regex_resolved": "topics changed",
    "sync_overdue": "sync timeout",
    "forced": "forced",
    "assignment_too_large": "assignment too large",
    "group_too_large": "group too large",
}
"""The word of the move that begins a rebalance (docs/reference/journal.md#causes) -> the class."""
WHO: Final = r"^(?:static member|member|leader) .*? (joined|rejoined with other protocols|rejoined|came back as|(?:and \d+ more )?left)\b"
"""The coordinator's sentence about one member, for journals older than the words; a reason that the client gave (KIP-800) follows."""
CLASSES: Final = (
    (WHO, "joined", "join"),
    (WHO, "rejoined with other protocols", "metadata change"),
    (WHO, "rejoined", "leader rejoin"),
    (WHO, "came back as", "static replacement"),
)
SENTENCES: Final = (
    (r"^session of .* expired ", "session expiry"),
    (r"sent no SyncGroup within|still owed a SyncGroup", "sync timeout"),
    (r"^instance .* was taken over", "static replacement"),
    (r"^the assignment of leader .* is too large", "assignment too large"),
    (r"^the loaded group is larger than", "group too large"),
)
TRIGGERS: Final = (
    "first join", "join", "leave", "session expiry", "metadata change", "leader rejoin", "static replacement", "sync timeout", "forced",
    "assignment too large", "group too large", "fenced", "revocation timeout", "static member away", "topics changed", "journal's begin",
    "other",
)  # fmt: skip
REJOINS: Final = ("metadata change", "leader rejoin")


def trigger() -> Column:
    """The class of the first `moved` row of a rebalance, by its `cause`. `forced`: a command said so, whatever its words."""
    cause, from_empty = F.col("cause"), F.col("before").isin("", "Empty")
    found = F.when(F.col("command") == "force_rebalance", "forced").when(F.col("after") == COMPLETING, "journal's begin")
    found = found.when((cause == "member_joined") & from_empty, "first join")
    for said, name in BY_CAUSE.items():
        found = found.when(cause == said, name)
    return found.when(cause.isNotNull(), "other").otherwise(_by_sentence(from_empty))


def _by_sentence(from_empty: Column) -> Column:
    """The same for journals that are older than the words."""
    word = F.regexp_extract("reason", WHO, 1)
    found = F.when((word == "joined") & from_empty, "first join")
    for _, said, name in CLASSES:
        found = found.when(word == said, name)
    found = found.when(word.endswith("left"), "leave")
    for pattern, name in SENTENCES:
        found = found.when(F.col("reason").rlike(pattern), name)
    return found.otherwise("other")


def lines(events: DataFrame) -> DataFrame:
    """KEY and the rebalances' own columns. A line without `started_at` is none: it has what came after the last end, or before the first.

    For later parts: `classic`, `told`, `told_line`, `round_claims` and `dealt`, `changes` (ownership.change), `heard` (somebody got an
    assignment), `last_at`.
    """
    found = events.groupBy("run", "group", F.col("cycle").alias("rebalance")).agg(*_aggregates())
    closed, last = F.col("closing").isNotNull(), F.col("last")
    rest = F.greatest(F.col("last_at") - last["at"], F.lit(0))
    still = {state: F.when(~closed & (last["after"] == state), rest).otherwise(0) for state in UNDER_WAY}
    stable = closed & (F.col("closing.after") == "Stable")
    late = F.when(F.col("classic"), F.col("joined_last")).otherwise(F.when(closed, F.col("arrived_last")))
    matches = stable & (F.col("bringing.generation") == last["generation"]) & (last["protocol_type"] == "consumer")
    return found.select(
        *KEY, "day", "first.generation_before", last["generation"].alias("generation_after"),
        F.col("first.at").alias("started_at"), F.coalesce("closing.at", "last_at").alias("ended_at"),
        F.when(closed, F.lower("closing.after")).otherwise("journal's end").alias("ended"),
        "first.cause", "first.before", "first.after", "first.reason", "first.command", "first.members_before",
        last["members"].alias("members_after"), "added", "removed", "joins", "classic",
        F.when(F.col("classic"), F.col("phases")).otherwise(last["generation"] - F.col("first.generation_before")).alias("phases"),
        (F.col("preparing_ns") + still[PREPARING] + still[ASSIGNING]).alias("preparing_ns"),
        (F.col("completing_ns") + still[COMPLETING] + still[RECONCILING]).alias("completing_ns"),
        "backwards",
        F.when(F.col("joined_last").isNotNull(), last["leader"]).alias("leader"),
        last["protocol_type"].alias("protocol_type"), F.when(last["after"] != "Empty", F.col("protocol_name")).alias("protocol"),
        late["member_id"].alias("last_member_id"), late["client_id"].alias("last_client_id"), late["library"].alias("last_library"),
        late["version"].alias("last_version"), (late["at"] - F.col("first.at")).alias("last_after_ns"),
        "libraries", "last_at",
        F.when(matches, F.col("bringing.told")).alias("told"), F.col("bringing.line").alias("told_line"),
        F.when(stable, F.col("claiming.round_claims")).alias("round_claims"), "dealt", "changes", "heard",
    ).withColumn("trigger", trigger()).drop("cause", "before", "after")  # fmt: skip


def _aggregates() -> list[Column]:
    moved, member = F.col("event") == MOVED, F.col("event") == MEMBER
    during = moved & (F.col("begins") | F.col("under_way"))
    was = F.when(F.col("after") != COMPLETING, F.col("generation_was"))
    before = F.when(F.col("after") == PREPARING, F.col("generation")).otherwise(F.coalesce(was, F.col("generation") - 1))
    first = F.struct("line", "at", before.alias("generation_before"), "cause", "before", "after", "reason", "command", "members_before")
    state = F.struct("line", "at", "after", "generation", "leader", "members", "protocol_type")
    spent = {state: F.coalesce(F.sum(F.when(F.col("state_before") == state, F.col("spent_ns"))), F.lit(0)) for state in UNDER_WAY}
    return [
        F.max("day").alias("day"),
        F.max("last_at").alias("last_at"),
        F.min(F.when(F.col("begins"), first)).alias("first"),
        F.max(F.when(during, state)).alias("last"),
        F.max(F.when(F.col("ends"), state)).alias("closing"),
        F.max_by("protocol_name", F.when(during & (F.col("after") != PREPARING), F.col("line"))).alias("protocol_name"),
        F.max(F.when(during, F.col("last_join"))).alias("joined_last"),
        F.max(F.when(member & (F.col("what") == "reconciled"), F.struct(*OF_JOINER))).alias("arrived_last"),
        F.max(during & F.col("after").isin(*OF_CLASSIC)).alias("classic"),
        F.count_if(during & (F.col("after") == PREPARING)).alias("phases"),
        F.count_if(member & (F.col("what") == "added")).alias("added"),
        F.count_if(member & F.col("what").isin("removed", "refused") & F.col("client_id").isNotNull()).alias("removed"),
        F.count_if((F.col("event") == JOIN) & F.col("accepted")).alias("joins"),
        (spent[PREPARING] + spent[ASSIGNING]).alias("preparing_ns"),
        (spent[COMPLETING] + spent[RECONCILING]).alias("completing_ns"),
        F.max("backwards").alias("backwards"),
        F.sort_array(F.collect_set(library_label())).alias("libraries"),
        F.max(F.when(F.col("event") == TOLD, F.struct("line", "generation", "told"))).alias("bringing"),
        F.max(F.when(F.col("event") == JOINED, F.struct("line", "generation", "round_claims"))).alias("claiming"),
        F.collect_list("dealt").alias("dealt"),
        F.collect_list(change()).alias("changes"),
        F.max(F.col("event") == SYNCED).alias("heard"),
    ]
