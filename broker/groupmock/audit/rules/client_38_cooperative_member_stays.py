"""CLIENT-38 requires that a cooperative member that loses nothing does not join again without a cause that the wire shows."""

from __future__ import annotations

from typing import Any, Final

from groupmock_codec.api_keys import FIND_COORDINATOR, HEARTBEAT, JOIN_GROUP, LEAVE_GROUP, METADATA, OFFSET_COMMIT, OFFSET_FETCH, SYNC_GROUP

from ...journal.whose import bytes_of
from ..cooperative_example import ALONE, GIVEN_UP, HEADER, JOINED, ONE_TAKEN
from ..inside import STICKY, Subscribed, cooperative_of, told_by
from ..judgement import OWN_REASON
from ..rule import KEPT, WARNING, Broken, Judgements, Rule, answered, asked, asked_again, refused
from ..subjects import Exchange, Member

LOOKED: Final = "A: Metadata topics=[{name: $t1}] -> any\n"
STAYING: Final = frozenset((STICKY, "coop-d1"))
"""Protocols that have no timers after which a member joins again."""
NEWS: Final = "CLIENT-38 news"
"""The key of a note about the time at which a member last learned of changed topics."""


class Settled:
    """An assignment that took no partition from the member, whether the member has had a reason to join again since then, and
    whether it has stayed until its first heartbeat."""

    __slots__ = ("claim", "counts", "reason", "stayed", "sync")

    def __init__(self, sync: Exchange, claim: Subscribed, counts: dict[str, Any]) -> None:
        self.sync, self.claim, self.counts = sync, claim, counts
        self.reason = self.stayed = False


class NoNeedlessRound(Rule):
    code = "CLIENT-38"
    title = "A cooperative member that loses nothing does not start another round by itself"
    severity = WARNING
    what = (
        "After an assignment that takes nothing away, a cooperative member joins again only if it is told to (27 or another error), its "
        "subscription changes, or partitions do. An application may ask for a rebalance too; below JoinGroup 8 the wire does not show that."
    )
    why = "A JoinGroup of the leader, or with other metadata, is a round of the whole group: everybody joins and syncs again, for nothing."
    source = ("clients.md#client-38", "KIP-429", "ConsumerCoordinator.rejoinNeededOrPending")
    fix = "Join again only if partitions were revoked, the group rebalances, or subscription or metadata changed."
    kept = HEADER + LOOKED + ALONE + "A: Heartbeat -> 0" + JOINED + ONE_TAKEN + GIVEN_UP
    broken = (
        HEADER
        + LOOKED
        + ALONE
        + """
pause 300
A: JoinGroup protocols=[p("cooperative-sticky", subscribed(3, ["$t1"], 1, held("$t1", 0, 1)))] -> 0 generation_id=2
"""
    )

    @answered(SYNC_GROUP)
    def settles(self, x: Exchange) -> Judgements:
        """Note an assignment after which the member has no reason to join again. Designs II and III let a member join again after a
        while, and an unknown protocol may."""
        member = x.member
        if member is None or x.answer is None or not x.heard or x.error or member.wish is None or member.wish is not member.joined:
            return
        claim, told = cooperative_of(member.wish, member.protocol), told_by(member, bytes_of(x.answer["assignment"]))
        if claim is None or claim.protocol not in STAYING or told is None or claim.owned - told:
            return
        settled = member.notes[self.code] = Settled(x, claim, self._counts(claim))
        assert member.joined.answered is not None
        # The leader's assignment does not consider topics that changed after it got the list of members. librdkafka lets followers join
        # again for that, too (rd_kafka_cgrp_metadata_update_check).
        settled.reason = bool(x.link.open.keys() - {x.ticket}) or member.notes.get(NEWS, -1) >= member.joined.answered
        yield from ()

    @refused(HEARTBEAT, OFFSET_COMMIT, OFFSET_FETCH, JOIN_GROUP, SYNC_GROUP, LEAVE_GROUP)
    @answered(METADATA, FIND_COORDINATOR)
    def hears(self, x: Exchange) -> Judgements:
        """Note a reason to join again: an error, a lost answer, a look-up of the coordinator, or changed topics."""
        member = x.member or self.world.processes.sole_member(x.link) or x.link.last
        settled: Settled | None = None if member is None else member.notes.get(self.code)
        if x.key == METADATA and member is not None:
            member.notes[NEWS] = x.answered
        if settled is not None and settled.sync is not x:
            told = x.key in (METADATA, FIND_COORDINATOR)
            settled.reason = settled.reason or told or bool(x.errors) or x.abandoned or not x.heard
        yield from ()

    @asked(JOIN_GROUP)
    def joins(self, x: Exchange) -> Judgements:
        """Judge a JoinGroup with the same Subscription on the same connection while no other request is open."""
        member = x.member
        settled: Settled | None = None if member is None else member.notes.pop(self.code, None)
        claim = cooperative_of(x, "" if member is None else member.protocol)
        if settled is None or claim is None or member is None or member.joined is None or member.synced is not settled.sync:
            return
        # A member may have asked for topics, and learned of changes, on a connection that the journal does not show.
        if None in settled.counts.values():
            return
        wanted = claim.topics != settled.claim.topics or "enforce" in str(x.asked.get("reason") or "")
        if wanted or self._may_have_reason(x, member, settled):
            yield OWN_REASON
            return
        yield Broken(
            f"{member.name} has lost nothing, was told of nothing new, and joins again, for the assignment that it has",
            (*settled.sync.rows, x.seq),
            "stay in the generation until there is something new; a rebalance that the application asked for says so in `reason`",
        )

    @asked_again(HEARTBEAT)
    def stays(self, x: Exchange) -> Judgements:
        """Note that the member has stayed in its generation until its first heartbeat, where a JoinGroup would have been needless."""
        settled: Settled | None = None if x.member is None else x.member.notes.get(self.code)
        if x.member is None or settled is None or settled.stayed or x.asked["generation_id"] != settled.sync.asked["generation_id"]:
            return
        settled.stayed = True
        uncertain = None in settled.counts.values() or self._may_have_reason(x, x.member, settled)
        yield OWN_REASON if uncertain else KEPT

    def _may_have_reason(self, x: Exchange, member: Member, settled: Settled) -> bool:
        """Return whether the client may have learnt something for which it would join again."""
        alone = self.world.processes.sole_member(x.link) is member
        return (
            settled.reason
            or not alone
            or x.link is not settled.sync.link
            or bool(x.link.open)
            or bool(settled.claim.rack)
            or self._counts(settled.claim) != settled.counts
        )

    def _counts(self, claim: Subscribed) -> dict[str, Any]:
        return {topic: self.world.partitions.get(topic) for topic in claim.topics}
