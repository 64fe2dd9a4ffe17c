"""Describe one rebalance, in several lines for a story or in one line for the log. `name` maps a member id to its name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from groupmock_codec.group_states import COMPLETING_REBALANCE, DEAD, EMPTY, PREPARING_REBALANCE
from groupmock_codec.units import NS_PER_MS

from ..rounds import Rebalance, Share
from ..rounds.group_fold import DOWNGRADED, LEFT, UPGRADED
from .words import MOST, count, partitions_text, shortened

Name = Callable[[str], str]

AS_EVER: Final = ("all members joined", "nobody else is awaited")
"""The usual reasons for the end of a join phase, which are not mentioned."""
AT_REST: Final = {EMPTY: "the group is empty", DEAD: "the group is gone"}
NEW_TYPE: Final = ("group_created", UPGRADED, DOWNGRADED)
"""Causes of a move to Dead after which the same group exists with another type (KIP-848)."""
UNSEEN_BEFORE: Final = "; what they had before is not in these rows"
UNSEEN_PLAN: Final = "who got which partitions is not in these rows"


def at_rest(state: str, cause: str | None) -> str:
    """Return a description of a group that has no members, is deleted, or has no coordinator."""
    if state == DEAD and cause == LEFT:
        return "the group has no coordinator any more"
    return "the group changes its type" if state == DEAD and cause in NEW_TYPE else AT_REST[state]


def how_it_ended(over: Rebalance) -> str:
    """Return how long the rebalance took, and why its join phase ended if the reason is unusual."""
    completing = next((phase for phase in reversed(over.phases) if phase.state == COMPLETING_REBALANCE), None)
    because = "" if completing is None or completing.reason.startswith(AS_EVER) else f", {shortened(completing.reason)}"
    took = (over.began if over.ended is None else over.ended) - over.began
    epochs = over.generation_after - over.generation_before
    times, what = (over.times(PREPARING_REBALANCE), "join phases") if over.classic else (epochs, "epochs")
    again = f", {times} {what}" if times > 1 else ""
    return f"after {took / NS_PER_MS:.0f} ms{because}{again}"


def arrivals_told(over: Rebalance, name: Name) -> str:
    """Return how members of a consumer group reached the target assignment: those that had to give up partitions, at most MOST of them,
    and the last one."""
    told = [
        f"{name(member)} gave up what it was told to within {(each.gave_up - each.told) / NS_PER_MS:.0f} ms"
        for member, each in over.arrivals.items()
        if each.told is not None and each.gave_up is not None
    ]
    last = [f"{name(over.last_joined)} came last"] if over.last_joined and len(over.arrivals) > 1 else []
    return "; ".join([*told[:MOST], *last])


def who_leads(over: Rebalance, name: Name) -> str:
    """Return a description of the group's leader."""
    return f"{name(over.leader)} leads" if over.leader else "nobody leads"


def shares_told(over: Rebalance, name: Name) -> dict[str, str]:
    """Return a description of each member's assignment from the rebalance by member id, for at most MOST members. Empty without a plan."""
    shares = list(over.shares().items())[:MOST]
    return {member: f"{name(member)} {share_text(share, over.had_known)}{_too_many(over, member, share)}" for member, share in shares}


def _too_many(over: Rebalance, member: str, share: Share) -> str:
    """Return why a member has no partition, if more members subscribe to its topics than these have partitions."""
    claim = over.plan.claims.get(member) if over.plan is not None else None
    if share.has or claim is None or over.plan is None:
        return ""
    partitions = sum(topic in claim.topics for topic, _ in over.plan.universe)
    members = sum(not claim.topics.isdisjoint(each.topics) for each in over.plan.claims.values())
    return f" ({count(members, 'member')} for {count(partitions, 'partition')})" if 0 < partitions < members else ""


def share_text(share: Share, had_known: bool) -> str:
    """Return a description of what the rebalance assigned to one member."""
    if not had_known:
        return f"has {partitions_text(share.has)}" if share.has else "has nothing"
    kept = share.had & share.has
    parts = [f"keeps {partitions_text(kept)}"] if kept else []
    parts += [f"gets {partitions_text(share.got)} (new)"] if share.got else []
    parts += [f"loses {partitions_text(share.lost)}"] if share.lost else []
    return ", ".join(parts) if parts else "gets nothing"


def beside_shares(over: Rebalance) -> str:
    """Return a remark if the earlier assignments are unknown or the members want different topics, otherwise ""."""
    claims = over.plan.claims.values() if over.plan is not None else ()
    wishes = {claim.topics for claim in claims if claim.topics}
    unseen = "" if over.had_known else UNSEEN_BEFORE
    return unseen + ("; its members subscribe to DIFFERENT topics" if len(wishes) > 1 else "")
