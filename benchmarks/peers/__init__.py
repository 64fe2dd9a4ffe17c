"""The servers that groupmock is compared with. Each is a process of its own that announces itself in one JSON line."""

from __future__ import annotations
