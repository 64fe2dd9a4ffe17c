"""CLIENT-44 requires that a member's OffsetFetch sets require_stable, and that the member waits after UNSTABLE_OFFSET_COMMIT (88)."""

from __future__ import annotations

from typing import ClassVar, Final

from groupmock_codec.api_keys import OFFSET_FETCH

from ..course import course_of
from ..pace import again, note_refusal
from ..rule import KEPT, WARNING, Broken, Judgements, Rule, answered_again, asked
from ..streams_example import HEADER, JOINED
from ..subjects import UNSTABLE_OFFSET_COMMIT, Exchange

SINCE: Final = 7
"""OffsetFetch has `require_stable` from this version on (KIP-447)."""
CODES: Final = frozenset({UNSTABLE_OFFSET_COMMIT})


class AsksForStableOffsets(Rule):
    code = "CLIENT-44"
    title = "A member's OffsetFetch requires stable offsets"
    severity = WARNING
    what = (
        "OffsetFetch of a group's member has `require_stable` set, whatever its isolation level, in every version that has the field (7). "
        "What is answered UNSTABLE_OFFSET_COMMIT (88) is asked again after a pause."
    )
    why = (
        "Offsets that a transaction has written and not yet committed are left out otherwise: the new owner starts where the old one "
        "began, and what the transaction covers is read twice."
    )
    source = ("clients.md#client-44", "KIP-447", "ConsumerCoordinator.sendOffsetFetchRequest")
    fix = "Set require_stable in every OffsetFetch after an assignment, and try again with a backoff on 88."
    kept = """
topics: t1:1
do stable1(A)
A: OffsetFetch v7 require_stable=true topics=[want($t1, 0)] -> 0
"""
    broken = """
topics: t1:1
do stable1(A)
A: OffsetFetch v7 require_stable=false topics=[want($t1, 0)] -> 0
"""

    also_kept: ClassVar[dict[str, str]] = {
        "in-a-streams-group": f"""{HEADER}{JOINED}
A: OffsetFetch v7 require_stable=true topics=[want($t1, 0)] -> 0
""",
    }
    also_broken: ClassVar[dict[str, str]] = {
        "in-a-streams-group": f"""{HEADER}{JOINED}
A: OffsetFetch v7 require_stable=false topics=[want($t1, 0)] -> 0
""",
    }

    @answered_again(OFFSET_FETCH)
    def refused(self, x: Exchange) -> Judgements:
        note_refusal(x, self.code, CODES)
        return iter(())

    @asked(OFFSET_FETCH)
    def asks(self, x: Exchange) -> Judgements:
        """Judge an OffsetFetch on the connection of a member of that group, because administrators may read any offsets."""
        yield from again(x.link.notes.get(self.code, {}), x)
        member, course = x.link.last, course_of(x.link.last)
        if x.version < SINCE or member is None or member.gone or member.group is not x.group:
            return
        since = member.joined if course is None else course.told
        if since is None:
            return
        if x.asked["require_stable"]:
            yield KEPT
        else:
            yield Broken(
                f"{member.name} asks for committed offsets and takes those that a transaction may still change",
                (*since.rows, x.seq),
                "OffsetFetch with require_stable",
            )
