"""One page of everything that a lake has: what is shown of each table is data (`sections`), the rest does not know the tables."""

from __future__ import annotations
