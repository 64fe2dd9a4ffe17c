"""Two sets of runs side by side: what is measured, which runs belong together, and what the difference is worth (`drift`, `compare`)."""

from __future__ import annotations
