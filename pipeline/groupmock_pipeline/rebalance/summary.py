"""Aggregate the events of a rebalance into one line: times, trigger, phases and members."""

from __future__ import annotations

from typing import Final

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from groupmock_codec.group_states import ASSIGNING, COMPLETING_REBALANCE, PREPARING_REBALANCE, RECONCILING

from .events import JOIN, JOINED, MEMBER, MOVED, OF_CLASSIC, OF_JOINER, SYNCED, TOLD
from .ownership import change

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
"""Maps the cause of the state change that begins a rebalance (docs/reference/journal.md#causes) to its trigger."""
WHO: Final = r"^(?:static member|member|leader) .*? (joined|rejoined with other protocols|rejoined|came back as|(?:and \d+ more )?left)\b"
"""Matches the coordinator's sentence about one member, for journals without causes. A reason given by the client (KIP-800) may follow."""
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


def trigger() -> str:
    """Return SQL of the trigger, from the `cause` of a rebalance's first state change. A steering command makes it `forced`, whatever
    the cause."""
    from_empty = "before in ('', 'Empty')"
    by_cause = " ".join(f"when cause = '{said}' then '{name}'" for said, name in BY_CAUSE.items())
    return f"""case when command = 'force_rebalance' then 'forced' when after = '{COMPLETING_REBALANCE}' then 'journal''s begin'
        when cause = 'member_joined' and {from_empty} then 'first join' {by_cause} when cause is not null then 'other'
        else {_by_sentence(from_empty)} end"""


def _by_sentence(from_empty: str) -> str:
    """Return SQL of the trigger for journals without causes."""
    word = f"regexp_extract(reason, r'{WHO}', 1)"
    classes = " ".join(f"when {word} = '{said}' then '{name}'" for _, said, name in CLASSES)
    sentences = " ".join(f"when reason rlike r'{pattern}' then '{name}'" for pattern, name in SENTENCES)
    return f"""case when {word} = 'joined' and {from_empty} then 'first join' {classes} when endswith({word}, 'left') then 'leave'
        {sentences} else 'other' end"""


def lines(events: DataFrame) -> DataFrame:
    """Return run, group, rebalance, and the rebalance's own columns. A line without `started_at` is no rebalance: it has the events after
    the last one, or before the first.

    Later steps need `classic`, `told`, `told_line`, `named_line` (at which members are named), `arrivals`, `round_claims`, `dealt`,
    `changes` (ownership.change), `heard` (some member got an assignment) and `last_at`.
    """
    found = events.groupBy("run", "group", "cycle").agg(*map(F.expr, _aggregates()))
    stable = "(closing.after = 'Stable')"
    late = "if(classic, joined_last, case when closing is not null then arrived_last end)"
    return found.selectExpr(
        "run", "`group`", "cycle as rebalance", "day", "first.generation_before", "last.generation as generation_after",
        "first.at as started_at", "coalesce(closing.at, last_at) as ended_at",
        "if(closing is not null, lower(closing.after), 'journal''s end') as ended",
        "first.cause", "first.before", "first.after", "first.reason", "first.command", "first.members_before",
        "last.members as members_after", "added", "removed", "joins", "classic",
        "if(classic, phases, last.generation - first.generation_before) as phases",
        f"preparing_ns + {_rest(PREPARING_REBALANCE, ASSIGNING)} as preparing_ns",
        f"completing_ns + {_rest(COMPLETING_REBALANCE, RECONCILING)} as completing_ns",
        "backwards",
        "case when joined_last is not null then last.leader end as leader", "last.protocol_type",
        "case when last.after != 'Empty' then protocol_name end as protocol",
        f"{late}.member_id as last_member_id", f"{late}.client_id as last_client_id", f"{late}.library as last_library",
        f"{late}.version as last_version", f"{late}.at - first.at as last_after_ns",
        "libraries", "last_at",
        f"case when {stable} and bringing.generation = last.generation and last.protocol_type = 'consumer' then bringing.told end as told",
        "bringing.line as told_line", "coalesce(closing.line, bringing.line) as named_line", "arrivals",
        f"case when {stable} then claiming.round_claims end as round_claims", "dealt", "changes", "heard",
    ).selectExpr("* except (cause, before, after)", f"{trigger()} as trigger")  # fmt: skip


def _rest(*states: str) -> str:
    """Return SQL of the time from the journal's last state change to its end, if the group was then in one of these states."""
    return f"case when closing is null and last.after in {states} then greatest(last_at - last.at, 0L) else 0 end"


def _aggregates() -> list[str]:
    during = f"event = '{MOVED}' and (begins or under_way)"
    was = f"coalesce(case when after != '{COMPLETING_REBALANCE}' then generation_was end, generation - 1)"
    before = f"case when after = '{PREPARING_REBALANCE}' then generation else {was} end as generation_before"
    first = f"struct(line, at, {before}, cause, before, after, reason, command, members_before)"
    state = "struct(line, at, after, generation, leader, members, protocol_type)"
    gone = "what in ('removed', 'refused') and client_id is not null"
    return [
        "max(day) as day",
        "max(last_at) as last_at",
        f"min(case when begins then {first} end) as first",
        f"max(case when {during} then {state} end) as last",
        f"max(case when ends then {state} end) as closing",
        f"max_by(protocol_name, case when {during} and after != '{PREPARING_REBALANCE}' then line end) as protocol_name",
        f"max(case when {during} then last_join end) as joined_last",
        f"max(case when event = '{MEMBER}' and what = 'reconciled' then struct({', '.join(OF_JOINER)}) end) as arrived_last",
        f"max({during} and after in {OF_CLASSIC}) as classic",
        f"count_if({during} and after = '{PREPARING_REBALANCE}') as phases",
        f"count_if(event = '{MEMBER}' and what = 'added') as added",
        f"count_if(event = '{MEMBER}' and {gone}) as removed",
        f"count_if(event = '{JOIN}' and accepted) as joins",
        f"{_spent(PREPARING_REBALANCE, ASSIGNING)} as preparing_ns",
        f"{_spent(COMPLETING_REBALANCE, RECONCILING)} as completing_ns",
        "max(backwards) as backwards",
        f"sort_array(collect_set(case when event = '{JOIN}' and accepted then concat_ws(' ', library, version) end)) as libraries",
        f"max(case when event = '{TOLD}' then struct(line, generation, told) end) as bringing",
        f"max(case when event = '{JOINED}' then struct(line, generation, round_claims) end) as claiming",
        "collect_list(dealt) as dealt",
        "flatten(collect_list(arrivals)) as arrivals",
        f"collect_list({change()}) as changes",
        f"max(event = '{SYNCED}') as heard",
    ]


def _spent(*states: str) -> str:
    return f"coalesce(sum(case when state_before in {states} then spent_ns end), 0L)"
