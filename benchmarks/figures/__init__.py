"""The figures of the table, one per module: `KEYS` names the targets that a figure fills, and `run(bench)` measures them."""

from __future__ import annotations
