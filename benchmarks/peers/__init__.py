"""Servers that groupmock is measured against; each is a process of its own that announces itself in one JSON line."""

from __future__ import annotations
