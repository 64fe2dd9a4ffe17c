"""The examples of rules about commits share this beginning: A is alone in its group and has the only partition of its topic."""

from __future__ import annotations

from typing import Final

HEADER: Final = """
topics: t1:1 t2:1
member *: protocols=[p("range", sub("$t1"))]
"""
"""The topic of the examples, and another topic to which no member subscribes."""
GIVEN: Final = """
A: SyncGroup assignments=[for($A.member_id, told(held("$t1", 0)))] -> 0
"""
"""A has joined, leads the group, and assigns the partition to itself."""
ALONE: Final = HEADER + "do completing1(A)" + GIVEN
"""An example of one member, up to the point at which it can commit."""
