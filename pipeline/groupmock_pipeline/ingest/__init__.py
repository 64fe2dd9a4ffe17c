"""Journals into a lake: find what is new, read lines, parse them, place runs whole, keep the ledger (docs/reference/pipeline/ingest.md)."""

from __future__ import annotations
