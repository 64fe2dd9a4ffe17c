"""The beginning that the examples of rules about commits share: A is alone in its group and has the only partition of its topic."""

from __future__ import annotations

from typing import Final

HEADER: Final = """
topics: t1:1 t2:1
member *: protocols=[p("range", sub("$t1"))]
"""
"""The topic, and another one to which no member subscribes."""
GIVEN: Final = """
A: SyncGroup assignments=[for($A.member_id, told(held("$t1", 0)))] -> 0
"""
"""A has joined, leads, and gets its partition."""
ALONE: Final = HEADER + "do completing1(A)" + GIVEN
"""The whole example of one member that commits."""
