"""`python -m benchmarks` measures groupmock and prints one table that compares every figure with its floor and its moonshot.

Absolute figures drift by half between the hours of a shared host. The table therefore holds ratios to a peer that was measured in the same
run: fresh processes, the server pinned to one core, the load to another, medians of several rounds.
"""

from __future__ import annotations
