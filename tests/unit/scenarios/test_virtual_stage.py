"""Every scenario on the virtual clock with default sizes gives the same figures every time, exact to the partition."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

import pytest
from cases import for_each

from groupmock.journal.read import read
from groupmock.rig.replay import replay
from groupmock_clients.scenarios.catalogue import SCENARIOS, VIRTUAL, plays, protocols, scenario
from groupmock_clients.scenarios.invariants import broken
from groupmock_clients.scenarios.measure import Figures, measure
from groupmock_clients.scenarios.play import TOPIC, Missed, Protocol, ScenarioRun, Sizes, Speaks, Unsupported, play
from groupmock_clients.scenarios.virtual import open_stage

EVERY = [(each, protocol) for each in SCENARIOS for protocol in VIRTUAL if plays(each, protocol)]


@cache
def run(name: str, protocol: Protocol) -> ScenarioRun:
    with open_stage(Sizes(), protocol) as stage:
        return play(scenario(name), stage.sizes, protocol, stage)


def figures(name: str, protocol: str) -> Figures:
    return measure(run(name, protocols("virtual", protocol)[0]).rows)


@for_each(("each", "protocol"), EVERY, ids=lambda value: getattr(value, "name", str(value)))
def test_the_invariants_hold_and_no_record_is_lost(each, protocol) -> None:
    seen = run(each.name, protocol)
    assert [str(each) for each in broken(seen)] == []
    assert measure(seen.rows).lost == 0


@for_each(
    ("name", "expected"),
    [
        # Each row has a scenario and (rebalances, partitions moved) for range, cooperative-sticky and Designs I, II and III.
        ("death-at-once", [(1, 0), (1, 0), (1, 0), (1, 0), (1, 0)]),
        ("death-in-time", [(2, 8), (3, 6), (3, 6), (2, 0), (2, 0)]),
        ("death-too-late", [(2, 8), (3, 6), (3, 6), (4, 6), (8, 6)]),
        ("rolling-bounce", [(8, 40), (12, 24), (12, 24), (8, 0), (8, 0)]),
        ("scale-up", [(1, 3), (2, 2), (2, 2), (2, 2), (4, 2)]),
        ("scale-down", [(1, 6), (1, 3), (1, 3), (2, 3), (2, 3)]),
        ("leader-exit", [(2, 10), (2, 7), (2, 7), (3, 6), (3, 6)]),
        ("second-loss", [(3, 12), (4, 11), (4, 11), (4, 3), (4, 3)]),
        ("new-subscription", [(1, 0), (1, 0), (1, 0), (1, 0), (1, 0)]),
        ("partition-growth", [(1, 9), (1, 0), (1, 0), (1, 0), (1, 0)]),
    ],
)
def test_rounds_and_moves(name: str, expected: list[tuple[int, int]]) -> None:
    names = ("range", "cooperative-sticky", "design-1", "design-2", "design-3")
    assert [(found.rounds, found.moved) for found in (figures(name, protocol) for protocol in names)] == expected


BY_BROKER = {
    "death-at-once": (1, 4), "death-in-time": (2, 6), "death-too-late": (2, 6), "rolling-bounce": (8, 24), "scale-up": (1, 2),
    "scale-down": (1, 3), "second-loss": (3, 11), "new-subscription": (1, 9), "partition-growth": (1, 0),
}  # fmt: skip
"""Scenario -> rebalances and moves of a consumer group, which equal confluent-kafka's in live runs (tools/records/scenarios-live.json)."""


@for_each(("name", "expected"), BY_BROKER.items())
def test_rounds_and_moves_where_the_broker_assigns(name: str, expected: tuple[int, int]) -> None:
    found = figures(name, "kip-848")
    assert (found.rounds, found.moved) == expected


def test_live_runs_of_consumer_groups_counted_the_same() -> None:
    live = json.loads((Path(__file__).parents[3] / "tools" / "records" / "scenarios-live.json").read_text())["results"]
    mine = {each["scenario"]: each for each in live if each["protocol"] == "kip-848"}
    assert {name: (each["figures"]["rounds"], each["figures"]["moved"]) for name, each in mine.items()} == BY_BROKER
    assert all(each["agreed"] for each in mine.values())


STREAMS = {
    # The classic protocol gives the tasks to the processes in turn, and by the streams protocol they stay. If a process comes back before
    # its session ends, the broker gives some of its tasks to other processes, and the classic protocol waits for the end of the session.
    "streams-classic": [(1, 0), (4, 18), (4, 18), (16, 72), (2, 8), (2, 9)],
    "kip-1071": [(1, 3), (2, 6), (2, 6), (8, 24), (1, 2), (1, 3)],
}
"""Protocol of Kafka Streams -> rebalances and moved tasks in each scenario that has a line in the table."""


@for_each(("protocol", "expected"), STREAMS.items())
def test_rounds_and_moves_of_a_stateful_topology(protocol: str, expected: list[tuple[int, int]]) -> None:
    played = [each.name for each in SCENARIOS if plays(each, protocols("virtual", protocol)[0])]
    assert played == ["death-at-once", "death-in-time", "death-too-late", "rolling-bounce", "scale-up", "scale-down"]
    assert [(found.rounds, found.moved) for found in (figures(name, protocol) for name in played)] == expected


