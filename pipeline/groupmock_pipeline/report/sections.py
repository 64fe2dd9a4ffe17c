"""The content of the report for each table. A new job's table is one more section here."""

from __future__ import annotations

from typing import Final

from ..campaign.scenario_sizes import SIZES
from .shapes import Grid, Listing, Section, Spread, Totals, Value, same
from .share_section import SHARES

ALL, BY_PROTOCOL, UNOWNED_BY_TRIGGER, WORST_RUNS = "All of them", "By protocol", "Time without an owner, by trigger", "The worst runs"
BY_CLIENT, RULES, BROKEN_RULES, UNKNOWN_RULES = "By client", "By rule", "Broken rules", "Unknown"
"""The titles of the tables of which the first screen is made."""
S: Final = "s"
_TOOK: Final = "(ended_at - started_at) / 1e9"
DURATION: Final = Value(
    "duration",
    # The duration is left out if the journal's end cut the rebalance short, because its length is unknown.
    f'if(ended = "journal\'s end", null, {_TOOK})',
    S,
    (_TOOK,),
)
MOVED: Final = Value("partitions moved", "sum(moved_processes)", "", ("sum(moved)",))
UNOWNED: Final = Value("unowned", "sum(unowned_ns) / 1e9", "partition-s")
RUN_COUNT: Final = Value("runs", "count(distinct run)")
LATER: Final = "trigger != 'first join'"
"""Tells a rebalance of a group that had members from a group's first join."""
CLIENT: Final = same("library", "version")
WHEN: Final = "from_unixtime({} div 1000000000, 'yyyy-MM-dd HH:mm:ss')"

RUNS: Final = Section(
    "runs",
    "Runs",
    "What was ingested: one line per journal file. A line of a journal is its header, a row, blank, a duplicate, or in quarantine.",
    (
        Totals(
            "Everything",
            (),
            (
                Value("files", "count(*)"),
                RUN_COUNT,
                Value("lines", "sum(lines)"),
                Value("rows", "sum(rows)"),
                Value("quarantined", "sum(quarantined)"),
                Value("duplicates", "sum(duplicates)"),
                Value("not ended", "count_if(not ended)"),
                Value("first, UTC", WHEN.format("min(first_at)")),
                Value("last, UTC", WHEN.format("max(last_at)")),
            ),
        ),
        Totals(
            "By day and product",
            same("day", "product", "profile"),
            (Value("files", "count(*)"), Value("rows", "sum(rows)"), Value("quarantined", "sum(quarantined)")),
        ),
        Listing(
            "Files with a problem",
            (
                *same("file", "run", "problem", "quarantined"),
                Value("clock went back", "backwards"),
                Value("rows missing", "gaps"),
                Value("ended", "ended"),
                Value("same as", "duplicate_of"),
            ),
            ("quarantined", "backwards", "gaps"),
            where="problem is not null or quarantined > 0 or backwards > 0 or gaps > 0 or not ended",
        ),
    ),
)

QUARANTINE: Final = Section(
    "quarantine",
    "Quarantine",
    "Lines that are no row of a journal, and why. Nothing is dropped.",
    (
        Totals(
            "By reason", (Value("reason", "reason"),), (Value("lines", "count(*)"), Value("files", "count(distinct file)")), bars="lines"
        ),
        Listing("Lines", (*same("file", "line", "reason"), Value("text", "left(text, 120)")), ("file", "line"), limit=10),
    ),
    none="Nothing: every line of these journals is a row.",
)

