"""Ingest journals into a lake: find new files, read and parse lines, store runs whole, keep the ledger
(docs/reference/pipeline/ingest.md)."""

from __future__ import annotations
