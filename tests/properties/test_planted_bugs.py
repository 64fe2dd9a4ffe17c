"""The random state machine finds each of these mistakes planted in the core, which proves that its judge can fail."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import pytest
from hypothesis import Phase, seed, settings
from hypothesis.stateful import run_state_machine_as_test
from properties.groups import GroupMachine

from groupmock.core.effects import Reply
from groupmock.core.groups.classic import answers, leaving, membership, rebalance, sessions
from groupmock.core.groups.classic.group import Group, Member, Parked
from groupmock.core.groups.classic.states import ANSWERS, COMPLETING, PREPARING, Answer, Do, Question
from groupmock.core.turn import Turn
from groupmock.core.work import Steps
from groupmock_codec.messages.k14_sync_group import SyncGroupRequest, SyncGroupRequestAssignment

RUNS = 1000


class Fault(NamedTuple):
    """A planted mistake: `where.name` is replaced by `fault(original)`, in a module, a class or a dict (then `name` is a key)."""

    where: Any
    name: Any
    fault: Callable[[Any], Any]


def _no_reservations(original: Callable[[Group], bool]) -> Callable[[Group], bool]:
    return lambda group: len(group.members) == group.awaiting


def _empty_keeps_generation(original: Callable[..., None]) -> Callable[..., None]:
    def faulty(turn: Turn, group: Group, why: str) -> None:
        group.generation -= 1
        original(turn, group, why)

    return faulty


def _drop_syncs(original: Callable[..., Any]) -> Callable[..., None]:
    def faulty(turn: Turn, group: Group, error: int) -> None:
        for member in group.members.values():
            member.sync = None

    return faulty


def _nothing(original: Callable[..., Any]) -> Callable[..., None]:
    return lambda *_, **__: None


def _oldest_leads_on(original: Callable[..., None]) -> Callable[..., None]:
    def faulty(turn: Turn, group: Group, member: Member | None, why: str) -> None:
        if group.leader_id is None or group.leader_id in group.members or member is None:
            original(turn, group, member, why)

    return faulty


def _everyone_gets_the_list(original: Callable[..., Any]) -> Callable[..., Any]:
    def faulty(self: answers.Joined, waiting: list[tuple[Parked, str]], listed: answers.Listed) -> Any:
        for parked, member_id in waiting:
            yield Reply(parked.ticket, self.to(parked.version, member_id, listed()))

    return faulty


def _leaders_assignment_adds_up(original: Callable[..., Steps]) -> Callable[..., Steps]:
    def faulty(turn: Turn, group: Group, message: SyncGroupRequest) -> Steps:
        kept = [SyncGroupRequestAssignment(member_id=one.member_id, assignment=one.assignment) for one in group.members.values()]
        return original(turn, group, SyncGroupRequest(assignments=[*kept, *message.assignments]))

    return faulty


def _lease_for_ever(original: Callable[..., Any]) -> Callable[..., Any]:
    def faulty(self: Group, *arguments: Any) -> Any:
        before = original(self, *arguments)
        self.epoch -= 1
        return before

    return faulty


def _expire_parked(original: Callable[..., bool]) -> Callable[..., bool]:
    def faulty(turn: Turn, group: Group, member_id: str) -> bool:
        member = group.members.get(member_id)
        if member is not None:
            member.join = None
        return original(turn, group, member_id)

    return faulty


def _instances_for_ever(original: Callable[..., None]) -> Callable[..., None]:
    def faulty(self: Group, member: Member) -> None:
        mapped = dict(self.static_members)
        original(self, member)
        self.static_members.update(mapped)

    return faulty


FAULTS: dict[str, Fault] = {
    "a reserved id does not hold up the phase": Fault(Group, "everybody_joined", _no_reservations),
    "the generation stays when the group becomes Empty": Fault(rebalance, "_become_empty", _empty_keeps_generation),
    "parked syncs are forgotten when a rebalance begins": Fault(rebalance, "refuse_syncs", _drop_syncs),
    "an answer at the end of the join phase does not start the session": Fault(sessions, "renew_all", _nothing),
    "the sync timer does nothing": Fault(rebalance, "on_sync_timer", lambda original: lambda turn, group: False),
    "a leader that left still leads": Fault(membership, "lead", _oldest_leads_on),
    "followers get the member list": Fault(answers.Joined, "all", _everyone_gets_the_list),
    "assignments of the generation before shine through": Fault(rebalance, "_assign", _leaders_assignment_adds_up),
    "a lease outlives its state": Fault(Group, "move", _lease_for_ever),
    "nothing ends a lease": Fault(Group, "epoch", lambda original: property(lambda group: 0, lambda group, epoch: None)),
    "a session that ends loses the parked join": Fault(leaving, "expire", _expire_parked),
    "an instance id stays mapped for ever": Fault(Group, "drop", _instances_for_ever),
    "commits are taken in CompletingRebalance": Fault(
        ANSWERS, (COMPLETING, Question.COMMIT_MEMBER), lambda original: Answer(Do.ANSWER, 0, True)
    ),
    "heartbeats in PreparingRebalance are 0": Fault(ANSWERS, (PREPARING, Question.HEARTBEAT), lambda original: Answer(Do.ANSWER, 0, True)),
}


@contextmanager
def planted(fault: Fault, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Plant the mistake in the core for the duration of a test."""
    with monkeypatch.context() as patch:
        if isinstance(fault.where, dict):
            patch.setitem(fault.where, fault.name, fault.fault(fault.where[fault.name]))
        else:
            patch.setattr(fault.where, fault.name, fault.fault(getattr(fault.where, fault.name)))
        yield


SEARCH = settings(max_examples=RUNS, stateful_step_count=50, phases=[Phase.generate])
SEEDS = {"assignments of the generation before shine through": 8, "the sync timer does nothing": 20}
"""Seeds for mistakes that the machine's own draws find only after hundreds of runs."""


@pytest.mark.parametrize("name", FAULTS)
def test_the_machine_finds(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    class Machine(GroupMachine):
        """A state machine that accepts a seed."""

    search = SEARCH
    if name in SEEDS:
        seed(SEEDS[name])(Machine)
        search = settings(SEARCH, derandomize=False)
    with planted(FAULTS[name], monkeypatch), pytest.raises(Exception) as found:
        run_state_machine_as_test(Machine, settings=search)
    assert isinstance(found.value, AssertionError | KeyError | ExceptionGroup), repr(found.value)