REBALANCES: Final = Section(
    "rebalances",
    "Rebalances",
    "A rebalance is what a group goes through from leaving Stable or Empty until it is Stable, Empty or Dead again.",
    (
        Totals(
            ALL,
            (),
            (
                Value("first joins", f"count_if(not ({LATER}))"),
                Value("rebalances", f"count_if({LATER})"),
                Value("groups", "count(distinct run, group)"),
                RUN_COUNT,
                MOVED,
                UNOWNED,
            ),
        ),
        Totals(
            "First joins",
            same("protocol", "design"),
            (
                Value("first joins", "count(*)"),
                Value("members, most", "max(members_after)"),
                Value("partitions, most", "max(partitions)"),
                Value("duration, median", f"percentile_approx({DURATION.sql}, 0.5)", S),
            ),
            "A group that comes into being is not disturbed, so the tables below leave these out.",
            where=f"not ({LATER})",
        ),
        Totals(
            BY_PROTOCOL,
            same("protocol", "design"),
            (
                Value("rebalances", "count(*)"),
                Value("groups", "count(distinct run, group)"),
                RUN_COUNT,
                Value("rounds, median", "percentile_approx(rounds, 0.5)"),
                Value("rounds, most", "max(rounds)"),
                MOVED,
                UNOWNED,
            ),
            where=LATER,
        ),
        Totals(
            WORST_RUNS,
            (Value("run", "run"),),
            (UNOWNED, MOVED, Value("rebalances", "count(*)"), Value("groups", "count(distinct group)")),
            "Those with the most time without an owner.",
            where=LATER,
            limit=5,
        ),
        Spread("Duration by trigger", (Value("trigger", "trigger"),), DURATION, where=LATER, of="rebalances"),
        Spread("Duration by protocol", same("protocol", "design"), DURATION, where=LATER, of="rebalances"),
        Spread(
            UNOWNED_BY_TRIGGER,
            (Value("trigger", "trigger"),),
            Value("unowned", "unowned_ns / 1e9", "partition-s"),
            "Partition-seconds of a rebalance: from the loss of each partition until somebody had it.",
            where=LATER,
            of="rebalances",
        ),
        Totals(
            "Partitions moved by trigger",
            (Value("trigger", "trigger"),),
            (MOVED, Value("rebalances", "count(*)"), UNOWNED),
            where=LATER,
            bars="partitions moved",
        ),
        Totals(
            "Who was the last to join",
            (Value("library", "last_library"), Value("version", "last_version")),
            (
                Value("times", "count(*)"),
                Value("after, median", "percentile_approx(last_after_ns, 0.5) / 1e9", S),
                Value("after, longest", "max(last_after_ns) / 1e9", S),
            ),
            where=f"last_member_id is not null and {LATER}",
            bars="after, longest",
        ),
        Listing(
            "The longest",
            (
                *same("run", "group"),
                Value("begun, UTC", WHEN.format("started_at")),
                DURATION,
                *same("trigger", "rounds"),
                Value("moved", "moved_processes", "", ("moved",)),
                Value("last to join", "last_member_id"),
            ),
            ("ended_at - started_at",),
            where=LATER,
            limit=10,
        ),
    ),
    none="No rebalances in these runs.",
)

_SESSION: Final = Value("session timeout", "min(session_timeout_min_ms) / 1e3", S)


def _gaps(title: str, which: str) -> Spread:
    """Return the part of the report about one quantile of the gaps between heartbeats: p50, p99 or max. A line of the table is a run's
    group and client."""
    return Spread(title, CLIENT, Value(title.lower(), f"gap_{which}_ns / 1e9", S), mark=(_SESSION,), of="groups")


HEARTBEATS: Final = Section(
    "heartbeats",
    "Heartbeats",
    "Gaps between signs of life of a member, against the session timeout that it asked for: a longer one ends its session.",
    (
        Totals(
            BY_CLIENT,
            CLIENT,
            (
                Value("heartbeats", "sum(heartbeats)"),
                Value("members", "sum(members)"),
                Value("groups", "count(distinct run, group)"),
                _SESSION,
                Value("longest gap, of the session", "100 * max(share_max)", "%"),
                Value("gaps over a third of it", "sum(over_third)"),
                Value("over two thirds", "sum(over_two_thirds)"),
                Value("over all of it", "sum(over_session)"),
                Value("sessions expired", "sum(expiries)"),
            ),
        ),
        _gaps("Median gap", "p50"),
        _gaps("99th percentile of gaps", "p99"),
        _gaps("Longest gap", "max"),
    ),
)

