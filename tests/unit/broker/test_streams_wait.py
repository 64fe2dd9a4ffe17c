"""A wait for tasks of a streams group ends when the named members have exactly these tasks, and names what is missing before."""

from __future__ import annotations

from typing import Any

import pytest
from cases import for_each
from streams_world import StreamsWorld, subtopology, topology

from groupmock.server.group_wait import from_texts, wanted_of
from groupmock.server.wait_condition import BadWait, Sight

COUNTS = topology(subtopology("0", "t", state=["g-counts-changelog"]))


@pytest.fixture
def world() -> StreamsWorld:
    """Return a cluster in which anna and ben have two tasks each and stand by for those of the other."""
    world = StreamsWorld(group_streams_num_standby_replicas=1)
    world.join("A", COUNTS, client="anna")
    world.sleep(1)
    for _ in range(3):
        world.beat("A", world.owned["A"], client="anna")
    world.join("B", COUNTS, client="ben")
    for _ in range(3):
        for member, client in (("A", "anna"), ("B", "ben")):
            world.beat(member, world.owned[member], client=client)
    return world


def lacking(world: StreamsWorld, **wanted: Any) -> list[str]:
    waited, sight = wanted_of("g", **wanted), Sight(world.cluster, "g")
    told = [text for each in waited.conditions if (text := each.lacks(sight)) is not None]
    assert waited.reached(sight) == (not told)
    return told


def test_a_wait_for_tasks_ends_when_members_have_them(world: StreamsWorld) -> None:
    mine, others = ([f"0_{number}" for number in world.owned["A"][role]["0"]] for role in (0, 1))
    assert len(mine) == len(others) == 2
    assert lacking(world, tasks={"anna": mine, "B": others}, standbys={"A": others, "ben": mine}) == []
    (missing,) = lacking(world, tasks={"anna": others})
    assert missing == f'"anna" to have the active tasks {", ".join(others)}: it has {", ".join(mine)}'
    assert lacking(world, standbys={"ben": []}) == [f'"ben" to have the standby tasks nothing: it has {", ".join(mine)}']
    assert lacking(world, tasks={"cleo": ["0_1"]}) == ['there is no member "cleo"']


def test_a_wait_for_tasks_of_another_group_goes_on() -> None:
    world = StreamsWorld()
    world.command("commit_offsets", group="g", offsets=[{"topic": "t", "partition": 0, "offset": 1}])
    assert lacking(world, tasks={"anna": []}) == ["active tasks: the group is no streams group"]


def test_a_wait_for_tasks_is_read_from_a_query(world: StreamsWorld) -> None:
    mine = [f"0_{number}" for number in world.owned["A"][0]["0"]]
    wanted = from_texts("g", {"tasks": f'{{"anna": ["{mine[0]}", "{mine[1]}"]}}', "standbys": None})
    assert wanted.reached(Sight(world.cluster, "g"))
    assert str(wanted) == f'active tasks "anna" {", ".join(mine)}'


@for_each(
    ("given", "says"),
    [
        ({"tasks": ["0_1"]}, "active tasks are what each member has"),
        ({"standbys": {}}, "standby tasks are what each member has"),
        ({"tasks": {"anna": "0_1"}}, "active tasks of 'anna': a list of tasks"),
        ({"tasks": {"anna": ["orders/0"]}}, "is no task: write subtopology_number, as 0_1"),
        ({"tasks": {"anna": ["0_-1"]}}, "is no task"),
    ],
    ids=str,
)
def test_a_wait_for_tasks_that_is_written_wrongly_is_refused(given: dict[str, Any], says: str) -> None:
    with pytest.raises(BadWait, match=says):
        wanted_of("g", **given)
