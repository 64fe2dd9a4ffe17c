"""The core is pure: it imports no asyncio, time, random, logging or files, which an import contract checks."""

from __future__ import annotations