FAULTS: Final = Section(
    "faults",
    "Faults",
    "Blast radius: what followed a fault, until the groups it was about were Stable again with all their members.",
    (
        Totals(
            "By rule",
            (Value("rule", "coalesce(rule, '(by hand)')", other=("rule",)), Value("what it does", "kind", other=("action",))),
            (
                Value("strikes", "count(*)"),
                Value("groups disturbed", "sum(groups_disturbed)"),
                Value("rebalances", "sum(rebalances)"),
                Value("expelled", "sum(expelled)"),
                Value("replies lost", "sum(replies_lost)"),
                Value("connections closed", "sum(connections_closed)"),
                Value("errors elsewhere", "sum(errors_elsewhere)"),
                Value("not seen stable again", "count_if(until_stable_ns is null)"),
            ),
            bars="strikes",
        ),
        Spread(
            "Until stable again",
            (Value("rule", "coalesce(rule, kind)", other=("rule",)),),
            Value("until stable", "until_stable_ns / 1e9", S),
            of="strikes",
        ),
        Totals(
            "Not seen stable again, because",
            (Value("because", "never_because"),),
            (Value("strikes", "count(*)"),),
            where="until_stable_ns is null",
        ),
    ),
    none="No faults: none struck in these runs.",
)

DRIFT: Final = Section(
    "drift",
    "Drift",
    "Which measure of which client moved between two windows of runs. delta is Cliff's: 0 no effect, 1 all after are above all before.",
    (
        Listing(
            "What moved",
            (
                Value("measure", "measure"),
                *CLIENT,
                *same("worse", "median_before", "median_after", "unit", "ratio", "delta", "q", "runs_before", "runs_after"),
                Value(
                    "evidence",
                    "array_join(transform(evidence, e -> concat(e.run, ' ', e.group)), ', ')",
                    other=("to_json(evidence)", "evidence"),
                ),
            ),
            ("abs(delta)",),
            where="verdict = 'moved'",
            limit=40,
        ),
        Totals("Verdicts", same("verdict", "reason"), (Value("measures", "count(*)"),), bars="measures"),
    ),
)

AUDIT: Final = Section(
    "audit",
    "Audit",
    "Clients judged by what they sent: a rule per line, over all groups of all runs (groupmock explain RULE says what it asks).",
    (
        Totals(
            RULES,
            same("rule", "severity"),
            (
                Value("broken", "sum(broken)"),
                Value("kept", "sum(kept)"),
                Value("runs that broke it", "count(distinct if(broken > 0, run, null))"),
                RUN_COUNT,
            ),
            where="rule is not null and verdict <> 'not exercised'",
            limit=100,
        ),
        Listing(
            BROKEN_RULES,
            (*same("rule", "severity", "run", "group", "broken"), Value("the first", "get(findings, 0).sentence")),
            ("broken",),
            where="verdict = 'broken'",
            limit=40,
        ),
        Totals(UNKNOWN_RULES, same("rule", "reason"), (RUN_COUNT,), where="verdict = 'unknown'"),
    ),
)

RULE_DRIFT: Final = Section(
    "rule_drift",
    "Drift of rules",
    "Which rule each library broke, or kept again, in the runs after and not in those before; version *: all versions of it.",
    (
        Listing(
            "What changed",
            (
                Value("rule", "rule"),
                *CLIENT,
                *same("change", "verdict_before", "verdict_after", "broken_runs_before", "runs_before", "broken_runs_after", "runs_after"),
                Value("the first", "get(evidence, 0).sentence"),
            ),
            ("broken_runs_after",),
            where="change in ('broke', 'mended', 'unknown')",
            limit=40,
        ),
        Totals("Changes", (Value("change", "change"),), (Value("rules of clients", "count(*)"),), bars="rules of clients"),
    ),
)

