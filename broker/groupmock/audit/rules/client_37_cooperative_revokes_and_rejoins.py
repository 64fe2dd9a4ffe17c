"""CLIENT-37 requires that a cooperative member gives up revoked partitions and joins again without them."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from groupmock_codec.api_keys import JOIN_GROUP, SYNC_GROUP
from groupmock_codec.units import NS_PER_MS

from ...journal.whose import bytes_of
from ...rounds.embedded import Partitions
from ..cooperative_example import ALONE, GIVEN_UP, HEADER, JOINED, ONE_TAKEN
from ..inside import cooperative_of, named, told_by
from ..judgement import SILENT, UNREADABLE
from ..order import GRACE_NS
from ..rule import Broken, Judgements, Rule, answered, asked
from ..subjects import Exchange, Member


class Taken(NamedTuple):
    """The partitions that an assignment revokes, and a function that cancels the later check that the member has joined again."""

    sync: Exchange
    partitions: Partitions
    off: Callable[[], None]


class RejoinsWithoutTheRevoked(Rule):
    code = "CLIENT-37"
    title = "A cooperative member that loses partitions joins again without them"
    what = (
        "After an assignment that lacks partitions which it claimed, a cooperative member revokes them and sends a JoinGroup that does not "
        "list them, within its rebalance timeout at the latest."
    )
    why = (
        "Nobody else can get these partitions before that second round: while the member is silent, or claims them still, nobody reads "
        "them."
    )
    source = ("clients.md#client-37", "embedded-protocols.md#eager-and-cooperative", "KIP-429", "ConsumerCoordinator.onJoinComplete")
    fix = (
        "Compare what is owned with the new assignment; if something is gone, revoke it, take it out of what is owned, and join again at "
        "once."
    )
    implies = ("CLIENT-36",)
    kept = HEADER + ALONE + JOINED + ONE_TAKEN + GIVEN_UP
    broken = (
        HEADER
        + ALONE
        + JOINED
        + ONE_TAKEN
        + """
repeat 3
pause 500
A: Heartbeat -> 0
B: Heartbeat -> 0
end
"""
    )

    @answered(SYNC_GROUP)
    def takes(self, x: Exchange) -> Judgements:
        """Note that the assignment lacks a partition that the member claimed, so that the member must join again."""
        member = x.member
        if member is None or x.answer is None or not x.heard or x.error or member.wish is None or member.wish is not member.joined:
            return
        claim, told = cooperative_of(member.wish, member.protocol), told_by(member, bytes_of(x.answer["assignment"]))
        if claim is None or told is None or x.answered is None or not claim.owned - told:
            return
        self._call_off(member)
        due = x.answered + member.rebalance_ns + GRACE_NS
        off = self.later(due, member, lambda: self._late(member))
        member.notes[self.code] = Taken(x, claim.owned - told, off)
        yield from ()

    @asked(JOIN_GROUP)
    def comes_again(self, x: Exchange) -> Judgements:
        """Judge whether the member still claims partitions that it had to give up."""
        member = x.member
        taken = None if member is None else self._call_off(member)
        if taken is None or member is None:
            return
        claim = cooperative_of(x, member.protocol)
        if claim is None:
            yield UNREADABLE
            return
        still = claim.owned & taken.partitions
        if not still or not self.knew(x, taken.sync):
            yield self.right(x, taken.sync)
        else:
            yield Broken(
                f"{member.name} was told to give up {named(still)} and claims it still when it joins again",
                (*taken.sync.rows, x.seq),
                "a JoinGroup whose owned partitions are those of the assignment",
            )

    def _call_off(self, member: Member) -> Taken | None:
        taken: Taken | None = member.notes.pop(self.code, None)
        if taken is not None:
            taken.off()
        return taken

    def _late(self, member: Member) -> Judgements:
        taken: Taken | None = member.notes.pop(self.code, None)
        if taken is None or member.joining is not None:
            return
        # A client that sent nothing in the second half of the time may have been stopped in the first.
        half = self.world.now - member.rebalance_ns // 2
        if member.seen < max(half, self.world.now - member.session_ns):
            yield SILENT
            return
        waited = member.rebalance_ns // NS_PER_MS
        yield Broken(
            f"{member.name} was told to give up {named(taken.partitions)} and has not joined again for {waited} ms",
            taken.sync.rows,
            "revoke them and join again at once, so that another member can be given them",
        )
