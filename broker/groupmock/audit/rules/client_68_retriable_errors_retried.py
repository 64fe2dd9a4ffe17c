"""CLIENT-68 requires that a request refused with a retriable error is not repeated at once, over and over."""

from __future__ import annotations

from typing import ClassVar, Final

from groupmock_codec.error_codes import RETRIABLE

from ..pace import PACED, again, note_refusal
from ..rule import Judgements, Rule, answered_again, asked_again
from ..subjects import COORDINATOR_LOAD_IN_PROGRESS, REBALANCE_IN_PROGRESS, UNSTABLE_OFFSET_COMMIT, Exchange

CODES: Final = RETRIABLE - {COORDINATOR_LOAD_IN_PROGRESS, UNSTABLE_OFFSET_COMMIT} | {REBALANCE_IN_PROGRESS}
"""Retriable errors except COORDINATOR_LOAD_IN_PROGRESS (14), which CLIENT-23 judges, and UNSTABLE_OFFSET_COMMIT (88), which CLIENT-44
judges."""


class BacksOff(Rule):
    code = "CLIENT-68"
    title = "Errors that pass by themselves are retried with a backoff"
    what = (
        "A request that was refused with a retriable error (NOT_COORDINATOR, COORDINATOR_NOT_AVAILABLE, REBALANCE_IN_PROGRESS, "
        "LEADER_NOT_AVAILABLE, ...) is sent again after a pause."
    )
    why = "A loop without a pause takes the broker's time and the client's own, at the moment when the cluster has the least of it."
    source = ("clients.md#client-68", "KIP-580")
    fix = "Wait for retry.backoff.ms, growing with each refusal, before a refused request is sent again."
    implies = ("CLIENT-24", "CLIENT-26", "CLIENT-48")
    kept = """
do stable1(A)
!unload_coordinator partition=hash($group, 50)
A: FindCoordinator -> 15
pause 200
A: FindCoordinator -> 15
"""
    broken = """
do stable1(A)
!unload_coordinator partition=hash($group, 50)
A: FindCoordinator -> 15
A: FindCoordinator -> 15
A: FindCoordinator -> 15
A: FindCoordinator -> 15
"""
    also_kept: ClassVar[dict[str, str]] = {
        "with-backoff": """
do stable1(A)
!unload_coordinator partition=hash($group, 50)
repeat 20
A: FindCoordinator -> 15
pause 80
end
""",
    }
    also_broken: ClassVar[dict[str, str]] = {
        "every-25-ms": """
do stable1(A)
!unload_coordinator partition=hash($group, 50)
repeat 11
A: FindCoordinator -> 15
pause 25
end
""",
        "joins-at-once": """
do stable1(A)
!unload_coordinator partition=hash($group, 50)
repeat 4
A: JoinGroup -> 16
A: FindCoordinator -> 15
pause 1
end
""",
    }

    @answered_again(*PACED)
    def refused(self, x: Exchange) -> Judgements:
        note_refusal(x, self.code, CODES)
        return iter(())

    @asked_again(*PACED)
    def again(self, x: Exchange) -> Judgements:
        yield from again(x.link.notes.get(self.code, {}), x)
