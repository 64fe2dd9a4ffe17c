"""Benchmarks of groupmock: `python -m benchmarks` prints one table, every figure against its floor and its moonshot.

Absolute figures drift by half between the hours of a shared host, so what counts is a ratio to a peer measured in
the same run: fresh processes, the server pinned to one core, the load to another, medians of several rounds.
"""

from __future__ import annotations
