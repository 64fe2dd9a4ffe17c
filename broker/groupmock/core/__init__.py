"""The pure core imports no asyncio, time, random, logging or files (an import contract says so)."""

from __future__ import annotations
