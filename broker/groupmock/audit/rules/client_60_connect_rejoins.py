"""CLIENT-60 requires that a Connect worker joins again at once after a revocation, and after a delay when the delay is over."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from groupmock_codec.api_keys import JOIN_GROUP, SYNC_GROUP
from groupmock_codec.units import NS_PER_MS

from ...journal.whose import bytes_of
from ..inside import CONNECT, work
from ..judgement import SILENT
from ..order import GRACE_NS
from ..rule import KEPT, Broken, Judgements, Rule, answered, asked
from ..subjects import Exchange, Member


class Expected(NamedTuple):
    """A worker that has to join again: the SyncGroup, the reason, and a function that cancels the later check that it did."""

    sync: Exchange
    why: str
    off: Callable[[], None]


class WorkerComesAgain(Rule):
    code = "CLIENT-60"
    title = "A Connect worker joins again after a revocation, and when a delay is over"
    what = (
        "An assignment that revokes something is followed by a JoinGroup once that is stopped; one with a scheduled delay by a JoinGroup "
        "when "
        "the delay is over, or before. Either way the rebalance timeout may pass in addition, not more."
    )
    why = "What was revoked, or waits for a worker that may come back, runs nowhere until that round."
    source = ("clients.md#client-60", "KIP-415", "WorkerCoordinator", "DistributedHerder")
    fix = "Ask for a rejoin when revoked connectors and tasks are stopped, and set a timer of the delay that the assignment names."
    kept = """
member *: rebalance_timeout_ms=1000 protocol_type=connect protocols=[p("compatible", worker(1, "u", 5))]
do completing1(A)
A: SyncGroup assignments=[for($A.member_id, work(1, [], [], 500))] -> 0
pause 500
A: JoinGroup -> 0
"""
    broken = """
member *: rebalance_timeout_ms=1000 protocol_type=connect protocols=[p("compatible", worker(1, "u", 5))]
do completing1(A)
A: SyncGroup assignments=[for($A.member_id, work(1, [], [], 300))] -> 0
repeat 5
pause 400
A: Heartbeat -> 0
end
"""

    @answered(SYNC_GROUP)
    def told(self, x: Exchange) -> Judgements:
        """Note an assignment, which replaces the one before and its delay."""
        member = x.member
        if member is None or member.protocol_type != CONNECT or x.answer is None or not x.heard or x.error or x.answered is None:
            return
        self._call_off(member)
        found = work(bytes_of(x.answer["assignment"]))
        if found is None or found.wrong is not None or found.error or not (found.revoked or found.delay > 0):
            return
        why = f"was told to stop {len(found.revoked)} connectors and tasks" if found.revoked else f"was given a delay of {found.delay} ms"
        due = x.answered + (0 if found.revoked else found.delay * NS_PER_MS) + member.rebalance_ns + GRACE_NS
        member.notes[self.code] = Expected(x, why, self.later(due, member, lambda: self._late(member)))
        yield from ()

    @asked(JOIN_GROUP)
    def comes_again(self, x: Exchange) -> Judgements:
        """Note that the worker has joined again, for this reason or another."""
        if x.member is not None and self._call_off(x.member) is not None:
            yield KEPT

    def _call_off(self, member: Member) -> Expected | None:
        expected: Expected | None = member.notes.pop(self.code, None)
        if expected is not None:
            expected.off()
        return expected

    def _late(self, member: Member) -> Judgements:
        expected: Expected | None = member.notes.pop(self.code, None)
        if expected is None or member.joining is not None:
            return
        if member.seen + member.session_ns < self.world.now:
            yield SILENT
            return
        assert expected.sync.answered is not None
        waited = (self.world.now - expected.sync.answered) // NS_PER_MS
        yield Broken(
            f"{member.name} {expected.why} and has not joined again for {waited} ms",
            expected.sync.rows,
            "a JoinGroup once everything that was revoked is stopped, and when the delay is over",
        )
