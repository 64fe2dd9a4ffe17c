"""A long target computation runs in steps (CG-106): other clients are served in between, requests to the group wait, and no answer
differs."""

from __future__ import annotations

import random
from collections import deque
from pathlib import Path
from typing import Any, Final

import pytest
from cases import for_each
from rig_journal import never
from turned_loop import Loop

from groupmock.core.groups.consumer import reconciliation
from groupmock.core.groups.consumer.assignors import spec
from groupmock.core.turn import Turn
from groupmock.journal.file import FileSink
from groupmock.net.slices import Slices
from groupmock.rig import WireRig
from groupmock.rig.replay import replay
from groupmock.rig.wire import read_response, request
from groupmock_codec.messages.k09_offset_fetch import OffsetFetchRequest, OffsetFetchRequestGroup
from groupmock_codec.messages.k68_consumer_group_heartbeat import ConsumerGroupHeartbeatRequest, TopicPartitions
from groupmock_codec.messages.k69_consumer_group_describe import ConsumerGroupDescribeRequest

TOPICS: Final = {"a": 7, "b": 3, "c": 5, "d": 1}
MEMBERS: Final = 6
SETTINGS: Final = {"group.consumer.assignment.interval.ms": 0, "group.consumer.session.timeout.ms": 60_000}
ELSEWHERE: Final = request(9, 8, OffsetFetchRequest(groups=[OffsetFetchRequestGroup(group_id="another", topics=None)]))


class House:
    """A server with member connections and their answers. Without an event loop all work is done at once."""

    def __init__(self, loop: Loop | None, *sinks: FileSink) -> None:
        slices = Slices(None) if loop is None else Slices(0, lambda: 0, loop.soon)  # Each slice of the loop has time for exactly one step.
        self.rig = WireRig.make(topics=TOPICS, settings=SETTINGS, seed=3, sinks=list(sinks), slices=slices)
        self.wires = [self.rig.connect() for _ in range(MEMBERS + 2)]
        self.epochs = [0] * MEMBERS
        self.owned: list[list[TopicPartitions]] = [[] for _ in range(MEMBERS)]
        self.answers: list[list[bytes]] = [[] for _ in self.wires]

    def beat(self, member: int, names: list[str] | None, regex: str | None, assignor: str | None, leaves: bool) -> bytes:
        epoch = self.epochs[member]
        said: dict[str, Any] = {"group_id": "g", "member_id": f"m{member}", "member_epoch": -1 if leaves and epoch else epoch}
        if epoch == 0 or names is not None:
            said |= {"rebalance_timeout_ms": 9_000, "subscribed_topic_names": names or [], "subscribed_topic_regex": regex or ""}
            said |= {"server_assignor": assignor, "topic_partitions": self.owned[member] if epoch else []}
        return request(68, 1, ConsumerGroupHeartbeatRequest(**said))

    def take(self) -> None:
        """Read the answers that have arrived and let their members continue."""
        for number, wire in enumerate(self.wires):
            for frame in wire.take():
                self.answers[number].append(frame)
                if number < MEMBERS:
                    self._heard(number, read_response(68, 1, frame)[1])

    def _heard(self, member: int, answer: Any) -> None:
        self.epochs[member] = max(answer.member_epoch, 0)
        if answer.error_code or self.epochs[member] == 0:
            self.epochs[member], self.owned[member] = 0, []
        elif answer.assignment is not None:
            self.owned[member] = [
                TopicPartitions(topic_id=each.topic_id, partitions=each.partitions) for each in answer.assignment.topic_partitions
            ]


def rounds(seed: int) -> list[list[tuple[int, list[str] | None, str | None, str | None, bool]]]:
    """Draw rounds in which several members each send one heartbeat."""
    dice = random.Random(seed)
    made = []
    for _ in range(8):
        who = dice.sample(range(MEMBERS), dice.randint(1, MEMBERS))
        made.append(
            [
                (
                    member,
                    None if dice.random() < 0.5 else dice.sample([*TOPICS, "nowhere"], dice.randint(0, 4)),
                    dice.choice((None, None, "[ab].*")),
                    dice.choice((None, "uniform", "range")),
                    dice.random() < 0.1,
                )
                for member in who
            ]
        )
    return made


@pytest.fixture(autouse=True)
def _smallest_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spec, "A_STEP", 1)
    monkeypatch.setattr(reconciliation, "MANY", 0)


@for_each("seed", list(range(8)))
def test_a_target_in_steps_is_answered_as_one_at_once(seed: int, tmp_path: Path) -> None:
    """A journal of the run in steps can also be replayed."""
    loop, journal = Loop(), tmp_path / f"{seed}.jsonl"
    stepped, whole = House(loop, FileSink(str(journal), never)), House(None)
    waited = turns = 0
    for now in rounds(seed):
        frames = [(member, stepped.beat(member, *said)) for member, *said in now]
        assert frames == [(member, whole.beat(member, *said)) for member, *said in now]
        for member, frame in frames:
            whole.wires[member].send(frame)
        coming = deque(frames)
        while coming or loop.ordered:
            if coming:
                member, frame = coming.popleft()
                waited += bool(loop.ordered)
                stepped.wires[member].send(frame)
            stepped.wires[-1].send(ELSEWHERE)
            assert stepped.wires[-1].take(), "another group's request waited"
            turns += bool(loop.ordered)
            loop.turn()
        for house in (stepped, whole):
            house.wires[-2].send(request(69, 1, ConsumerGroupDescribeRequest(group_ids=["g"])))
            house.take()
        assert stepped.answers == whole.answers
    assert waited and turns > 50, "nobody came in between"
    stepped.rig.close()
    assert replay(journal).difference is None


def test_who_names_the_group_waits_in_line() -> None:
    loop = Loop()
    house = House(loop)
    for member in range(3):
        house.wires[member].send(house.beat(member, ["a", "b"], None, None, False))
    before = len(loop.ordered)
    house.take()
    assert (before, house.answers[:3]) == (1, [[], [], []]), "the first one's target is under way"
    order: list[int] = []
    while loop.ordered:
        loop.turn()
        order += [number for number in range(3) if number not in order and house.wires[number].data]
    assert order == [0, 1, 2]


def test_a_command_finds_no_group_in_the_midst_of_a_target() -> None:
    loop = Loop()
    house = House(loop)
    house.wires[0].send(house.beat(0, ["a"], None, None, False))
    assert loop.ordered
    house.rig.command("expire_member", group="g", member="m0")
    house.take()
    group = house.rig.core.cluster.groups.find("g")
    assert group is not None
    assert (read_response(68, 1, house.answers[0][0])[1].member_epoch, group.members) == (2, {})


def test_a_coordinator_that_moves_finishes_the_target_first() -> None:
    """An election or a reassignment moves the coordinator, and neither request names a group."""
    loop = Loop()
    house = House(loop)
    house.wires[0].send(house.beat(0, ["a", "b"], None, None, False))
    loop.turn()
    core, driver = house.rig.core, house.rig.driver
    group, turn = core.cluster.groups.find("g"), Turn(core.environment, driver.now(), [])
    assert loop.ordered and group is not None
    core.cluster.groups.unload(turn, group.partition, 1)
    driver.perform(turn.out, driver.now())
    house.take()
    assert read_response(68, 1, house.answers[0][0])[1].member_epoch == 2
    while loop.ordered:
        loop.turn()
    assert (group.state, driver.counters.internal_errors, core.environment.busy) == ("Dead", 0, [])
