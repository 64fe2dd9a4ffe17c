"""What a fault did to groups: strikes, what followed them, what was fetched again (docs/reference/pipeline/faults.md)."""

from __future__ import annotations
