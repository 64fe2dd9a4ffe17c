"""The first screen of the report says in five sentences what its tables say, and nothing that they do not have."""

from __future__ import annotations

from typing import Any

import pytest

from groupmock_pipeline.report.first_screen import Link, Sentence, first_step, sentences, worst_runs
from groupmock_pipeline.report.page import page
from groupmock_pipeline.report.sections import (
    ALL,
    AUDIT,
    BROKEN_RULES,
    BY_CLIENT,
    BY_PROTOCOL,
    HEARTBEATS,
    REBALANCES,
    RULES,
    UNKNOWN_RULES,
    UNOWNED_BY_TRIGGER,
    WORST_RUNS,
)
from groupmock_pipeline.report.shapes import ColumnHead, Excerpt, Section, Shown

PROTOCOLS = ("protocol", "design", "rebalances", "groups", "partitions moved", "unowned")
TRIGGERS = ("trigger", "rebalances", "median")
CLIENTS = ("library", "version", "longest gap, of the session", "sessions expired")
OF_RULES = ("rule", "severity", "broken", "kept", "runs that broke it")
RUNS = ("run", "unowned", "partitions moved", "rebalances")


def table(title: str, heads: tuple[str, ...], *rows: tuple[Any, ...]) -> Excerpt:
    return Excerpt(title, "", [ColumnHead(head) for head in heads], list(rows), [])


def told(section: Section, *answers: Excerpt, timelines: dict[str, str] | None = None) -> dict[str, Sentence]:
    """Return the sentences of a lake that has these answers about one table, and no other table."""
    shown = [Shown(each, list(answers)) if each is section else Shown(each, missing=True) for each in (REBALANCES, HEARTBEATS, AUDIT)]
    return dict(zip(("moves", "expiries", "gaps", "rules", "worst"), sentences(shown, timelines or {}), strict=True))


def text(sentence: Sentence) -> str:
    return "".join(part.text if isinstance(part, Link) else part for part in sentence.parts)


@pytest.mark.parametrize(
    ("rows", "said", "advice"),
    [
        ([], "No group of this corpus rebalanced after its first join, so no partition moved.", "Nothing to do."),
        (
            [("range", "eager", 37, 5, 117, 20.0), ("coop-d2", "design-2", 12, 2, 3, 90.0), ("coop-d2-literal", "design-2", 1, 1, 0, 1.0)],
            "range moved 117 partitions in 37 rebalances, Design II 3 in 13.",
            "Nothing to do: Design II moves less, but a rebalance leaves 7 partition-seconds without an owner instead of 0.5.",
        ),
        (
            [
                ("a", "eager", 1, 1, 9, 20.0),
                ("b", "kip-429", 1, 1, 5, 1.0),
                ("c", "kip-429", 1, 1, 4, 1.0),
                ("d", "other", 1, 1, None, None),
            ],
            "a moved 9 partitions in 1 rebalance, c 4 in 1 (1 other protocol between).",
            "To do: try c in the only group of a.",
        ),
        (
            [("range", "eager", 2, 1, 6, 1.0), ("sticky", "eager", 2, 1, 5, 1.0)],
            "range moved 6 partitions in 2 rebalances, sticky 5 in 2.",
            "Nothing to do: the protocols differ by less than a factor of two.",
        ),
        (
            [("range", "eager", 1, 1, 1, 1.0)],
            "range moved 1 partition in 1 rebalance; no other protocol is in this corpus.",
            "To do: try a second protocol to compare.",
        ),
        ([("range", "eager", 1, 1, 0, 1.0)], "No partition moved in 1 rebalance.", "Nothing to do."),
        (
            [("range", "eager", 4, 1, None, None)],
            "How many partitions moved is unknown: these journals do not have the assignments.",
            "To do: write journals to files, which have them.",
        ),
    ],
)
def test_first_sentence_compares_the_moves_of_protocols(rows: list[tuple[Any, ...]], said: str, advice: str) -> None:
    sentence = told(REBALANCES, table(BY_PROTOCOL, PROTOCOLS, *rows))["moves"]
    assert (text(sentence), sentence.advice) == (said, advice)


