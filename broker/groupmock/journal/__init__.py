"""The journal is one stream of rows (docs/reference/architecture.md#rule-2); this package has its schema, sinks and reader. It imports
nothing else of groupmock."""

from __future__ import annotations
