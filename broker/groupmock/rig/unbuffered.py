"""A transport without socket and buffer connects groupmock's own connection code to a test."""

from __future__ import annotations

import asyncio


class Unbuffered(asyncio.Transport):
    """A transport that delivers everything at once, so that nothing is buffered or paused. Subclasses implement `write`. `closed` says
    that the server closed the connection."""

    def __init__(self) -> None:
        super().__init__()
        self.closed = False

    def close(self) -> None:
        self.closed = True

    def abort(self) -> None:
        self.closed = True

    def is_closing(self) -> bool:
        return self.closed

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        ...

    def get_write_buffer_size(self) -> int:
        return 0

    def can_write_eof(self) -> bool:
        return False

    def pause_reading(self) -> None:
        ...

    def resume_reading(self) -> None:
        ...