@pytest.mark.parametrize(
    ("rows", "said", "advice"),
    [
        ([("leave", 9, 1.0)], "No rebalance of this corpus began with a session expiry.", "Nothing to do."),
        (
            [("session expiry", 10, 13.04), ("leave", 9, 0.94)],
            "A session expiry costs 13 partition-seconds without an owner in the median of 10.",
            "To do: close consumers on SIGTERM. A LeaveGroup costs 0.9.",
        ),
        (
            [("session expiry", 1, 1.0), ("leave", 9, 25.0)],
            "The only session expiry cost 1 partition-second without an owner.",
            "To do: lower session.timeout.ms, or the time for which a protocol waits for a lost member.",
        ),
    ],
)
def test_second_sentence_has_the_price_of_a_session_expiry(rows: list[tuple[Any, ...]], said: str, advice: str) -> None:
    sentence = told(REBALANCES, table(UNOWNED_BY_TRIGGER, TRIGGERS, *rows))["expiries"]
    assert (text(sentence), sentence.advice) == (said, advice)


@pytest.mark.parametrize(
    ("rows", "said", "advice"),
    [
        (
            [("librdkafka", "2.16.0", None, 0)],
            "How close clients came to their session timeout is unknown: no heartbeat of a classic member is in this corpus.",
            "",
        ),
        (
            [("librdkafka", "2.16.0", 34.0, 1), ("unknown", None, 98.0, 0)],
            "The longest gap between heartbeats was 98 % of the session timeout, by a client of unknown library; 1 session expired.",
            "To do: raise session.timeout.ms, or lower heartbeat.interval.ms.",
        ),
        (
            [("librdkafka", "2.16.0", 34.0, 0)],
            "The longest gap between heartbeats was 34 % of the session timeout, by librdkafka 2.16.0; no session expired.",
            "Nothing to do.",
        ),
        (
            [("librdkafka", None, 134.0, 2)],
            "The longest gap between heartbeats was 134 % of the session timeout, by librdkafka; 2 sessions expired.",
            "To do: find what stopped these processes, or raise session.timeout.ms.",
        ),
    ],
)
def test_third_sentence_has_the_longest_gap_between_heartbeats(rows: list[tuple[Any, ...]], said: str, advice: str) -> None:
    sentence = told(HEARTBEATS, table(BY_CLIENT, CLIENTS, *rows))["gaps"]
    assert (text(sentence), sentence.advice) == (said, advice)


@pytest.mark.parametrize(
    ("rows", "unknown", "said", "advice"),
    [
        ([], [], "No rule of the audit was exercised in this corpus.", "Nothing to do."),
        ([("CLIENT-01", "error", 0, 3, 0)], [], "Clients kept the only rule that they met.", "Nothing to do."),
        (
            [("CLIENT-01", "error", 0, 3, 0), ("CLIENT-02", "error", 0, 3, 0)],
            [("CLIENT-03", "a gap"), ("CLIENT-03", "another"), (None, "no end")],
            "Clients kept all 2 rules that they met. The verdict about 1 rule is unknown.",
            "Nothing to do.",
        ),
        (
            [("CLIENT-44", "warning", 90, 1, 29), ("CLIENT-11", "error", 1, 9, 1), ("CLIENT-12", "error", 2, 9, 2), ("C", "error", 1, 0, 1),
             ("CLIENT-05", "error", 0, 9, 0)],
            [],
            ("Clients broke 4 of 5 rules: CLIENT-12 in 2 runs (Heartbeats begin after a successful JoinGroup, carry its generation and "
            "stop after LeaveGroup), C in 1 run, CLIENT-11 in 1 run and 1 more."),
            "To do: `groupmock explain CLIENT-12` says how to mend it.",
        ),
    ],
)  # fmt: skip
def test_fourth_sentence_names_broken_rules(rows: list[tuple[Any, ...]], unknown: list[tuple[Any, ...]], said: str, advice: str) -> None:
    answers = [table(RULES, OF_RULES, *rows), table(BROKEN_RULES, ("rule",)), table(UNKNOWN_RULES, ("rule", "reason"), *unknown)]
    sentence = told(AUDIT, *answers)["rules"]
    assert (text(sentence), sentence.advice) == (said, advice)


