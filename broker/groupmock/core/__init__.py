"""The pure core: no asyncio, time, random, logging or files (import contract)."""

from __future__ import annotations
