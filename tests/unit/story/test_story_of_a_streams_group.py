"""The golden story of a streams group, and what stories say of topologies that keep tasks away."""

from __future__ import annotations

from pathlib import Path

from streams_wire import COUNTS, StreamsWire, worked
from streams_world import subtopology, topology

from groupmock.journal.read import read
from groupmock.story.telling import tell

# ruff: noqa: E501 (a story is compared as it is printed)
STORY = """\
app: Empty, generation 9, 0 members, nothing committed
  The first join and 5 rebalances in 42.0 s, 6 tasks moved. ben joined at 4.0 s; the rebalance left 0_1, 1_1 unprocessed for 1.0 s. cleo joined at 8.0 s; the rebalance left 1_1 unprocessed for 1.0 s. ben's connection ended at 14.0 s and it had not left; 0_1 was unprocessed for 19.0 s (its session of 20000 ms expired at 33.0 s). In all, 22.0 task-seconds were unprocessed.
  Likely: the whole application was shut down at 42.000: Streams group member cleo-7Qcleo encountered a fatal error and requested a shutdown for the entire application. The log of that member has the exception
  Likely: ben#7Qbe's connection ended at 14.000 and it had not left: nobody processed 0_1 until its session expired at 33.000
    0.000  ordered by the test: configure_group streams.num.standby.replicas=1
    0.000  anna#7Qan joins, reads orders
    0.000  anna#7Qan is at epoch 2 with nothing
    0.000  anna#7Qan hears MISSING_SOURCE_TOPICS: Source topics orders are missing. Create them, because Kafka Streams does not
    1.000  anna#7Qan is at epoch 3 with nothing
    1.000  epoch 3: a topic that the topology uses has come, grown or gone
    1.000  anna#7Qan hears MISSING_INTERNAL_TOPICS: Internal topics are missing: app-counts-changelog, app-by-key-repartition
    1.000  internal topic app-counts-changelog created with 2 partitions, because a heartbeat needed it
    1.000  internal topic app-by-key-repartition created with 2 partitions, because a heartbeat needed it
    2.000  anna#7Qan is at epoch 4 with 0_0, 0_1, 1_0, 1_1
    2.000  everybody is at epoch 4 after 2000 ms, 3 epochs
    4.000  ben#7Qbe joins, reads orders
    4.000  ben#7Qbe is at epoch 5 with nothing, and stands by for 1_0 and waits for 0_1, 1_1
    5.000  anna#7Qan owes the broker 0_1, 1_1
    6.000  anna#7Qan is at epoch 5 with 0_0, 1_0, and stands by for 1_1
    6.000  ben#7Qbe is at epoch 5 with 0_1, 1_1, and stands by for 1_0
    6.000  everybody is at epoch 5 after 2000 ms: anna#7Qan gave up what it was told to within 1000 ms; ben#7Qbe came last
    6.000  task 0_1 moves from anna#7Qan to ben#7Qbe
    6.000  task 1_1 moves from anna#7Qan to ben#7Qbe: ben#7Qbe had no standby of it
    8.000  cleo#7Qcl joins, reads orders
    8.000  cleo#7Qcl is at epoch 6 with nothing, and stands by for 1_0 and waits for 1_1
    9.000  anna#7Qan owes the broker 1_1
    9.000  ben#7Qbe owes the broker 1_0, 1_1
   10.000  anna#7Qan is at epoch 6 with 0_0, 1_0
   10.000  ben#7Qbe is at epoch 6 with 0_1, and stands by for 1_1
   10.000  cleo#7Qcl is at epoch 6 with 1_1, and stands by for 1_0
   10.000  everybody is at epoch 6 after 2000 ms: anna#7Qan gave up what it was told to within 1000 ms; ben#7Qbe gave up what it was told to within 1000 ms; cleo#7Qcl came last
   10.000  task 1_1 moves from ben#7Qbe to cleo#7Qcl: cleo#7Qcl had no standby of it
   14.000  ben#7Qbe's connection ends (by the client) and it has not left: the group keeps its tasks until its session expires
   33.000  ben#7Qbe is gone: its session expired, nothing was heard of it for 20000 ms
   33.000  anna#7Qan is at epoch 7 with 0_0, 1_0, and stands by for 1_1
   33.000  cleo#7Qcl is at epoch 7 with 0_1, 1_1, and stands by for 1_0
   33.000  task 0_1 moves from ben#7Qbe to cleo#7Qcl
   40.000  anna#7Qan is gone: it left
   40.000  cleo#7Qcl is at epoch 8 with 0_0, 0_1, 1_0, 1_1
   40.000  task 0_0 moves from anna#7Qan to cleo#7Qcl
   40.000  task 1_0 moves from anna#7Qan to cleo#7Qcl: cleo#7Qcl had it as standby
   42.000  cleo#7Qcl hears SHUTDOWN_APPLICATION: Streams group member cleo-7Qcleo encountered a fatal error and requested a shutdown for the entire application. The log of that member has the exception
   42.000  cleo#7Qcl is gone: it left
   42.000  the group is empty: member cleo-7Qcleo left
"""