@pytest.mark.parametrize(
    ("whole", "rows", "said", "lines"),
    [
        ((0, 0, None), [], "Which runs are the worst is unknown: no group of this corpus rebalanced.", []),
        ((3, 2, None), [], "Which runs are the worst is unknown: these journals do not have the assignments.", []),
        ((3, 1, 0.0), [("r", 0.0, 0, 3)], "No partition lost its owner in 1 run.", []),
        ((3, 1, 7.0), [("r", 7.0, 0, 1)], "The only run has 7 of 7 partition-seconds without an owner.",
         ["r: 7 partition-seconds, 0 moved in 1 rebalance"]),
        (
            (9, 30, 60.0),
            [("a_seed_1-17-ab", 50.0, None, 3), ("a_seed_2-17-ab", 1.0, 2, 1), ("c", 0.0, 0, 3)],
            "The worst 2 of 30 runs have 51 of 60 partition-seconds without an owner.",
            ["a_seed_1: 50 partition-seconds, moves unknown in 3 rebalances", "a_seed_2: 1 partition-second, 2 moved in 1 rebalance"],
        ),
        (
            (9, 2, 60.0),
            [("a-17-ab", 50.0, 1, 3), ("a-18-ab", 10.0, 2, 1)],
            "The 2 runs have 60 of 60 partition-seconds without an owner.",
            ["a-17-ab: 50 partition-seconds, 1 moved in 3 rebalances", "a-18-ab: 10 partition-seconds, 2 moved in 1 rebalance"],
        ),
    ],
)  # fmt: skip
def test_fifth_sentence_lists_the_worst_runs(whole: tuple[Any, ...], rows: list[tuple[Any, ...]], said: str, lines: list[str]) -> None:
    answers = table(ALL, ("rebalances", "runs", "unowned"), whole), table(WORST_RUNS, RUNS, *rows)
    sentence = told(REBALANCES, *answers)["worst"]
    assert (text(sentence), [text(Sentence(line, "")) for line in sentence.lines]) == (said, lines)
    assert len(worst_runs(Shown(REBALANCES, list(answers)))) == (len(lines))


def test_sentences_link_to_their_tables_and_runs_to_their_timelines() -> None:
    runs = table(WORST_RUNS, RUNS, ("<r>-17-ab", 5.0, 1, 3), ("s", 4.0, 1, 3))
    whole = table(ALL, ("rebalances", "runs", "unowned"), (6, 2, 9.0))
    protocols = table(BY_PROTOCOL, PROTOCOLS, ("<b>", "eager", 2, 1, 6, 9.0))
    shown = [Shown(REBALANCES, [whole, protocols, runs]), Shown(HEARTBEATS, trouble="<i>"), Shown(AUDIT, missing=True)]
    found = page("t", "a", shown, sentences(shown, {"<r>-17-ab": "timeline-1.html"}))
    for anchor in ("rebalances-table-1", "rebalances-table-2"):
        assert f'href="#{anchor}"' in found and f'id="{anchor}"' in found
    assert '<a href="timeline-1.html">&lt;r&gt;</a>: 5 partition-seconds' in found
    assert "<li>s: 4 partition-seconds" in found
    assert "&lt;b&gt; moved 6 partitions</a> in 2 rebalances" in found
    assert "is unknown: table heartbeats cannot be read: &lt;i&gt;." in found
    assert "this lake has no table audit (<code>groupmock pipeline audit LAKE LAKE</code> makes it)." in found


def test_first_step_is_the_worst_run_or_else_the_first_advice() -> None:
    nothing, advice = Sentence(("No partition moved.",), "Nothing to do."), Sentence(("range moved.",), "To do: try design-2.")
    worst = Sentence(("The worst run.",), "To do: open the first timeline.", (("run-1", ": 5 partition-seconds"),))
    assert first_step([nothing, nothing]) == ("Nothing to do.",)
    assert first_step([nothing, advice]) == ("First step: try design-2.",)
    assert "".join(map(str, first_step([advice, worst]))) == (
        "First step: see what happened in the worst run, run-1: 5 partition-seconds."
    )


def test_every_sentence_is_there_without_any_table() -> None:
    shown = [Shown(each, missing=True) for each in (REBALANCES, HEARTBEATS, AUDIT)]
    found = sentences(shown, {})
    assert len(found) == 5
    assert all("is unknown: this lake has no table" in text(each) for each in found)
