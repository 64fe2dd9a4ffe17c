"""The cost of a topic's deletion depends only on the offsets committed for the topic, and all of them are removed."""

from __future__ import annotations

from collections.abc import Iterator

from core_world import World

from groupmock.core.effects import Note
from groupmock.core.groups.offsets.by_topic import ByTopic
from groupmock.core.groups.offsets.committed import At, CommittedOffsets, Offset
from groupmock.core.settings import Quirks

SOME = Offset(1, -1, "", 0)


def filed() -> tuple[ByTopic, CommittedOffsets]:
    index, offsets = ByTopic(), CommittedOffsets()
    offsets.file_under(index, (1, "g"))
    return index, offsets


def test_a_group_is_filed_while_it_has_offsets_of_a_topic() -> None:
    index, offsets = filed()
    offsets["t", 0] = offsets["t", 1] = offsets["u", 0] = SOME
    assert (index.owners("t"), index.owners("u")) == ([(1, "g")], [(1, "g")])
    offsets.discard(("t", 1))
    assert index.owners("t") == [(1, "g")]
    offsets.discard(("t", 0))
    assert (index.owners("t"), len(index)) == ([], 1)
    offsets.clear()
    assert len(index) == 0


def test_a_topics_partitions_are_found_in_the_order_of_their_commits() -> None:
    _, offsets = filed()
    for at in [("t", 3), ("u", 0), ("t", 1), ("t", 3)]:
        offsets[at] = SOME
    assert offsets.discard_topic("t") == [("t", 3), ("t", 1)]
    assert list(offsets) == [("u", 0)]


class Untouched(CommittedOffsets):
    """A container that must not be iterated."""

    __slots__ = ()

    def __iter__(self) -> Iterator[At]:
        raise AssertionError("a group without offsets of the topic was looked through")

    def in_topic(self, name: str) -> list[At]:
        raise AssertionError("a group without offsets of the topic was asked")


def test_groups_without_offsets_of_the_topic_are_not_looked_at() -> None:
    world = World.make(topics={"a": 2, "b": 1})
    for group in ("g3", "g1", "g2", "other"):
        world.commit(group=group, offsets=[("b" if group == "other" else "a", 0, 5), ("b", 0, 5)])
    world.group("other").offsets.__class__ = Untouched
    turn = world.turn()
    world.cluster.groups.topic_deleted(turn, "a")
    told = [effect.fields["group"] for effect in turn.out if isinstance(effect, Note)]
    assert told == ["g3", "g1", "g2"], "in the order in which the groups came"
    assert [list(world.group(group).offsets) for group in ("g3", "g1", "g2")] == [[("b", 0)]] * 3


def test_nothing_is_filed_of_groups_that_are_gone() -> None:
    quirks = Quirks(last_offset_deletes_group=True)
    world = World.make(quirks=quirks, offsets_retention_minutes=1, offsets_retention_check_interval_ms=1000)
    for number in range(10):
        world.commit(group=f"g{number}")
    world.sleep(120_000)
    assert world.groups() == []
    assert len(world.cluster.groups._with_offsets) == 0