def told(world: StreamsWire) -> list[str]:
    world.rig.close()
    return [line.strip() for line in tell(read(world.path)[1])]


def likely(lines: list[str]) -> list[str]:
    return [line for line in lines if line.startswith("Likely: ")]


def test_story_of_a_streams_group_says_which_tasks_move_and_why(tmp_path: Path) -> None:
    assert list(tell(read(worked(tmp_path / "run.jsonl"))[1])) == STORY.splitlines()


def test_source_topic_with_a_wrong_name_is_the_likely_cause(tmp_path: Path) -> None:
    world = StreamsWire(tmp_path / "run.jsonl", topics={"order": 2})
    world.join("anna")
    world.rounds("anna", times=3)
    lines = told(world)
    (line,) = likely(lines)
    assert line.startswith("Likely: nobody has tasks since 0.000 (MISSING_SOURCE_TOPICS): Source topics orders are missing. Create them")
    assert line.endswith("(did you mean order?)")
    assert "has not ended after 3.0 s: it awaits the topics of its topology." in lines[1]
    assert lines[-1].endswith("awaited: topics that go with the topology, and a heartbeat after that")
    assert sum("hears MISSING_SOURCE_TOPICS" in line for line in lines) == 1, "a status is told when it comes, not with each heartbeat"


def test_wrong_number_of_partitions_of_a_repartition_topic_is_the_likely_cause(tmp_path: Path) -> None:
    world = StreamsWire(tmp_path / "run.jsonl", topics={"orders": 3, "app-by-key-repartition": 2})
    world.join("anna")
    world.rounds("anna", times=2)
    (line,) = likely(told(world))
    assert "(INCORRECTLY_PARTITIONED_TOPICS): Existing topic app-by-key-repartition has different number of partitions: expected 3, found 2" in line


def test_older_topology_is_the_likely_cause(tmp_path: Path) -> None:
    world = StreamsWire(tmp_path / "run.jsonl", topics={"orders": 2})
    world.join("anna", topology(*COUNTS.subtopologies, epoch=1))
    assert 0 in world.join("cleo").statuses
    assert likely(told(world)) == [
        "Likely: cleo#7Qcl runs an older topology since 0.001: The member's topology epoch 0 is behind the group's topology epoch 1."
    ]


def test_another_topology_is_the_likely_cause(tmp_path: Path) -> None:
    world = StreamsWire(tmp_path / "run.jsonl", topics={"orders": 2})
    world.join("anna", topology(*COUNTS.subtopologies, epoch=1))
    assert world.join("ben", topology(subtopology("0", "orders"), epoch=1)).error == 42
    lines = told(world)
    assert likely(lines)[0].startswith("Likely: ben could not join at 0.001: its topology is not the one of the group: use another")
    assert "ben-7Qben's StreamsGroupHeartbeat REFUSED: INVALID_REQUEST (Topology updates are not supported yet.)" in "\n".join(lines)


def test_internal_topic_that_cannot_be_created_is_the_likely_cause(tmp_path: Path) -> None:
    world = StreamsWire(tmp_path / "run.jsonl", topics={"orders": 2})
    state = subtopology("0", "orders", state=["c"])
    state.state_changelog_topics[0].replication_factor = 7
    world.join("anna", topology(state))
    world.rounds("anna", times=3)
    (line,) = likely(told(world))
    assert "(MISSING_INTERNAL_TOPICS): Internal topics are missing: c; Creation failed: c (" in line


def test_story_says_which_members_hear_of_a_shutdown(tmp_path: Path) -> None:
    world = StreamsWire(tmp_path / "run.jsonl", topics={"orders": 2})
    for member in ("anna", "ben"):
        world.join(member)
    world.rounds("anna", "ben", times=4)
    world.beat("anna", shutdown_application=True)
    world.rounds("anna", "ben", times=2)
    lines = told(world)
    (line,) = [line for line in lines if "hear SHUTDOWN_APPLICATION:" in line]
    assert "anna#7Qan, ben#7Qbe hear" in line
    assert "Likely: the whole application was shut down at 4.002: Streams group member anna-7Qanna encountered a fatal error" in lines[2]
