"""The examples of cooperative rules share this beginning: A has two partitions when B joins."""

from __future__ import annotations

from typing import Final

HEADER: Final = """
member *: rebalance_timeout_ms=1000 protocols=[p("cooperative-sticky", subscribed(3, ["$t1"]))]
topics: t1:2
"""
"""A topic of two partitions, and members that own nothing when they join."""
ALONE: Final = """
do completing1(A)
A: SyncGroup assignments=[for($A.member_id, told(held("$t1", 0, 1)))] -> 0
"""
"""A is the only member and has both partitions."""
JOINED: Final = """
do enter(B)
A: Heartbeat -> 27
pause 300
A: JoinGroup protocols=[p("cooperative-sticky", subscribed(3, ["$t1"], 1, held("$t1", 0, 1)))] -> 0 generation_id=2
B -> 0 generation_id=2
B: SyncGroup -> parked
"""
"""Member B joins the group. Member A rejoins with its owned partitions and becomes the leader that assigns."""
ONE_TAKEN: Final = """
A: SyncGroup assignments=[for($A.member_id, told(held("$t1", 0))), for($B.member_id, told())] -> 0
B -> 0
pause 300
"""
"""A has to give up one partition, which no member gets in this generation."""
GIVEN_UP: Final = """
A: JoinGroup protocols=[p("cooperative-sticky", subscribed(3, ["$t1"], 2, held("$t1", 0)))] -> parked
B: Heartbeat -> 27
B: JoinGroup protocols=[p("cooperative-sticky", subscribed(3, ["$t1"], 2))] -> 0 generation_id=3
A -> 0 generation_id=3
B: SyncGroup -> parked
A: SyncGroup assignments=[for($A.member_id, told(held("$t1", 0))), for($B.member_id, told(held("$t1", 1)))] -> 0
B -> 0
"""
"""A has given up the partition and joins again without it, and B gets the partition."""
