"""Situations with rebalances in every state of a group, with slow and lost rebalances, and with expiring sessions."""

from __future__ import annotations

from groupmock_codec.api_keys import HEARTBEAT, JOIN_GROUP, SYNC_GROUP
from groupmock_codec.group_states import COMPLETING_REBALANCE, PREPARING_REBALANCE

from ..situation import CLASSIC, rule, situation
from ..situation_stage import Stage


@situation("rebalance", "A Stable group is made to rebalance.", "the next generation, Stable", protocol=CLASSIC)
async def rebalance(stage: Stage) -> None:
    """Force a rebalance, of which members learn by the answer REBALANCE_IN_PROGRESS (27) to a heartbeat."""
    await stage.next_round(await stage.rebalance())


@situation(
    "long-join", "A rebalance whose join phase lasts: everybody has joined and waits for the answer (PreparingRebalance).",
    "a JoinGroup of every copy, and the next generation", protocol=CLASSIC,
)  # fmt: skip
async def long_join(stage: Stage) -> None:
    """Hold the join phase, as a member does that does not join."""
    await _held(stage, PREPARING_REBALANCE, JOIN_GROUP)


@situation(
    "long-sync", "A rebalance whose sync phase lasts: everybody waits for an assignment (CompletingRebalance).",
    "a SyncGroup of every copy, and the next generation, Stable", protocol=CLASSIC,
)  # fmt: skip
async def long_sync(stage: Stage) -> None:
    """Hold the sync phase, as a leader does that takes long to assign."""
    await _held(stage, COMPLETING_REBALANCE, SYNC_GROUP)


@situation(
    "rebalance-in-sync", "The group rebalances again while it is CompletingRebalance: the leader's SyncGroup is answered"
    " REBALANCE_IN_PROGRESS.",
    "the second rebalance, and a generation after it, Stable", protocol=CLASSIC,
)  # fmt: skip
async def rebalance_in_sync(stage: Stage) -> None:
    """Force a second rebalance while the members wait for their assignments."""
    await stage.settled()
    stage.break_by(rule("SyncGroup", "force_rebalance", "again", state=COMPLETING_REBALANCE, role="leader", nth=1))
    before = await stage.rebalance()
    await stage.strikes("again")
    await stage.next_round(before + 1)


@situation(
    "rebalance-in-join", "A copy is asked to stop while the group rebalances and everybody has joined (PreparingRebalance).",
    "a JoinGroup of every copy, the end of one, and the next generation without it", protocol=CLASSIC,
)  # fmt: skip
async def rebalance_in_join(stage: Stage) -> None:
    """Stop a copy while its JoinGroup waits, when it may or may not send a LeaveGroup."""
    leaver = stage.newest
    member = stage.member_of(leaver).member_id
    await stage.settled()
    joins = [stage.asks(JOIN_GROUP, copy) for copy in stage.copies]
    stage.steer("hold_group", group=stage.group, state=PREPARING_REBALANCE)
    before = await stage.rebalance()
    for heard in joins:
        await stage.happens(heard)
    stage.stop(leaver)
    await stage.watches(5, lambda: leaver.status is not None)  # The program's leaving copy may first wait for the answer to its JoinGroup.
    stage.steer("release_group", group=stage.group)
    await stage.until("the copy to end", lambda: leaver.status is not None)
    view = stage.view
    if view is not None and any(each.member_id == member for each in view.members):
        await stage.steer_when("expire_member", group=stage.group, member=member)
    await stage.next_round(before)


@situation("session-ends", "The session of a copy that lives ends: the group goes on without it.", "that copy to join again")
async def session_ends(stage: Stage) -> None:
    """Expire the session of a member, so that its next heartbeat is answered with UNKNOWN_MEMBER_ID (25)."""
    before, copy = stage.generation, stage.newest
    member = stage.member_of(copy).member_id
    again = stage.joins(copy)
    await stage.steer_when("expire_member", group=stage.group, member=member)
    await stage.happens(again)
    await stage.next_round(before)


@situation(
    "all-sessions-end", "The sessions of all copies end at once, as when the coordinator was cut off for long.", "every copy to join again"
)
async def all_sessions_end(stage: Stage) -> None:
    """Expire all sessions, so that the group begins anew."""
    again = [stage.joins(copy) for copy in stage.copies]
    for member in [stage.member_of(copy).member_id for copy in stage.copies]:
        await stage.steer_when("expire_member", group=stage.group, member=member)
    for heard in again:
        await stage.happens(heard)


@situation("leader-changes", "Another copy than before leads the next generation.", "the next generation, Stable, with another leader",
           protocol=CLASSIC)  # fmt: skip
async def leader_changes(stage: Stage) -> None:
    """Change the leader, so that the old leader must follow and a follower must assign."""
    await stage.settled()
    view = stage.view
    follower = next((each.member_id for each in view.members if each.member_id != view.leader), None) if view is not None else None
    if follower is not None:
        stage.steer("choose_leader", group=stage.group, member=follower)
    await stage.next_round(await stage.rebalance())


@situation("many-rebalances", "The group rebalances ten times, each time as soon as it is Stable.", "ten generations, Stable",
           protocol=CLASSIC)  # fmt: skip
async def many_rebalances(stage: Stage) -> None:
    """Force many rebalances with a heartbeat of every member in between, so that each rebalance is noticed."""
    for _ in range(10):
        await stage.next_round(await stage.rebalance())
    await stage.happens(stage.asks(HEARTBEAT))


async def _held(stage: Stage, state: str, key: int) -> None:
    """Hold the group in a state of a rebalance until every copy has sent the request with that API key, and a while longer."""
    await stage.settled()
    asked = [stage.asks(key, copy) for copy in stage.copies]
    stage.steer("hold_group", group=stage.group, state=state)
    before = await stage.rebalance()
    for heard in asked:
        await stage.happens(heard)
    await stage.watches(2)
    stage.steer("release_group", group=stage.group)
    await stage.next_round(before)
