"""The ends of the join and sync phases of a large group run in steps: other clients are served in between, requests to the group wait, no
answer differs, and a journal of the run can be replayed."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any, Final

import pytest
from cases import for_each
from rig_journal import never
from turned_loop import Loop

from groupmock.core import work
from groupmock.journal.file import FileSink
from groupmock.net.slices import Slices
from groupmock.rig import WireRig
from groupmock.rig.replay import replay
from groupmock.rig.versions import highest
from groupmock.rig.wire import read_response, request
from groupmock_codec.api_keys import HEARTBEAT, JOIN_GROUP, LEAVE_GROUP, SYNC_GROUP
from groupmock_codec.messages.k09_offset_fetch import OffsetFetchRequest, OffsetFetchRequestGroup
from groupmock_codec.messages.k11_join_group import JoinGroupRequest, JoinGroupRequestProtocol
from groupmock_codec.messages.k12_heartbeat import HeartbeatRequest
from groupmock_codec.messages.k13_leave_group import LeaveGroupRequest, MemberIdentity
from groupmock_codec.messages.k14_sync_group import SyncGroupRequest, SyncGroupRequestAssignment

MEMBERS: Final = 7
VERSIONS: Final = {key: highest(key) for key in (JOIN_GROUP, SYNC_GROUP, HEARTBEAT, LEAVE_GROUP)}
SETTINGS: Final = {"group.initial.rebalance.delay.ms": 500, "group.min.session.timeout.ms": 1000}
ELSEWHERE: Final = request(9, 8, OffsetFetchRequest(groups=[OffsetFetchRequestGroup(group_id="another", topics=None)]))


class House:
    """A server with member connections. Without an event loop all work is done at once."""

    def __init__(self, loop: Loop | None, *sinks: FileSink) -> None:
        slices = Slices(None) if loop is None else Slices(0, lambda: 0, loop.soon)  # Each slice of the loop has time for exactly one step.
        self.rig = WireRig.make(profile="kafka-4.4", settings=SETTINGS, seed=3, sinks=list(sinks), slices=slices)
        self.wires = [self.rig.connect() for _ in range(MEMBERS + 1)]


class Members:
    """The members of one group as they know it from their answers, and the requests that they send next."""

    def __init__(self, seed: int) -> None:
        self.dice = random.Random(seed)
        self.ids = [""] * MEMBERS
        self.generations = [-1] * MEMBERS
        self.lists: list[list[str]] = [[] for _ in range(MEMBERS)]
        self.asked: list[int | None] = [None] * MEMBERS
        self.joins = [True] * MEMBERS

    def next(self, member: int) -> tuple[int, Any]:
        """Return API key and message of the member's next request."""
        own, generation, chance = self.ids[member], self.generations[member], self.dice.random()
        if self.joins[member] or generation < 0 or chance < 0.15:
            protocols = [JoinGroupRequestProtocol(name=name, metadata=bytes(6)) for name in self.dice.choice((["range"], ["range", "b"]))]
            return JOIN_GROUP, JoinGroupRequest(
                group_id="g", member_id=own, session_timeout_ms=6000, rebalance_timeout_ms=3000, protocol_type="consumer",
                protocols=protocols,
            )  # fmt: skip
        if self.lists[member] or self.asked[member] == JOIN_GROUP:
            given = [SyncGroupRequestAssignment(member_id=each, assignment=each.encode()) for each in self.lists[member]]
            return SYNC_GROUP, SyncGroupRequest(
                group_id="g", generation_id=generation, member_id=own, protocol_type="consumer", protocol_name="range", assignments=given
            )
        if chance < 0.25:
            return LEAVE_GROUP, LeaveGroupRequest(group_id="g", members=[MemberIdentity(member_id=own)])
        return HEARTBEAT, HeartbeatRequest(group_id="g", generation_id=generation, member_id=own)

    def heard(self, member: int, key: int, answer: Any) -> None:
        self.asked[member] = key
        self.joins[member] = bool(answer.error_code) or key == LEAVE_GROUP
        if key == JOIN_GROUP:
            self.ids[member], self.generations[member] = answer.member_id, answer.generation_id
            self.lists[member] = [each.member_id for each in answer.members]
        elif key == SYNC_GROUP:
            self.lists[member] = []
        if key == LEAVE_GROUP or answer.error_code == 25:
            self.ids[member], self.generations[member], self.lists[member] = "", -1, []


@for_each("seed", list(range(8)))
def test_phases_in_steps_are_answered_as_those_at_once(seed: int, tmp_path: Path) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(work, "AT_ONCE", 1)
        loop, journal = Loop(), tmp_path / f"{seed}.jsonl"
        stepped, whole = House(loop, FileSink(str(journal), never)), House(None)
        members, answers, steps = Members(seed), 0, 0
        waiting: dict[int, int] = {}
        for _ in range(60):
            for member in members.dice.sample(range(MEMBERS), members.dice.randint(1, MEMBERS)):
                if member not in waiting:
                    key, message = members.next(member)
                    waiting[member] = key
                    for house in (whole, stepped):
                        house.wires[member].send(request(key, VERSIONS[key], message))
                    steps += _others_are_served(stepped, loop)
            # The steps of one piece of work take no time here, so that the timers of both houses are due at the same times.
            for _ in range(members.dice.choice((0, 1, 6, 40))):
                steps += _finish(stepped, loop)
                for house in (whole, stepped):
                    house.rig.sleep(100)
            steps += _finish(stepped, loop)
            for member, key in [*waiting.items()]:
                frames = [house.wires[member].take() for house in (whole, stepped)]
                assert frames[0] == frames[1], f"member {member}"
                for frame in frames[0]:
                    answers += 1
                    del waiting[member]
                    members.heard(member, key, read_response(key, VERSIONS[key], frame)[1])
        assert (answers > 100, steps > 100) == (True, True), (answers, steps)
        stepped.rig.close()
        assert replay(journal).difference is None


def _finish(house: House, loop: Loop) -> int:
    """Do all work, with that of timers which it has made due, and return the number of steps."""
    steps = 0
    while loop.ordered:
        steps += _others_are_served(house, loop)
        house.rig.sleep(0)
    return steps


def _others_are_served(house: House, loop: Loop) -> int:
    """Let a client of another group ask, and do one step of the work. Return whether there was a step to do."""
    house.wires[-1].send(ELSEWHERE)
    assert house.wires[-1].take(), "another group's request waited"
    busy = bool(loop.ordered)
    loop.turn()
    return busy
