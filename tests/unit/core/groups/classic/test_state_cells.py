"""Checks each cell of states.ANSWERS on a core: the observed answer must agree with the cell and with Kafka's.

Two comparisons, since one proves nothing: behaviours read the cells, so that what is seen agrees with a wrong row that they follow; and
a wrong row that nobody reads agrees with what Kafka does. A planted wrong row must fail one of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import pytest
from cases import for_each
from core_world import Protocols, World, subscription

from groupmock.core.effects import Moved
from groupmock.core.groups.classic.states import ANSWERS, MEMBERS_ASK, Answer, Do, Question, State
from groupmock.rig.ask import Ask
from groupmock_codec.messages.k42_delete_groups import DeleteGroupsRequest

STATES = [State.EMPTY, State.PREPARING, State.COMPLETING, State.STABLE]
TWO_CHOICES: Protocols = [("range", subscription("orders")), ("sticky", subscription("orders"))]
OTHER_CHOICE: Protocols = TWO_CHOICES[::-1]

NOBODY = Answer(Do.ANSWER, 25)
"""Answer to a member's request in a group without members. The check of member ids answers it, so the table has no cell."""
RESERVES, ADDS, WAITS, IN_PROGRESS = Answer(Do.RESERVE, 79), Answer(Do.REBALANCE), Answer(Do.COMPLETE), Answer(Do.ANSWER, 27)
AGAIN, FINE, HELD = Answer(Do.REBALANCE), Answer(Do.ANSWER, renews=True), Answer(Do.ANSWER, 68)

KAFKA: dict[Question, tuple[Answer, Answer, Answer, Answer]] = {
    Question.JOIN_RESERVE: (RESERVES, RESERVES, RESERVES, RESERVES),
    Question.JOIN_NEW: (ADDS, WAITS, ADDS, ADDS),
    Question.JOIN_LEADER: (NOBODY, WAITS, Answer(Do.ANSWER), AGAIN),
    Question.JOIN_FOLLOWER: (NOBODY, WAITS, Answer(Do.ANSWER), Answer(Do.ANSWER)),
    Question.JOIN_CHANGED: (NOBODY, WAITS, AGAIN, AGAIN),
    # In an Empty group a member with a known instance id joins as a new member.
    Question.JOIN_REPLACE: (ADDS, WAITS, AGAIN, Answer(Do.KEEP)),
    Question.SYNC: (NOBODY, IN_PROGRESS, Answer(Do.COLLECT), Answer(Do.ASSIGNMENT)),
    Question.HEARTBEAT: (NOBODY, Answer(Do.ANSWER, 27, renews=True), FINE, FINE),
    Question.LEFT: (Answer(Do.NOTHING), WAITS, AGAIN, AGAIN),
    Question.COMMIT_MEMBER: (NOBODY, FINE, IN_PROGRESS, FINE),
    Question.COMMIT_SIMPLE: (Answer(Do.ANSWER), NOBODY, NOBODY, NOBODY),
    Question.DELETE: (Answer(Do.DELETE), HELD, HELD, HELD),
}
"""Kafka's answers per state, written from docs/kafka (group-protocol, offsets, admin) and not from states.py."""


class Stage(NamedTuple):
    """A group in a given state with member ids, which belong to former members if the group is Empty."""

    world: World
    leader: str
    follower: str
    static: str

    def rejoin(self, *who: str) -> None:
        for member_id in who:
            self.world.join(member_id, protocols=TWO_CHOICES, instance="i" if member_id == self.static else None)


def staged(state: State, ask: Question) -> Stage:
    """In PreparingRebalance all members except the requester have joined, so that the test sees whether the request ends the phase."""
    world = World.make()
    (leader, _), (follower, _) = world.enter(protocols=TWO_CHOICES), world.enter(protocols=TWO_CHOICES)
    static = world.join(instance="i", protocols=TWO_CHOICES)
    world.finish_phase()
    stage = Stage(world, leader, follower, static.answer.member_id)
    if state is not State.COMPLETING:
        _settle(stage)
    if state is State.EMPTY:
        world.leave(leader, follower, (stage.static, "i"))
        world.finish_phase()
    if state is State.PREPARING:
        _almost_joined(stage, ask)
    world.sleep(1000)  # The pause makes a restarted session distinguishable from one that continues.
    assert world.group().state is state
    return stage


def _settle(stage: Stage) -> None:
    ids = (stage.follower, stage.static, stage.leader)
    for member_id in ids:
        stage.world.sync(member_id, assignments={each: f"for {each}".encode() for each in ids}, version=4)


def _almost_joined(stage: Stage, ask: Question) -> None:
    world = stage.world
    newcomer = ask is Question.JOIN_NEW
    world.command("force_rebalance", group="g")
    if newcomer:
        world.join(client="new")  # The coordinator now waits for a new member with a reserved id.
    awaited = {Question.JOIN_LEADER: stage.leader, Question.JOIN_REPLACE: stage.static}.get(ask, None if newcomer else stage.follower)
    stage.rejoin(*(each for each in (stage.leader, stage.follower, stage.static) if each != awaited))


def _newcomer(stage: Stage) -> Ask:
    reserved = stage.world.group().pending_joins
    return stage.world.join(next(iter(reserved)), protocols=TWO_CHOICES) if reserved else stage.world.enter(protocols=TWO_CHOICES)[1]


def _left(stage: Stage) -> Ask:
    """Send LeaveGroup, which in an Empty group is possible only with a reserved id."""
    world = stage.world
    return world.leave(world.join().answer.member_id if world.group().state is State.EMPTY else stage.follower)


