"""CLIENT-18 requires that a member has only one JoinGroup open and waits for its answer up to the rebalance timeout."""

from __future__ import annotations

from groupmock_codec.api_keys import JOIN_GROUP
from groupmock_codec.units import NS_PER_MS

from ..judgement import NO_TIMES
from ..order import GRACE_NS
from ..rule import KEPT, Broken, Judgements, Rule, answered, asked, closed
from ..subjects import Exchange, Link, Member


class WaitsForItsJoin(Rule):
    code = "CLIENT-18"
    title = "A JoinGroup is not repeated while one waits, and not given up before the rebalance timeout"
    what = (
        "The coordinator holds the answer to JoinGroup until all members have joined, up to the rebalance timeout. Until then the member "
        "does not send another one, and does not close its connection to come back by a new one."
    )
    why = (
        "Each new JoinGroup takes the place of the one that waits, whose answer is then for nobody; a client that hangs up and joins again "
        "after a request timeout of 30 s never gets into a group whose members need longer to rejoin."
    )
    source = ("clients.md#client-18", "AbstractCoordinator.joinGroupTimeoutMs")
    fix = "Give JoinGroup a timeout of its own: at least the rebalance timeout and 5 s, as the Java client does."
    implies = ("CLIENT-65",)
    kept = """
do stable2(A, B)
A: JoinGroup -> parked
pause 300
B: JoinGroup -> 0
A -> 0
"""
    broken = """
do stable2(A, B)
A: JoinGroup -> parked
pause 500
A drops
pause 300
A: JoinGroup -> sent
B: JoinGroup -> 0
"""

    @asked(JOIN_GROUP)
    def joins(self, x: Exchange) -> Judgements:
        """Judge a JoinGroup sent while another one of the same member or connection is unanswered, or after the client gave that one up."""
        before: Exchange | None = x.link.notes.get(self.code)
        x.link.notes[self.code] = x
        if before is not None and before.heard and before.written is not None and x.received < before.written:
            if before.asked["group_id"] == x.asked["group_id"]:
                yield self._twice(x, before)
        elif x.member is not None and x.member.joining is not None and x.member.joining.link is not x.link:
            waits = x.member.joining
            self.later(x.at + GRACE_NS, x.member, lambda: self._both(x, waits))
        elif x.member is not None and (left := x.member.notes.pop(self.code, None)) is not None:
            yield self._impatient(x, *left)

    @answered(JOIN_GROUP)
    def waited(self, x: Exchange) -> Judgements:
        if not x.heard or x.error:
            return
        if x.written is None:
            yield NO_TIMES
        elif x.written > x.received:
            yield KEPT

    @closed
    def given_up(self, link: Link) -> Judgements:
        """Note that the client closed its connection while its JoinGroup was unanswered. If it comes back with the same id, it was not
        patient enough. A proxy may see the end of the connection after that, because it waits for the answer until then."""
        if link.closed is None or link.closed[1] != "client":
            return
        for x in link.open.values():
            if x.key != JOIN_GROUP or x.member is None:
                continue
            if x.member.wish is not x:
                yield from self._came_back(x)
            elif self._too_soon(waited := link.closed[0] - x.received, x.member):
                x.member.notes[self.code] = x, waited
        left: Exchange | None = link.notes.get(self.code)
        if left is not None and left.abandoned and left.answered is not None and link.closed[0] - left.answered < GRACE_NS:
            yield from self._came_back(left)

    def _came_back(self, left: Exchange) -> Judgements:
        """Judge a JoinGroup that was given up, if the same member then joins on another connection. A half-closed socket may still want
        the answer to a parked request (P2-d13), so a broker knows only then that the request was given up."""
        again = None if left.member is None else left.member.wish
        if again is not None and again.link is not left.link and self._too_soon(waited := again.received - left.received, again.member):
            yield self._impatient(again, left, waited)

    def _too_soon(self, waited: int, member: Member | None) -> bool:
        return member is not None and GRACE_NS <= waited < member.rebalance_ns

    def _both(self, x: Exchange, waits: Exchange) -> Judgements:
        """Judge two unanswered JoinGroups of one member. The end of a connection may be seen later than the beginning of the next one;
        an open connection was not given up, whether the broker has abandoned its JoinGroup for the new one or keeps both."""
        if not waits.link.gone and x.member is not None and x.received - waits.received < x.member.rebalance_ns:
            yield self._twice(x, waits)

    def _twice(self, x: Exchange, before: Exchange) -> Broken:
        return Broken(
            f"{x.who} sent a JoinGroup {(x.received - before.received) // NS_PER_MS} ms after another one that still waited for its answer",
            (*before.rows, x.seq),
            "no JoinGroup until the first one is answered",
        )

    def _impatient(self, x: Exchange, left: Exchange, waited: int) -> Broken:
        assert x.member is not None
        return Broken(
            f"{x.who} hung up {waited // NS_PER_MS} ms after its JoinGroup and joined again by another connection, though the answer may "
            f"take as long as its rebalance timeout of {x.member.rebalance_ns // NS_PER_MS} ms",
            (left.seq, x.seq),
            "to wait for the answer for the rebalance timeout and 5 s more",
        )
