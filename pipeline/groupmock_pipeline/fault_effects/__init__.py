"""The effects of injected faults on groups: what followed each fault, and records that were fetched again
(docs/reference/pipeline/faults.md)."""

from __future__ import annotations
