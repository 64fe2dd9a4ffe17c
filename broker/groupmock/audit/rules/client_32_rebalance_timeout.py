"""CLIENT-32 requires a rebalance timeout from JoinGroup v1 on that is not shorter than the session timeout."""

from __future__ import annotations

from groupmock_codec.api_keys import JOIN_GROUP

from ..rule import KEPT, WARNING, Broken, Judgements, Rule, asked
from ..subjects import Exchange


class RebalanceTimeoutIsOne(Rule):
    code = "CLIENT-32"
    title = "The rebalance timeout is not below the session timeout"
    severity = WARNING
    what = (
        "JoinGroup v1 and later has a `rebalance_timeout_ms` that is not negative and, as a rule, not below `session_timeout_ms`. It is "
        "looked at when a connection joins for the first time and when the values change."
    )
    why = (
        "The rebalance timeout is the time to finish work and rejoin (max.poll.interval.ms). Below the session timeout the coordinator "
        "drops members out of a rebalance that it would still believe to be alive."
    )
    source = ("clients.md#client-32", "KIP-62")
    fix = "Send max.poll.interval.ms (Java: 5 minutes) as the rebalance timeout."
    implies = ()
    kept = """
A: JoinGroup rebalance_timeout_ms=60000 -> 79
"""
    broken = """
A: JoinGroup session_timeout_ms=10000 rebalance_timeout_ms=-1 -> any
"""

    @asked(JOIN_GROUP)
    def joins(self, x: Exchange) -> Judgements:
        if x.version == 0:
            return
        session, rebalance = int(x.asked["session_timeout_ms"]), int(x.asked["rebalance_timeout_ms"])
        if x.link.notes.get(self.code) == (session, rebalance):
            return
        x.link.notes[self.code] = session, rebalance
        if 0 <= rebalance >= session:
            yield KEPT
            return
        short = f"of {rebalance} ms, which is no time" if rebalance < 0 else f"of {rebalance} ms, below its session timeout of {session} ms"
        yield Broken(f"{x.who} joined with a rebalance timeout {short}", (x.seq,), "a rebalance timeout of the session timeout or more")
