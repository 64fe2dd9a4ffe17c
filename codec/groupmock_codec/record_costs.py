"""Defines how much records count against the limits of `room`."""

from __future__ import annotations

from typing import Final

OPENED: Final = 4
"""The cost of reading timestamp, offset and key of a record, in records that are skipped unread (0.4 us instead of 0.1)."""
CONVERTED: Final = 16
"""The cost of decoding a record and encoding it in another format, in records that are skipped unread (3 to 6 us with all that follows)."""