QUESTIONS: dict[Question, Callable[[Stage], Ask]] = {
    Question.JOIN_RESERVE: lambda s: s.world.join(),
    Question.JOIN_NEW: _newcomer,
    Question.JOIN_LEADER: lambda s: s.world.join(s.leader, protocols=TWO_CHOICES),
    Question.JOIN_FOLLOWER: lambda s: s.world.join(s.follower, protocols=TWO_CHOICES),
    Question.JOIN_CHANGED: lambda s: s.world.join(s.follower, protocols=[("range", subscription("pay"))]),
    Question.JOIN_REPLACE: lambda s: s.world.join(instance="i", protocols=TWO_CHOICES),
    Question.SYNC: lambda s: s.world.sync(s.follower, version=4),
    Question.HEARTBEAT: lambda s: s.world.beats(s.follower),
    Question.LEFT: _left,
    Question.COMMIT_MEMBER: lambda s: s.world.commit(s.follower, s.world.group().generation),
    Question.COMMIT_SIMPLE: lambda s: s.world.commit(),
    Question.DELETE: lambda s: s.world.send(DeleteGroupsRequest(groups_names=["g"]), 42),
}


def seen(state: State, ask: Question) -> Answer:
    """Return what the group does, in the terms of the table."""
    stage = staged(state, ask)
    world, group = stage.world, stage.world.group()
    marked, reserved = len(world.effects), set(group.pending_joins)
    asked = QUESTIONS[ask](stage)
    moves = [(one.before, one.after) for one in world.effects[marked:] if isinstance(one, Moved)]
    error = 0 if asked.answer is None else _error(ask, asked)
    do = _done(stage, ask, asked, moves)
    if do is Do.ANSWER and group.pending_joins - reserved:
        do = Do.RESERVE
    if do is Do.KEEP:
        assert _replaced_with_another_vote() == (str(State.STABLE), str(State.PREPARING))
    member = group.members.get(stage.follower)
    starts_again = member is not None and member.session.deadline == (world.now + member.session_timeout_ms) * 1_000_000
    return Answer(do, error, do is Do.ANSWER and starts_again)


def _error(ask: Question, asked: Ask) -> int:
    if ask is Question.LEFT:
        return int(asked.answer.members[0].error_code)
    if ask in (Question.COMMIT_MEMBER, Question.COMMIT_SIMPLE):
        return int(asked.answer.topics[0].partitions[0].error_code)
    return int(asked.answer.results[0].error_code) if ask is Question.DELETE else asked.error


def _done(stage: Stage, ask: Question, asked: Ask, moves: list[tuple[str, str]]) -> Do:
    if moves:
        return {State.PREPARING: Do.REBALANCE, State.DEAD: Do.DELETE}.get(State(moves[0][1]), Do.COMPLETE)
    if asked.answer is None:
        return Do.COLLECT
    if ask is Question.LEFT:
        return Do.NOTHING
    if ask is Question.JOIN_REPLACE and not asked.error and asked.answer.member_id in stage.world.group().members:
        return Do.KEEP
    stored = ask is Question.SYNC and asked.answer.assignment == f"for {stage.follower}".encode()
    return Do.ASSIGNMENT if stored else Do.ANSWER


def _replaced_with_another_vote() -> tuple[str, str]:
    """Return the states before and after a static member of a one-member group rejoins with another first protocol."""
    world = World.make()
    first = world.join(instance="i", protocols=TWO_CHOICES)
    world.finish_phase()
    world.sync(first.answer.member_id, version=4)
    world.join(instance="i", protocols=OTHER_CHOICE)
    return next((before, after) for before, after, _ in world.moves() if before == State.STABLE)


def judge(state: State, ask: Question) -> None:
    """Check the observed answer of a cell and raise AssertionError if it is wrong."""
    told = seen(state, ask)
    assert told == KAFKA[ask][STATES.index(state)], "not what Kafka does"
    assert told == ANSWERS.get((state, ask), told), "not what the table says"


CELLS = [(state, ask) for state in STATES for ask in Question]


@for_each(("state", "ask"), CELLS, ids=[f"{state}: {ask.name}" for state, ask in CELLS])
def test_a_cell_is_what_happens_and_what_kafka_does(state: State, ask: Question) -> None:
    judge(state, ask)


def _wrong(right: Answer) -> Iterator[Answer]:
    yield from (Answer(do, right.error, right.renews) for do in Do if do is not right.do)
    yield Answer(right.do, 16, right.renews)
    yield Answer(right.do, right.error, not right.renews)


WRONG = [(cell, wrong) for cell, right in ANSWERS.items() for wrong in _wrong(right)]


@for_each(("cell", "wrong"), WRONG, ids=[f"{state}: {ask.name} {wrong}" for (state, ask), wrong in WRONG])
def test_a_planted_wrong_row_fails(cell: tuple[State, Question], wrong: Answer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(ANSWERS, cell, wrong)
    with pytest.raises((AssertionError, LookupError)):
        judge(*cell)


def test_there_is_a_cell_for_whatever_can_be_asked() -> None:
    nobody = {(State.EMPTY, ask) for ask in MEMBERS_ASK}
    assert set(ANSWERS) == {(state, ask) for state in STATES for ask in Question} - nobody
    assert all(answer.do is Do.ANSWER for ask, (answer, *_) in KAFKA.items() if ask in MEMBERS_ASK - {Question.JOIN_REPLACE})
