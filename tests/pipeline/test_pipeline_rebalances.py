"""The job `rebalances` agrees with a computation in plain Python and with `groupmock scenario`, for scenarios, corner cases and
recordings."""

from __future__ import annotations

import json
import re
from base64 import b64decode
from dataclasses import asdict
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from consumer_wire import handed_over, in_trouble
from journal_frames import Row, frame, read
from random_groups import restarts
from rebalance_corners import CORNERS, expected
from rebalance_reader import Reader
from recorded_journals import RECORDED, recorded
from rig_journal import never
from streams_wire import worked

from groupmock.audit.inside import subscription
from groupmock.core.groups.causes import CAUSES
from groupmock.journal.file import FileSink
from groupmock.rounds import ownership_maps, rebalance_model
from groupmock_clients.scenarios.measure import measure
from groupmock_clients.scenarios.play import Sizes
from groupmock_clients.scenarios.results import jobs, play_one

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

VIRTUAL = [
    ("death-in-time", "range/scripted"),
    ("death-in-time", "cooperative-sticky/scripted"),
    ("death-too-late", "design-2/scripted"),
    ("scale-up", "design-3/scripted"),
    ("rolling-bounce", "design-1/scripted"),
    ("rolling-bounce", "design-2/scripted"),
    ("rolling-bounce", "kip-848/scripted"),
    ("scale-up", "kip-848/scripted"),
    ("death-in-time", "kip-1071/scripted"),
    ("rolling-bounce", "kip-1071/scripted"),
    ("scale-up", "streams-classic/scripted"),
]
OWN_NAMES = {
    "own eager": ("death-in-time range/scripted", '"range"', '"own"'),
    "own cooperative": ("death-in-time cooperative-sticky/scripted", '"cooperative-sticky"', '"own"'),
}
"""Journals in which the assignor has a name of its own: name -> the journal, the text that is replaced, and its replacement."""
ONE_NAME = "scale-up kip-848, one client id"


APART = {"shift": {"last_member_id"}}
"""Recorded journal -> columns in which the table and the Python computation differ. The recorder learns the id of a static member from
the answer to JoinGroup: the computation takes that member for the last one that joined, while the table uses the request."""
SEEDS = range(4)
CONSUMER_GROUPS = {"handed over": handed_over, "in trouble": in_trouble, "tasks": worked}


@pytest.fixture(scope="module")
def journals(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[Row]]:
    folder = tmp_path_factory.mktemp("journals")
    found = {}
    sizes = Sizes(members=3, partitions=7, rate=0.0)
    for name, protocol in VIRTUAL:
        (job,) = jobs("virtual", sizes, [name], [protocol], folder)
        play_one(job)
        assert job.file is not None
        found[f"{name} {protocol}"] = read(job.file)
    for name in RECORDED:
        found[name] = read(recorded(name, folder))
    for name, play in CONSUMER_GROUPS.items():
        found[name] = read(play(folder / f"{name}.jsonl"))
    for name, (run, before, after) in OWN_NAMES.items():
        found[name] = json.loads(json.dumps(found[run]).replace(before, after))
    found[ONE_NAME] = json.loads(re.sub(r'("client_id": )"m\d+"', r'\1"app"', json.dumps(found["scale-up kip-848/scripted"])))
    for seed in SEEDS:
        file = folder / f"namesakes-{seed}.jsonl"
        restarts(seed, sinks=[FileSink(str(file), never)])
        found[f"namesakes {seed}"] = read(file)
    return found | {name: corner().rows for name, corner in CORNERS.items()} | {"again": CORNERS["dies"]().rows}


@pytest.fixture(scope="module")
def table(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory, journals: dict[str, list[Row]]) -> dict[str, list[Row]]:
    from groupmock_pipeline.jobs.rebalances import COLUMNS, rebalances

    rows = frame(spark, tmp_path_factory.mktemp("rows"), journals)
    found = rebalances(rows.selectExpr("*", "max(at) over (partition by run) as last_at"))
    assert found.columns == list(COLUMNS)
    lines = sorted((line.asDict(recursive=True) for line in found.collect()), key=itemgetter("run", "group", "rebalance"))
    return {run: [line for line in lines if line["run"] == run] for run in journals}