def test_a_closed_instance_leaves_a_streams_group_and_stays_in_a_classic_group_until_its_session_ends() -> None:
    took = {protocol: figures("scale-down", protocol).converge_s for protocol in STREAMS}
    assert took["kip-1071"] < 1
    assert took["streams-classic"] > Sizes().session_ms / 1000 - 0.3


@for_each("name", ["rolling-bounce", "scale-up", "scale-down", "new-subscription"])
@for_each("protocol", [each for each in VIRTUAL if each.design], ids=str)
def test_nothing_comes_twice_where_everybody_leaves_in_good_order(name: str, protocol: Protocol) -> None:
    assert measure(run(name, protocol).rows).duplicates == 0


@for_each("name", ["rolling-bounce", "scale-up", "partition-growth"])
def test_a_twin_stops_for_what_moves_alone(name: str) -> None:
    """Delivery of a partition pauses only while the partition has no owner and while its new owner fetches the offset."""
    twin = figures(name, "design-1/scripted-twin")
    assert twin.undelivered_s == pytest.approx(twin.unowned_s, abs=0.05)
    assert figures(name, "design-1/scripted").undelivered_s > twin.undelivered_s + 0.5


def test_who_dies_had_records_that_it_did_not_commit() -> None:
    """The member had three partitions with ten records a second and committed every second."""
    assert 0 < figures("death-in-time", "design-2").duplicates <= 3 * (10 + 1)


def test_design_three_asks_for_one_partition_at_a_time() -> None:
    rows = run("death-too-late", protocols("virtual", "design-3")[0]).rows
    asked = [row["fields"]["partitions"] for row in rows if row["kind"] == "client" and row["what"] == "revoked"]
    assert [len(partitions) for partitions in asked] == [1, 1, 1]


@for_each(("name", "named"), [("death-in-time", "design-3"), ("leader-exit", "design-3"), ("mixed-upgrade", "design-3"),
                              ("death-in-time", "kip-848"), ("new-subscription", "kip-848"),
                              ("death-in-time", "kip-1071")])  # fmt: skip
def test_a_run_writes_the_same_journal_again_and_replay_takes_it(name: str, named: str, tmp_path: Path) -> None:
    protocol = protocols("virtual", named)[0]
    files = [tmp_path / turn / f"{name}.jsonl" for turn in ("first", "second")]  # Each journal file has the name of its run.
    for file in files:
        file.parent.mkdir()
        with open_stage(Sizes(seed=7), protocol, file) as stage:
            play(scenario(name), stage.sizes, protocol, stage)
    assert files[0].read_bytes() == files[1].read_bytes()
    result = replay(files[0])
    assert (result.difference, result.cut) == (None, False)
    assert result.rows > 100
    assert read(files[0])[0].header.run == f"{name}-seed-7"


def test_another_seed_is_another_run_with_the_same_moves() -> None:
    protocol = protocols("virtual", "design-2")[0]
    found = []
    for seed in (1, 2):
        with open_stage(Sizes(seed=seed), protocol) as stage:
            found.append(measure(play(scenario("death-in-time"), stage.sizes, protocol, stage).rows))
    assert found[0].unowned_s != found[1].unowned_s
    assert (found[0].moved, found[0].rounds) == (found[1].moved, found[1].rounds)


def test_an_upgrade_in_one_bounce_is_eager_until_everybody_has_it() -> None:
    """aiokafka uses range by name during the whole upgrade, and after the last restart no member revokes partitions any more."""
    protocol = Protocol("design-2", "scripted", (Speaks.BOTH,))
    seen = run("mixed-upgrade", protocol)
    assert [str(each) for each in broken(seen)] == []
    revoked = [row["client"] for row in seen.rows if row["kind"] == "client" and row["what"] == "revoked"]
    assert {"m0001", "m0002", "m0003"} <= set(revoked)
    assert {row["protocol_name"] for row in seen.rows if row["kind"] == "moved" and row["after"] == "Stable"} == {"range"}


@for_each(
    ("protocol", "said"),
    [
        (Protocol("connect", "connect"), "not connect/connect"),
        (Protocol("design-2", "aiokafka"), "scripted or scripted-twin, not design-2/aiokafka"),
        (Protocol("range", "scripted-twin"), "twins are for Designs I to III, not for range"),
    ],
)
def test_what_the_stage_has_not_is_refused(protocol: Protocol, said: str) -> None:
    with pytest.raises(Unsupported, match=said), open_stage(Sizes(), protocol):
        pass


def test_a_group_that_never_settles_is_missed_with_what_is_missing() -> None:
    protocol = protocols("virtual", "design-2")[0]
    with open_stage(Sizes(), protocol) as stage:
        stage.create(TOPIC, 4)
        stage.start("m0001", Speaks.TARGET, [TOPIC])
        with pytest.raises(Missed, match=r"virtual ms: the group is Stable with 1 members where 2 live"):
            stage.members["m0002"] = stage.members["m0001"]
            stage.noticed(frozenset({"m0001", "m0002"}))


def test_a_journal_that_cannot_be_written_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(OSError), open_stage(Sizes(), protocols("virtual", "range")[0], tmp_path / "missing" / "j.jsonl"):
        pass
