"""Compare two sets of runs (jobs `drift` and `compare`): what is measured, which runs correspond, and how significant the difference is."""

from __future__ import annotations