@pytest.mark.parametrize(
    "run",
    [
        *(f"{name} {protocol}" for name, protocol in VIRTUAL),
        *OWN_NAMES,
        ONE_NAME,
        *RECORDED,
        *CONSUMER_GROUPS,
        *sorted(CORNERS.keys() - {"headless"}),
    ],
)
def test_every_rebalance_is_as_a_second_computation_has_it(run: str, journals: dict[str, list[Row]], table: dict[str, list[Row]]) -> None:
    second = [asdict(line) for line in Reader(journals[run]).lines]
    assert len(second) >= 2
    compared = second[0].keys() - APART.get(run, set())
    told = [{**line, "first_join": line["trigger"] == "first join"} for line in table[run]]
    assert [{name: line[name] for name in compared} for line in told] == [{name: line[name] for name in compared} for line in second]


def measured_lines(journal: list[Row], lines: list[Row]) -> list[Row]:
    """Return the lines of the rebalances that the scenario measures."""
    begin = next(row["t"] for row in journal[1:] if row["kind"] == "client" and row["what"] == "begin")
    return [line for line in lines if line["ended_at"] > journal[0]["epoch_ns"] + begin]


@pytest.mark.parametrize(("name", "protocol"), VIRTUAL)
def test_a_scenario_counts_the_same_moves_and_times_without_owner(
    name: str, protocol: str, journals: dict[str, list[Row]], table: dict[str, list[Row]]
) -> None:
    run = f"{name} {protocol}"
    measured = measure(journals[run][1:])
    later = measured_lines(journals[run], table[run])
    assert sum(line["moved_processes"] for line in later) == measured.moved
    assert sum(line["unowned_ns"] for line in later) / 1e9 == pytest.approx(measured.unowned_s)
    assert len(later) == measured.generations
    if run == "rolling-bounce design-2/scripted":
        assert measured.moved == 0


def test_moves_between_processes_of_one_client_id_are_counted(journals: dict[str, list[Row]], table: dict[str, list[Row]]) -> None:
    moved = sum(line["moved_processes"] for line in measured_lines(journals[ONE_NAME], table[ONE_NAME]))
    assert moved == measure(journals["scale-up kip-848/scripted"][1:]).moved > 0


@pytest.mark.parametrize("run", OWN_NAMES)
def test_assignor_of_an_unknown_name_has_the_design_that_the_audit_sees(
    run: str, journals: dict[str, list[Row]], table: dict[str, list[Row]]
) -> None:
    answers = [row["message"] for row in journals[run][1:] if row["kind"] == "reply" and row["api_name"] == "JoinGroup" and row["message"]]
    claims = [subscription("own", b64decode(member["metadata"])) for answer in answers for member in answer["members"]]
    assert claims and None not in claims
    cooperative = any(claim.cooperative for claim in claims if claim is not None)
    assert {line["design"] for line in table[run] if line["protocol"]} == {"cooperative" if cooperative else "eager"}
    assert cooperative == (run == "own cooperative")


@pytest.mark.parametrize("seed", SEEDS)
def test_moves_of_processes_with_one_client_id_are_those_of_the_ownership_map(
    seed: int, journals: dict[str, list[Row]], table: dict[str, list[Row]]
) -> None:
    run = f"namesakes {seed}"
    lines = [line for line in Reader(journals[run]).lines if line.moved_processes is not None]
    assert sum(line.moved_processes or 0 for line in lines) > 10
    assert [(line["group"], line["rebalance"], line["moved_processes"]) for line in table[run] if line["moved_processes"] is not None] == [
        (line.group, line.rebalance, line.moved_processes) for line in lines
    ]


@pytest.mark.parametrize("seed", SEEDS)
def test_times_without_an_owner_are_those_of_the_ownership_map(
    seed: int, journals: dict[str, list[Row]], table: dict[str, list[Row]]
) -> None:
    """The members of these histories lose connections and go on by others, which gives them their partitions back."""
    run = f"namesakes {seed}"
    lines = [line for line in table[run] if line["unowned_ns"] is not None]
    (found,) = ownership_maps(journals[run][1:]).values()
    gaps = [[gap.lasted(0, gap.until) for gap in each.gaps if gap.until is not None] for each in found.rebalances]
    assert [(line["rebalance"], line["unowned"], line["unowned_ns"]) for line in lines] == [
        (each.number, len(times), sum(times)) for each, times in zip(found.rebalances, gaps, strict=True)
    ]
    assert sum(map(sum, gaps)) > 0


