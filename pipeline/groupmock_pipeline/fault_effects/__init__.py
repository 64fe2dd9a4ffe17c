"""The effects of faults on groups: strikes, what followed them, and records fetched again (docs/reference/pipeline/faults.md)."""

from __future__ import annotations
