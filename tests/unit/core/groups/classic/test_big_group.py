"""In a group of ten thousand members a few steps end a phase, answers are built lazily, and timers stay few
(docs/kafka/limits.md#join-storms)."""

from __future__ import annotations

from core_world import World

from groupmock.core.effects import Effects, Replies, Reply
from groupmock.core.events import Request
from groupmock.core.work import Work
from groupmock_codec.messages.k11_join_group import JoinGroupRequest, JoinGroupRequestProtocol
from groupmock_codec.messages.k14_sync_group import SyncGroupRequest, SyncGroupRequestAssignment
from groupmock_codec.units import NS_PER_MS

COUNT = 10_000


def whole(world: World, effects: Effects | None) -> Effects:
    """Return the effects, with those of each work in steps in its place."""
    out: Effects = []
    for effect in effects or ():
        if isinstance(effect, Work):
            while (more := world.core.go_on(effect, effect.turn.now)) is not None:
                out += whole(world, more)
        else:
            out.append(effect)
    return out


def test_a_storm() -> None:
    world = World.make(group_initial_rebalance_delay_ms=100)
    core, metadata = world.core, [JoinGroupRequestProtocol(name="range", metadata=b"m" * 60)]

    def join(ticket: int, member_id: str) -> list[object]:
        message = JoinGroupRequest(
            group_id="g", session_timeout_ms=10_000, rebalance_timeout_ms=60_000, member_id=member_id, protocol_type="x", protocols=metadata
        )
        return list(core.handle(Request(ticket, ticket, 1, 11, 9, "client", "/127.0.0.1", message), 0))

    ids = []
    for ticket in range(COUNT):
        (first,) = (one for one in join(ticket, "") if isinstance(one, Reply))
        ids.append(first.message.member_id)  # type: ignore[attr-defined]  # a JoinGroupResponse
        join(COUNT + ticket, ids[-1])
    # The timer of 300 s of a new member is moved in the heap, not replaced, so each member has one entry.
    assert len(world.environment.timers._heap) <= COUNT + 10
    group = world.group()
    answers = joined = []
    while group.state == "PreparingRebalance":
        answers = [one for one in whole(world, core.expire(core.deadline() or 0)) if isinstance(one, Replies)]
    assert (str(group.state), len(answers)) == ("CompletingRebalance", 1)
    joined = [one.message for one in answers[0].replies]
    assert len(joined) == COUNT
    assert sum(len(one.members) for one in joined) == COUNT  # type: ignore[attr-defined]  # the leader's list only
    assert len(world.environment.timers._heap) <= COUNT + 10
    assignments = [SyncGroupRequestAssignment(member_id=one, assignment=b"a") for one in ids]
    ordered = sorted(ids, key=lambda one: one == group.leader_id)
    out = []
    for at, member_id in enumerate(ordered):
        leads = member_id == group.leader_id
        message = SyncGroupRequest(group_id="g", generation_id=1, member_id=member_id, assignments=assignments if leads else [])
        out = whole(world, core.handle(Request(3 * COUNT + at, at, 1, 14, 3, "client", "/127.0.0.1", message), NS_PER_MS * 200))
    (replies,) = (one for one in out if isinstance(one, Replies))
    assert sum(1 for _ in replies.replies) == COUNT
    assert group.state == "Stable"
    group.invariants()


def test_replies_tell_the_generation_they_belong_to_however_late_they_are_drawn() -> None:
    """The driver builds answers in slices, so a later change of the group must not affect answers that are not built yet."""
    world = World.make()
    ids = [world.enter()[0] for _ in range(5)]
    out: Effects = []
    while world.group().state == "PreparingRebalance":
        out = world.core.expire(world.core.deadline() or 0) or []
    (replies,) = (one for one in out if isinstance(one, Replies))
    world.rig.now = 7000 * NS_PER_MS
    leader = world.group().leader_id
    world.leave(*(one for one in ids if one != leader))
    messages = [one.message for one in replies.replies]
    assert {one.generation_id for one in messages} == {1}  # type: ignore[attr-defined]
    assert [len(one.members) for one in messages if one.member_id == leader] == [5]  # type: ignore[attr-defined]
