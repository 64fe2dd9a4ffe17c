"""The report is one page about everything in a lake. `sections` describes as data what is shown of each table."""

from __future__ import annotations