def test_members_of_the_histories_go_on_by_another_connection(journals: dict[str, list[Row]]) -> None:
    for seed in SEEDS:
        joined: set[tuple[str, int]] = set()
        went_on = 0
        for row in journals[f"namesakes {seed}"][1:]:
            if row["kind"] == "request" and row["api_name"] in ("JoinGroup", "Heartbeat") and row["message"]["member_id"]:
                pair = (row["message"]["member_id"], row["connection"])
                went_on += row["api_name"] == "Heartbeat" and pair not in joined
                joined |= {pair} if row["api_name"] == "JoinGroup" else set()
        assert went_on > 0, seed


def test_a_consumer_group_has_epochs_for_generations(table: dict[str, list[Row]]) -> None:
    shown = (
        "generation_before", "generation_after", "trigger", "ended", "phases", "joins", "preparing_ns", "completing_ns", "last_member_id",
        "protocol", "design", "partitions", "moved", "revoked", "unowned",
    )  # fmt: skip
    ms = 1_000_000
    assert [tuple(line[name] for name in shown) for line in table["handed over"]] == [
        (1, 2, "first join", "stable", 1, 1, 0, 0, "A", "uniform", "kip-848", 4, 0, 0, 0),
        (2, 3, "join", "stable", 1, 1, 0, 1_200 * ms, "B", "uniform", "kip-848", 2, 2, 2, 2),
        (3, 4, "leave", "stable", 1, 0, 100 * ms, 0, "A", "uniform", "kip-848", 2, 2, 0, 2),
        (4, 7, "join", "stable", 3, 2, 1_000 * ms, 10_000 * ms, "D", "uniform", "kip-848", 2, 2, 2, 2),
    ]
    assert [line["trigger"] for line in table["in trouble"]][1:] == ["fenced", "static member away", "join", "topics changed", "join"]


@pytest.mark.parametrize("corner", CORNERS)
def test_what_seldom_happens_has_the_figures_worked_out_by_hand(corner: str, table: dict[str, list[Row]]) -> None:
    worked_out = expected()[corner]
    assert [{name: line[name] for name in wanted} for line, wanted in zip(table[corner], worked_out, strict=True)] == worked_out


