"""Situations in which copies start, stop, die or sleep, or a second process has the same instance id."""

from __future__ import annotations

from groupmock_codec.api_keys import HEARTBEAT, JOIN_GROUP

from ...subjects import FENCED_INSTANCE_ID, UNKNOWN_MEMBER_ID
from ..situation import CLASSIC, IN_TIME, situation
from ..situation_stage import Stage, says


@situation("works", "The copies start together, read and commit, and are asked to stop.", "a Stable group of all copies, and a commit")
async def works(stage: Stage) -> None:
    """Wait for heartbeats of every member, so that there are requests to judge."""
    for copy in stage.copies:
        await stage.happens(stage.beats(copy, times=2))


@situation("static-works", "Static members start together, rebalance once, read and commit.", "the next generation, Stable", static=True,
           protocol=CLASSIC)  # fmt: skip
async def static_works(stage: Stage) -> None:
    """Run static members, each of which has its group.instance.id in all requests."""
    await stage.next_round(await stage.rebalance())
    for copy in stage.copies:
        await stage.happens(stage.beats(copy))


@situation("joins-late", "A copy joins a group that works.", "the next generation, Stable, with it", late=1)
async def joins_late(stage: Stage) -> None:
    """Start one more copy, of which the other members learn by a heartbeat."""
    before = stage.generation
    await stage.start()
    await stage.next_round(before)


@situation("stopped", "One copy is asked to stop (SIGTERM); the others take over.", "its end, and the next generation without it")
async def stopped(stage: Stage) -> None:
    """Stop one of the copies. A dynamic member leaves the group; otherwise the group waits for the end of its session."""
    before, leaver = stage.generation, stage.newest
    stage.stop(leaver)
    await stage.next_round(before)


@situation(
    "killed", "One copy is killed (SIGKILL), its session ends, the others take over; then a new copy takes its place.",
    "a generation without it, and one with its successor",
)  # fmt: skip
async def killed(stage: Stage) -> None:
    """Kill a copy and expire its session by command, because 45 s are too long to wait."""
    before, victim = stage.generation, stage.newest
    member = stage.member_of(victim).member_id
    stage.kill(victim)
    await stage.until("the killed copy to be gone", lambda: victim.status is not None)
    await stage.steer_when("expire_member", group=stage.group, member=member)
    await stage.next_round(before)
    await stage.works()
    before = stage.generation
    await stage.start()
    await stage.next_round(before)


@situation(
    "frozen",
    "One copy is stopped in its tracks (SIGSTOP), its session ends, the others take over; then it goes on (SIGCONT) and is told that"
    " nobody knows it (UNKNOWN_MEMBER_ID).",
    "a generation without it, the refusal, and a generation with it again",
    excuses=IN_TIME,
)
async def frozen(stage: Stage) -> None:
    """Freeze a copy, as a long garbage collection, a sleeping laptop or a throttled container does."""
    before, sleeper = stage.generation, stage.newest
    member = stage.member_of(sleeper).member_id
    stage.freeze(sleeper)
    await stage.steer_when("expire_member", group=stage.group, member=member)
    await stage.next_round(before)
    await stage.works()
    again = stage.joins(sleeper)
    stage.thaw(sleeper)
    await stage.happens(again)


@situation(
    "misses-round",
    "One copy is stopped in its tracks (SIGSTOP) while the group rebalances, the round ends without it, and it goes on.",
    "a generation without it, and one with it again",
    excuses=IN_TIME,
    protocol=CLASSIC,
)
async def misses_round(stage: Stage) -> None:
    """Let a copy miss a rebalance by ending the join phase before the copy has joined, as at its timeout."""
    sleeper = stage.newest
    await stage.settled()
    others = [stage.asks(JOIN_GROUP, copy) for copy in stage.copies if copy is not sleeper]
    stage.freeze(sleeper)
    before = stage.generation
    stage.steer("force_rebalance", group=stage.group, reason="groupmock audit --drive")
    for heard in others:
        await stage.happens(heard)
    await stage.steer_when("complete_delay", group=stage.group)
    await stage.next_round(before)
    again = stage.asks(JOIN_GROUP, sleeper)
    stage.thaw(sleeper)
    await stage.happens(again)


@situation(
    "static-restart", "A static member is killed and started again with its group.instance.id within its session.",
    "its JoinGroup, and the group Stable", static=True, protocol=CLASSIC,
)  # fmt: skip
async def static_restart(stage: Stage) -> None:
    """Restart a static member, which gets its assignment back without a rebalance (KIP-345)."""
    victim = stage.newest
    stage.kill(victim)
    await stage.until("the killed copy to be gone", lambda: victim.status is not None)
    joined = stage.asks(JOIN_GROUP, victim)
    await stage.start(again=victim)
    await stage.happens(joined)


@situation("static-stopped", "A static member is asked to stop (SIGTERM).", "its end", static=True)
async def static_stopped(stage: Stage) -> None:
    """Stop one of the static members. Its membership lasts as long as its session, and a successor starts in time."""
    leaver = stage.newest
    stage.stop(leaver)
    await stage.until("the copy to end", lambda: leaver.status is not None)
    joined = stage.joins(leaver)
    await stage.start(again=leaver)
    await stage.happens(joined)


@situation(
    "twin", "A second process starts with the group.instance.id of one that runs, which is fenced.",
    "a refusal FENCED_INSTANCE_ID (or UNKNOWN_MEMBER_ID, below Heartbeat v3)", static=True, comes_back=False,
    protocol=CLASSIC,
)  # fmt: skip
async def twin(stage: Stage) -> None:
    """Start a second copy with the same instance id, so that the first copy must stop. Heartbeats of the second copy show that time
    passes."""
    first = stage.copies[0]
    fenced = stage.hears("the first of the twins to be refused", lambda row: says(row, FENCED_INSTANCE_ID, UNKNOWN_MEMBER_ID))
    beats = stage.asks(HEARTBEAT, stage.next_name, times=5)
    await stage.start(instance=first.instance_id)
    await stage.happens(fenced)
    await stage.happens(beats)
