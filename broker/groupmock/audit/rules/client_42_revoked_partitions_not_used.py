"""CLIENT-42 requires that a member neither fetches nor commits a partition that it gave up."""

from __future__ import annotations

from typing import ClassVar, Final

from groupmock_codec.api_keys import FETCH, JOIN_GROUP, OFFSET_COMMIT, SYNC_GROUP

from ...journal.whose import bytes_of
from ...rounds.embedded import Partitions
from ..cooperative_example import ALONE, GIVEN_UP, HEADER, JOINED, ONE_TAKEN
from ..inside import cooperative_of, kept_in, named, told_by
from ..judgement import IN_SESSION, UNREADABLE
from ..request_contents import fetched_of
from ..rule import KEPT, Broken, Judgements, Rule, answered, asked, asked_again
from ..subjects import Exchange, Member, committed_of

ONE_GIVEN_UP: Final = HEADER + ALONE + "A: OffsetFetch require_stable=true topics=[want($t1, 0, 1)] -> any" + JOINED + ONE_TAKEN + GIVEN_UP
SESSIONS: Final = 7
"""Fetch has sessions from this version on (KIP-227)."""
EAGER_LOSES_ONE: Final = """
topics: t1:2
member *: protocols=[p("{name}", sub("$t1"))]
do completing1(A)
A: SyncGroup assignments=[for($A.member_id, told(held("$t1", 0, 1)))] -> 0
A: OffsetFetch require_stable=true topics=[want($t1, 0, 1)] -> any
do enter(B)
A: Heartbeat -> 27
A: JoinGroup -> 0 generation_id=2
B -> 0
B: SyncGroup -> parked
A: SyncGroup assignments=[for($A.member_id, told(held("$t1", 0))), for($B.member_id, told(held("$t1", 1)))] -> 0
B -> 0
pause 300
A: Heartbeat -> 0
A: Heartbeat -> 0
A: Fetch v12 topics=[read($t1, {read}, 0)] -> any
"""
"""A has two partitions, B joins and gets one of them, and A reads one partition."""


class GivenUp:
    """Partitions that a member had and claims no more, with the JoinGroup that no longer lists them. `eager` is true if the member gave up
    all that it had, as it does in every rebalance."""

    __slots__ = ("eager", "join", "partitions")

    def __init__(self) -> None:
        self.partitions: Partitions = frozenset()
        self.join: Exchange | None = None
        self.eager = False


class LeavesTheRevoked(Rule):
    code = "CLIENT-42"
    title = "A member neither reads nor commits what it has given up"
    what = (
        "Once a JoinGroup of a cooperative member no longer lists a partition that it had, the member sends no Fetch and no OffsetCommit "
        "for it until it is given it again. A member that keeps nothing while it joins (an eager one) does not fetch what its new "
        "assignment lacks."
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
    also_kept: ClassVar[dict[str, str]] = {"eager": EAGER_LOSES_ONE.format(name="range", read=0)}
    also_broken: ClassVar[dict[str, str]] = {
        "eager": EAGER_LOSES_ONE.format(name="range", read=1),
        "eager-by-any-name": EAGER_LOSES_ONE.format(name="RoundRobinAssigner", read=1),
    }

    @asked(JOIN_GROUP)
    def drops(self, x: Exchange) -> Judgements:
        """Note partitions that the member no longer claims, because it gave them up."""
        member = x.member
        if member is None or member.told is None:
            return
        claim = cooperative_of(x, member.protocol)
        kept = claim.owned if claim is not None else kept_in(x, member.protocol)
        given_up = member.note(self.code, GivenUp)
        had = given_up.partitions | member.told | (member.had or frozenset())
        given_up.join, given_up.eager = x, claim is None
        given_up.partitions = frozenset() if kept is None else had - kept
        yield from ()

    @answered(SYNC_GROUP)
    def gets(self, x: Exchange) -> Judgements:
        """Note partitions that the member gets again. If its assignment is lost or unreadable, nothing is known."""
        member = x.member
        given_up: GivenUp | None = None if member is None else member.notes.get(self.code)
        if given_up is not None and member is not None and x.answer is not None and not x.error:
            told = told_by(member, bytes_of(x.answer["assignment"]))
            if told is None and given_up.partitions:
                yield UNREADABLE
            given_up.partitions = frozenset() if told is None else given_up.partitions - told

    @asked_again(OFFSET_COMMIT)
    def commits(self, x: Exchange) -> Judgements:
        """Judge commits on the connection of the JoinGroup, or long enough after the JoinGroup."""
        given_up = self._of(x, x.member)
        if given_up is not None and not given_up.eager:  # CLIENT-67 judges the commits of eager members.
            names = self.world.topic_names  # OffsetCommit names a topic by its id from version 10 on.
            committed = frozenset((names.get(topic, topic), number) for topic, number in committed_of(x))
            yield from self._judged(x, given_up, committed, "commits offsets of")

    @asked_again(FETCH)
    def reads(self, x: Exchange) -> Judgements:
        """Judge a Fetch of a process that has only one member."""
        given_up = self._of(x, x.member)
        if given_up is not None:
            yield from self._judged(x, given_up, fetched_of(x, self.world.topic_names), "reads")

    def _of(self, x: Exchange, member: Member | None) -> GivenUp | None:
        given_up: GivenUp | None = None if member is None else member.notes.get(self.code)
        if given_up is None or given_up.join is None or not given_up.partitions:
            return None
        if not given_up.eager:
            return given_up if self.sent_later(x, given_up.join) else None
        # An eager member may get everything back, and a Fetch may be under way until it has its new assignment.
        synced = None if member is None else member.synced
        return given_up if synced is not None and synced.seq > given_up.join.seq and self.knew(x, synced) else None

    def _judged(self, x: Exchange, given_up: GivenUp, partitions: Partitions, does: str) -> Judgements:
        wrong = partitions & given_up.partitions
        if not wrong:
            # A Fetch in a session (KIP-227) names only partitions that it adds to the session or changes.
            in_session = x.key == FETCH and x.version >= SESSIONS and x.asked["session_epoch"] > 0
            yield IN_SESSION if in_session else KEPT
            return
        assert x.member is not None and given_up.join is not None
        yield Broken(
            f"{x.member.name} {does} {named(wrong)}, which it has given up: its JoinGroup does not list it any more",
            (given_up.join.seq, x.seq),
            "commit and stop reading before the JoinGroup that no longer lists the partition",
        )
