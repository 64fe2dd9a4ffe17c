"""A transport without a socket: what our own connection code needs of one when nothing is ever buffered."""

from __future__ import annotations

import asyncio


class Unbuffered(asyncio.Transport):
    """Subclasses say what `write` and `close` do. Everything that is written has arrived, so there is nothing to wait for or to pause."""

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        """asyncio's: there is no buffer."""

    def get_write_buffer_size(self) -> int:
        """asyncio's: there is no buffer."""
        return 0

    def can_write_eof(self) -> bool:
        """asyncio's: closing is all there is."""
        return False

    def pause_reading(self) -> None:
        """asyncio's: everything has arrived."""

    def resume_reading(self) -> None:
        """asyncio's."""