def test_the_rows_are_shuffled_once_by_run_and_nothing_is_kept_or_read_again(
    spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from groupmock_pipeline.jobs.rebalances import rebalances

    rebalances(frame(spark, tmp_path, {"dies": CORNERS["dies"]().rows}).selectExpr("*", "0L as last_at")).explain()
    plan = capsys.readouterr().out
    by_run = re.findall(r"\bExchange hashpartitioning\(run#\d+, 2\)", plan)
    kept = plan.count("InMemoryTableScan")
    # Spark must shuffle only the journal rows and the Fetches.
    assert (len(by_run), plan.count("Exchange"), plan.count("Join"), kept) == (2, 2, 0, 0)


def test_two_runs_with_the_same_group_do_not_meet(table: dict[str, list[Row]]) -> None:
    assert [line | {"run": ""} for line in table["again"]] == [line | {"run": ""} for line in table["dies"]]


def test_a_cooperative_rebalance_and_what_follows_from_it_are_one_convergence(table: dict[str, list[Row]]) -> None:
    shown = ("rebalance", "trigger", "convergence", "round", "rounds", "revoked")
    assert [tuple(line[name] for name in shown) for line in table["scale-up design-3/scripted"]][:3] == [
        (1, "first join", 1, 1, 1, 0),
        (2, "join", 2, 1, 2, 1),
        (3, "metadata change", 2, 2, 2, 0),
    ]
    assert {line["design"] for line in table["scale-up design-3/scripted"]} == {"design-3"}
    assert [line["rounds"] for line in table["death-in-time range/scripted"]] == [1, 1, 1]


def test_libraries_and_who_was_last(table: dict[str, list[Row]]) -> None:
    aiokafka, kafka_python = table["aiokafka"], table["kafka-python"]
    assert {line["last_client_id"] for line in aiokafka[:-1]} <= {"anna", "ben"}
    assert kafka_python[0]["last_library"] == "kafka-python"
    assert kafka_python[0]["libraries"] == [f"kafka-python {kafka_python[0]['last_version']}"]
    assert (aiokafka[-1]["ended"], aiokafka[-1]["last_member_id"], aiokafka[-1]["trigger"]) == ("empty", None, "leave")
    assert {line["design"] for line in kafka_python[:-1]} == {"kip-429"}


def test_every_sentence_of_the_coordinator_has_its_class(spark: SparkSession) -> None:
    from pyspark.sql.functions import lit

    from groupmock_pipeline.rebalance.summary import TRIGGERS, trigger

    sentences = [
        ("Empty", "PreparingRebalance", "member a b-1 joined", None, "first join"),
        ("Stable", "PreparingRebalance", "member x joined: the pod left and rejoined", None, "join"),
        ("Stable", "PreparingRebalance", "member x left: all joined", None, "leave"),
        ("Stable", "PreparingRebalance", "static member i left", None, "leave"),
        ("Stable", "PreparingRebalance", "member x and 3 more left: scale down", None, "leave"),
        ("Stable", "PreparingRebalance", "session of x expired after 45000 ms", None, "session expiry"),
        ("Stable", "PreparingRebalance", "session of x expired before its first answer", None, "session expiry"),
        ("Stable", "PreparingRebalance", "member x rejoined with other protocols: topics", None, "metadata change"),
        ("Stable", "PreparingRebalance", "leader x rejoined", None, "leader rejoin"),
        ("CompletingRebalance", "PreparingRebalance", "static member i came back as i-2", None, "static replacement"),
        ("CompletingRebalance", "PreparingRebalance", "instance i was taken over: j replaces i", "fence_instance", "static replacement"),
        ("CompletingRebalance", "PreparingRebalance", "x, y, z and 4 more sent no SyncGroup within 300 ms", None, "sync timeout"),
        ("Stable", "PreparingRebalance", "a replaced member's id still owed a SyncGroup", None, "sync timeout"),
        ("CompletingRebalance", "PreparingRebalance", "the assignment of leader x is too large to be stored", None, "assignment too large"),
        ("Stable", "PreparingRebalance", "the loaded group is larger than group.max.size", None, "group too large"),
        ("Stable", "PreparingRebalance", "it was told to", "force_rebalance", "forced"),
        ("Stable", "PreparingRebalance", "a sentence of another coordinator", None, "other"),
        ("PreparingRebalance", "CompletingRebalance", "the initial delay is over", None, "journal's begin"),
    ]
    columns = "before string, after string, reason string, command string, wanted string"
    frame = spark.createDataFrame(sentences, columns).withColumn("cause", lit(None).cast("string"))
    assert [row for row in frame.selectExpr("*", f"{trigger()} as got").collect() if row.got != row.wanted] == []
    # Sentences need not be parsed for these triggers, because consumer groups always give a cause for them.
    of_consumer_groups = {"fenced", "revocation timeout", "static member away", "topics changed"}
    assert {sentence[-1] for sentence in sentences} == set(TRIGGERS) - of_consumer_groups


def test_a_cause_is_believed_before_the_sentence(spark: SparkSession) -> None:
    from pyspark.sql.functions import lit

    from groupmock_pipeline.rebalance.summary import BY_CAUSE, trigger

    causes = [(word, "Stable", name) for word, name in BY_CAUSE.items()]
    causes += [("member_joined", "Empty", "first join"), ("delay_ended", "Stable", "other")]
    frame = spark.createDataFrame(causes, "cause string, before string, wanted string")
    told = {"reason": lit("member x left"), "command": lit(None).cast("string"), "after": lit("PreparingRebalance")}
    assert [row for row in frame.withColumns(told).selectExpr("*", f"{trigger()} as got").collect() if row.got != row.wanted] == []


def test_a_rebalance_is_under_way_in_the_states_in_which_it_is_for_the_fold() -> None:
    from groupmock_pipeline.rebalance.events import UNDER_WAY

    assert set(UNDER_WAY) == set(rebalance_model.UNDER_WAY)


def test_the_words_are_the_coordinators() -> None:
    from groupmock_pipeline.fault_effects.strikes import EXPELLED, LEFT, RESERVED
    from groupmock_pipeline.rebalance.summary import BY_CAUSE

    said = {word for words, _ in (EXPELLED, LEFT, RESERVED) for word in words}
    assert BY_CAUSE.keys() | said <= set(CAUSES)
