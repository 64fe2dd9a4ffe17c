"""CLIENT-23 requires a pause before a request is repeated after COORDINATOR_LOAD_IN_PROGRESS (14)."""

from __future__ import annotations

from typing import ClassVar, Final

from ..pace import PACED, again, note_refusal
from ..rule import Judgements, Rule, answered_again, asked_again
from ..subjects import COORDINATOR_LOAD_IN_PROGRESS, Exchange

CODES: Final = frozenset({COORDINATOR_LOAD_IN_PROGRESS})


class WaitsWhileLoading(Rule):
    code = "CLIENT-23"
    title = "After COORDINATOR_LOAD_IN_PROGRESS the request is repeated with a backoff"
    what = "A request answered 14 is sent again to the same coordinator, with a pause before each try."
    why = (
        "The coordinator reads its log and will have the group soon, at the same place. Whoever asks again at once, again and again, keeps "
        "it from that: after a broker's restart all clients do so together."
    )
    source = ("clients.md#client-23", "KIP-580")
    fix = "Wait for retry.backoff.ms, growing with each refusal, before a refused request is sent again."
    implies = ("CLIENT-26", "CLIENT-48")
    kept = """
topics: t1:1
do stable1(A)
!move_coordinator partition=hash($group, 50) loading_ms=500
A: OffsetFetch v7 require_stable=true topics=[want($t1, 0)] -> 14
pause 600
A: OffsetFetch v7 require_stable=true topics=[want($t1, 0)] -> 0
"""
    broken = """
topics: t1:1
do stable1(A)
!move_coordinator partition=hash($group, 50) loading_ms=1000
A: OffsetFetch v7 require_stable=true topics=[want($t1, 0)] -> 14
A: OffsetFetch v7 require_stable=true topics=[want($t1, 0)] -> 14
A: OffsetFetch v7 require_stable=true topics=[want($t1, 0)] -> 14
A: OffsetFetch v7 require_stable=true topics=[want($t1, 0)] -> 14
"""
    also_broken: ClassVar[dict[str, str]] = {
        "joins-every-25-ms": """
do stable1(A)
!move_coordinator partition=hash($group, 50) loading_ms=1000
repeat 11
A: JoinGroup -> 14
pause 25
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
