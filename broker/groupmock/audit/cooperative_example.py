"""The beginning that the examples of cooperative rules share: A has two partitions when B comes."""

from __future__ import annotations

from typing import Final

HEADER: Final = """
member *: rebalance_timeout_ms=1000 protocols=[p("cooperative-sticky", subscribed(3, ["$t1"]))]
topics: t1:2
"""
"""A topic of two partitions, and members that own nothing when they come."""
ALONE: Final = """
do completing1(A)
A: SyncGroup assignments=[for($A.member_id, told(held("$t1", 0, 1)))] -> 0
"""
"""A member that has both partitions."""
JOINED: Final = """
do enter(B)
A: Heartbeat -> 27
pause 300
A: JoinGroup protocols=[p("cooperative-sticky", subscribed(3, ["$t1"], 1, held("$t1", 0, 1)))] -> 0 generation_id=2
B -> 0 generation_id=2
B: SyncGroup -> parked
"""
"""B comes, A joins again with what it owns, and is to assign."""
ONE_TAKEN: Final = """
A: SyncGroup assignments=[for($A.member_id, told(held("$t1", 0))), for($B.member_id, told())] -> 0
B -> 0
pause 300
"""
"""A is to give up one of them, which no member has in this round."""
GIVEN_UP: Final = """
A: JoinGroup protocols=[p("cooperative-sticky", subscribed(3, ["$t1"], 2, held("$t1", 0)))] -> parked
B: Heartbeat -> 27
B: JoinGroup protocols=[p("cooperative-sticky", subscribed(3, ["$t1"], 2))] -> 0 generation_id=3
A -> 0 generation_id=3
B: SyncGroup -> parked
A: SyncGroup assignments=[for($A.member_id, told(held("$t1", 0))), for($B.member_id, told(held("$t1", 1)))] -> 0
B -> 0
"""
"""A has given it up and says so, and B gets it."""
