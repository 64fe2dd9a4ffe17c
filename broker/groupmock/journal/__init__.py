"""The journal: one stream of rows (docs/reference/architecture.md#rule-2), its schema, its sinks and its reader. It imports nothing else
of groupmock."""

from __future__ import annotations
