"""CLIENT-42 requires that a member neither fetches nor commits a partition that it gave up."""

from __future__ import annotations

from typing import Final

from groupmock_codec.api_keys import FETCH, JOIN_GROUP, OFFSET_COMMIT, SYNC_GROUP

from ...journal.whose import bytes_of
from ...rounds.embedded import Partitions
from ..cooperative_example import ALONE, GIVEN_UP, HEADER, JOINED, ONE_TAKEN
from ..inside import cooperative_of, named, told_by
from ..rule import KEPT, Broken, Judgements, Rule, answered, asked
from ..subjects import Exchange, Member, committed_of, fetched_of

ONE_GIVEN_UP: Final = HEADER + ALONE + "A: OffsetFetch require_stable=true topics=[want($t1, 0, 1)] -> any" + JOINED + ONE_TAKEN + GIVEN_UP


class GivenUp:
    """Partitions that a member had and claims no more, with the JoinGroup that no longer lists them."""

    __slots__ = ("join", "partitions")

    def __init__(self) -> None:
        self.partitions: Partitions = frozenset()
        self.join: Exchange | None = None


class LeavesTheRevoked(Rule):
    code = "CLIENT-42"
    title = "A cooperative member neither reads nor commits what it has given up"
    what = (
        "Once a JoinGroup of a cooperative member no longer lists a partition that it had, the member sends no Fetch and no OffsetCommit "
        "for it until it is given it again."
    )
    why = "Another member may have it by now: records are read twice, and a late commit sets the new owner's offsets back."
    source = ("clients.md#client-42", "KIP-429")
    implies = ("CLIENT-67",)
    fix = "Stop fetching, and commit what is to be committed, before the JoinGroup that drops the partition is sent."
    kept = f"""{ONE_GIVEN_UP}
pause 300
A: OffsetCommit topics=[t($t1, o(0, 1))] -> 0
A: Fetch v12 topics=[read($t1, 0, 0)] -> any
"""
    broken = f"""{ONE_GIVEN_UP}
pause 300
A: OffsetCommit topics=[t($t1, o(1, 1))] -> 0
A: Fetch v12 topics=[read($t1, 1, 0)] -> any
"""

    @asked(JOIN_GROUP)
    def drops(self, x: Exchange) -> Judgements:
        """Note partitions that the member no longer claims, because it gave them up."""
        member = x.member
        claim = None if member is None else cooperative_of(x, member.protocol)
        if member is not None and claim is not None and member.told is not None:
            had = member.told | (member.had or frozenset())
            given_up = member.note(self.code, GivenUp)
            given_up.partitions, given_up.join = (given_up.partitions | had) - claim.owned, x
        yield from ()

    @answered(SYNC_GROUP)
    def gets(self, x: Exchange) -> Judgements:
        """Note partitions that the member gets again. If its assignment is lost or unreadable, nothing is known."""
        member = x.member
        given_up: GivenUp | None = None if member is None else member.notes.get(self.code)
        if given_up is not None and member is not None and x.answer is not None and not x.error:
            told = told_by(member, bytes_of(x.answer["assignment"]))
            given_up.partitions = frozenset() if told is None else given_up.partitions - told
        yield from ()

    @asked(OFFSET_COMMIT)
    def commits(self, x: Exchange) -> Judgements:
        """Judge commits on the connection of the JoinGroup, or long enough after the JoinGroup."""
        given_up = self._of(x, x.member)
        if given_up is not None:
            names = self.world.topic_names  # OffsetCommit names a topic by its id from version 10 on.
            committed = frozenset((names.get(topic, topic), number) for topic, number in committed_of(x))
            yield from self._judged(x, given_up, committed, "commits offsets of")

    @asked(FETCH)
    def reads(self, x: Exchange) -> Judgements:
        """Judge a Fetch of a process that has only one member."""
        given_up = self._of(x, x.member)
        if given_up is not None:
            yield from self._judged(x, given_up, fetched_of(x, self.world.topic_names), "reads")

    def _of(self, x: Exchange, member: Member | None) -> GivenUp | None:
        given_up: GivenUp | None = None if member is None else member.notes.get(self.code)
        if given_up is None or given_up.join is None or not given_up.partitions:
            return None
        return given_up if self.sent_later(x, given_up.join) else None

    def _judged(self, x: Exchange, given_up: GivenUp, partitions: Partitions, does: str) -> Judgements:
        wrong = partitions & given_up.partitions
        if not wrong:
            yield KEPT
            return
        assert x.member is not None and given_up.join is not None
        yield Broken(
            f"{x.member.name} {does} {named(wrong)}, which it has given up: its JoinGroup does not list it any more",
            (given_up.join.seq, x.seq),
            "commit and stop reading before the JoinGroup that no longer lists the partition",
        )
