"""CLIENT-65 requires that a client sends nothing on a connection while a JoinGroup or SyncGroup waits there."""

from __future__ import annotations

from groupmock_codec.api_keys import (
    CONSUMER_GROUP_HEARTBEAT,
    FETCH,
    FIND_COORDINATOR,
    HEARTBEAT,
    JOIN_GROUP,
    METADATA,
    OFFSET_COMMIT,
    OFFSET_FETCH,
    SYNC_GROUP,
    TXN_OFFSET_COMMIT,
)
from groupmock_codec.units import NS_PER_MS

from ..order import GRACE_NS
from ..rule import KEPT, WARNING, Broken, Judgements, Rule, answered, asked
from ..subjects import Exchange

HELD = (JOIN_GROUP, SYNC_GROUP)
"""Requests whose answer the coordinator delays until other members have done something."""


class _Line:
    """The requests on one connection: the last one whose answer the coordinator may delay, and the first one sent behind it."""

    __slots__ = ("behind", "held")

    def __init__(self, held: Exchange) -> None:
        self.held = held
        self.behind: Exchange | None = None

    def stands(self, x: Exchange) -> bool:
        """Return whether the request is the first one sent behind the delayed request. CLIENT-18 judges another JoinGroup."""
        return self.behind is None and x.key != JOIN_GROUP and (self.held.answered is None or x.received < self.held.answered)


class NothingBehindAJoin(Rule):
    code = "CLIENT-65"
    title = "No request is sent on a connection behind a JoinGroup or SyncGroup that waits"
    severity = WARNING
    what = (
        "While JoinGroup or SyncGroup waits for its answer, its connection carries no other request. One that came so shortly before the "
        "answer that it waited for nothing counts for nothing, nor does a LeaveGroup: whoever closes has no time to wait."
    )
    why = (
        "A broker reads one request of a connection at a time and mutes it until that is answered. JoinGroup may be held for minutes: a "
        "heartbeat behind it comes after its session has lapsed, a commit after its partitions have another owner, a fetch when its "
        "reader has timed out."
    )
    source = (
        "clients.md#client-65",
        "kafka.network.SocketServer",
        "KafkaConsumer: commits fail with RebalanceInProgressException meanwhile",
    )
    fix = "Use another connection for what cannot wait, or keep it back until the answer is there."
    implies = ("CLIENT-15",)
    kept = """
do stable2(A, B)
A: JoinGroup -> parked
pause 300
B: JoinGroup -> 0
A -> 0
A: SyncGroup assignments=[for($A.member_id, b"for A"), for($B.member_id, b"for B")] -> 0
A: Heartbeat -> 0
"""
    broken = """
topics: t1:2
do stable2(A, B)
A: JoinGroup -> parked
A: OffsetCommit topics=[t($t1, o(0, 5))]
pause 500
B: JoinGroup -> 0
A -> 0
A -> 22
"""

    @asked(
        JOIN_GROUP, SYNC_GROUP, HEARTBEAT, OFFSET_COMMIT, OFFSET_FETCH, TXN_OFFSET_COMMIT, CONSUMER_GROUP_HEARTBEAT, METADATA,
        FIND_COORDINATOR, FETCH,
    )  # fmt: skip
    def comes(self, x: Exchange) -> Judgements:
        """Judge a request sent behind a waiting JoinGroup or SyncGroup. A broker that mutes its connections shows such a request only
        after the answer, a recording shows it at once."""
        line: _Line | None = x.link.notes.get(self.code)
        if line is not None and line.stands(x):
            line.behind = x
            yield from self._look(line)
        if x.key in HELD:
            x.link.notes[self.code] = _Line(x)

    @answered(*HELD)
    def answered(self, x: Exchange) -> Judgements:
        """Note how long the answer to the delayed request took."""
        line: _Line | None = x.link.notes.get(self.code)
        if line is None or line.held is not x or not x.heard:
            return
        if line.behind is not None:
            yield from self._look(line)
        elif x.answered is not None and x.answered - x.received >= GRACE_NS:
            yield KEPT

    def _look(self, line: _Line) -> Judgements:
        held, behind = line.held, line.behind
        if behind is None or held.answered is None or not held.heard or held.answered - behind.received < GRACE_NS:
            return
        yield Broken(
            f"{behind.who} sent a {behind.name} on the connection on which its {held.name} waited for an answer: it could not be handled "
            f"before that, {(held.answered - behind.received) // NS_PER_MS} ms later",
            (*held.rows, behind.seq),
            f"the {behind.name} on another connection, or after the answer",
        )