COMPARE: Final = Section(
    "compare",
    "Compare",
    "Two sets of runs side by side, aligned by scenario: ours and theirs.",
    (
        Totals(
            "Verdicts",
            (Value("verdict", "verdict"),),
            (Value("measures", "count(*)"), Value("scenarios", "count(distinct scenario)")),
            bars="measures",
        ),
        Listing(
            "What differs, and what only one side has",
            (
                *same("scenario", "measure", "verdict"),
                Value("median, ours", "median_ours"),
                Value("median, theirs", "median_theirs"),
                *same("unit", "ratio", "delta", "p"),
                Value("runs, ours", "runs_ours"),
                Value("runs, theirs", "runs_theirs"),
                Value("reason", "reason"),
            ),
            ("abs(delta)",),
            where="verdict not in ('agree', 'nothing measured')",
            limit=40,
        ),
        Listing(
            "Everything",
            (
                *same("scenario", "measure", "verdict"),
                Value("median, ours", "median_ours"),
                Value("median, theirs", "median_theirs"),
                Value("unit", "unit"),
                Value("runs, ours", "runs_ours"),
                Value("runs, theirs", "runs_theirs"),
            ),
            (),
            limit=60,
        ),
    ),
)

_TITLED: Final = ("members", "partitions")
_PER: Final = same(*_TITLED, *(name for name in SIZES if name not in _TITLED), "product")
_DESIGN: Final = Value("protocol", "concat(protocol, ' ', client)")
_SCENARIO: Final = Value("scenario", "scenario")
_READING: Final = "Median over the seeds; in brackets the 99th percentile where it differs."


def _grid(title: str, figure: str, unit: str, about: str) -> Grid:
    median, high = Value(f"{title.lower()}, median", f"{figure}_median", unit), Value("99th percentile", f"{figure}_p99", unit)
    return Grid(title, _PER, _SCENARIO, _DESIGN, median, (high,), f"{about} {_READING}", titled=len(_TITLED))


CHARACTERISTICS: Final = Section(
    "characteristics",
    "Characteristics",
    "What each scenario costs with each protocol, over many seeds on the virtual clock (docs/proof/scenarios.md says what is measured).",
    (
        Totals(
            "What was played",
            same("product", "members", "partitions"),
            (
                Value("rebalances", "sum(rebalances)"),
                Value("plays", "sum(plays)"),
                Value("failed", "sum(failed)"),
                Value("with a broken invariant", "sum(broken)"),
                Value("records lost, most in a play", "max(lost_max)"),
            ),
        ),
        _grid("Without an owner", "unowned_s", "partition-s", "Read from the answers to SyncGroup."),
        _grid("Partitions moved", "moved", "", "To another process than before."),
        _grid("Rounds", "rounds", "", "Generations that told somebody something new."),
        _grid("Time to converge", "converge_s", S, "From each step to the last member's hearing of the last round, summed."),
    ),
)

CAMPAIGN: Final = Section(
    "campaign",
    "Campaign",
    "Single plays of a campaign that did not go as they should.",
    (
        Listing(
            "Plays that failed",
            (Value("scenario", "scenario"), Value("protocol", "concat(protocol, '/', client)"), *same("members", "seed", "trouble")),
            (),
            where="trouble is not null",
        ),
        Listing(
            "Plays that broke an invariant",
            (
                Value("scenario", "scenario"),
                Value("protocol", "concat(protocol, '/', client)"),
                *same("members", "seed"),
                Value("broken", "array_join(broken, '; ')"),
            ),
            (),
            where="size(broken) > 0",
        ),
    ),
)

SECTIONS: Final = (RUNS, QUARANTINE, REBALANCES, HEARTBEATS, SHARES, FAULTS, AUDIT, DRIFT, RULE_DRIFT, COMPARE, CHARACTERISTICS, CAMPAIGN)
"""The sections in the order of the page."""
