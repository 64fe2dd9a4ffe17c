"""Words of one rebalance, for whoever tells of it: the story in several lines, the log in one. `name`: member id to what it is called."""

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
"""How a join phase ends mostly: nothing to be told."""
AT_REST: Final = {EMPTY: "the group is empty", DEAD: "the group is gone"}
NEW_TYPE: Final = ("group_created", UPGRADED, DOWNGRADED)
"""Causes of a move to Dead that makes room for the same group as one of another type (KIP-848)."""
UNSEEN_BEFORE: Final = "; what they had before is not in these rows"
UNSEEN_PLAN: Final = "who got which partitions is not in these rows"


def at_rest(state: str, cause: str | None) -> str:
    """A group without members, one that is gone, or one whose coordinator is."""
    if state == DEAD and cause == LEFT:
        return "the group has no coordinator any more"
    return "the group changes its type" if state == DEAD and cause in NEW_TYPE else AT_REST[state]


def how_it_ended(over: Rebalance) -> str:
    """After how long, and why its join phase ended where that is not as ever."""
    completing = next((phase for phase in reversed(over.phases) if phase.state == COMPLETING_REBALANCE), None)
    because = "" if completing is None or completing.reason.startswith(AS_EVER) else f", {shortened(completing.reason)}"
    took = (over.began if over.ended is None else over.ended) - over.began
    epochs = over.generation_after - over.generation_before
    times, what = (over.times(PREPARING_REBALANCE), "join phases") if over.classic else (epochs, "epochs")
    again = f", {times} {what}" if times > 1 else ""
    return f"after {took / NS_PER_MS:.0f} ms{because}{again}"


def arrivals_told(over: Rebalance, name: Name) -> str:
    """How its members came to the target of a consumer group: those that had to give something up, of at most MOST, and who was last."""
    told = [
        f"{name(member)} gave up what it was told to within {(each.gave_up - each.told) / NS_PER_MS:.0f} ms"
        for member, each in over.arrivals.items()
        if each.told is not None and each.gave_up is not None
    ]
    last = [f"{name(over.last_joined)} came last"] if over.last_joined and len(over.arrivals) > 1 else []
    return "; ".join([*told[:MOST], *last])


def who_leads(over: Rebalance, name: Name) -> str:
    """Its leader."""
    return f"{name(over.leader)} leads" if over.leader else "nobody leads"


def shares_told(over: Rebalance, name: Name) -> dict[str, str]:
    """Member id -> what came of it for that member, of at most MOST; {} without a plan."""
    shares = list(over.shares().items())[:MOST]
    return {member: f"{name(member)} {share_text(share, over.had_known)}{_too_many(over, member, share)}" for member, share in shares}


def _too_many(over: Rebalance, member: str, share: Share) -> str:
    """Why a member has nothing, where more members want its topics than these have partitions."""
    claim = over.plan.claims.get(member) if over.plan is not None else None
    if share.has or claim is None or over.plan is None:
        return ""
    partitions = sum(topic in claim.topics for topic, _ in over.plan.universe)
    members = sum(not claim.topics.isdisjoint(each.topics) for each in over.plan.claims.values())
    return f" ({count(members, 'member')} for {count(partitions, 'partition')})" if 0 < partitions < members else ""


def share_text(share: Share, had_known: bool) -> str:
    """What came of it for one member."""
    if not had_known:
        return f"has {partitions_text(share.has)}" if share.has else "has nothing"
    kept = share.had & share.has
    parts = [f"keeps {partitions_text(kept)}"] if kept else []
    parts += [f"gets {partitions_text(share.got)} (new)"] if share.got else []
    parts += [f"loses {partitions_text(share.lost)}"] if share.lost else []
    return ", ".join(parts) if parts else "gets nothing"


def beside_shares(over: Rebalance) -> str:
    """What is said behind the shares: that nobody knows what they had before, or that members want different topics; "" mostly."""
    claims = over.plan.claims.values() if over.plan is not None else ()
    wishes = {claim.topics for claim in claims if claim.topics}
    unseen = "" if over.had_known else UNSEEN_BEFORE
    return unseen + ("; its members subscribe to DIFFERENT topics" if len(wishes) > 1 else "")
