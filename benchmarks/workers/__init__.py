"""Processes that measure from their own core and report in one JSON line."""

from __future__ import annotations
