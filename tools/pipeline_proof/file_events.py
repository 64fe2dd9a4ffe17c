"""Count file events below a folder, as the kernel reports them (inotify(7)): created, closed after writing, renamed, removed."""

from __future__ import annotations

import ctypes
import os
import select
import struct
from pathlib import Path
from types import TracebackType
from typing import Final

CLOSED: Final = 0x8  # The flag IN_CLOSE_WRITE of inotify.
MOVED_FROM: Final = 0x40
MOVED_TO: Final = 0x80
CREATED: Final = 0x100
DELETED: Final = 0x200
FOLDER: Final = 0x4000_0000  # The flag IN_ISDIR of inotify.
WANTED: Final = CLOSED | MOVED_FROM | MOVED_TO | CREATED | DELETED
HEAD: Final = struct.Struct("iIII")
ROOM: Final = 1 << 16


class FileEvents:
    """Watches a folder and all folders below it, also new ones. Files created in a new folder before it is watched are not counted."""

    def __init__(self, folder: Path) -> None:
        self._libc = ctypes.CDLL(None, use_errno=True)
        self._descriptor = self._libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
        if self._descriptor < 0:
            raise OSError(ctypes.get_errno(), "inotify_init1")
        self._places: dict[int, Path] = {}
        self.count = 0
        self.last = ""
        """The name of the file in the last event."""
        self._add(folder)

    def __enter__(self) -> FileEvents:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        os.close(self._descriptor)

    def wait(self, seconds: float) -> None:
        """Wait for file events and count those that the kernel reports. Returns after the first batch of events, or after this many
        seconds."""
        if select.select([self._descriptor], [], [], seconds)[0]:
            self._read(os.read(self._descriptor, ROOM))

    def _read(self, told: bytes) -> None:
        at = 0
        while at < len(told):
            watch, what, _, size = HEAD.unpack_from(told, at)
            self.last = told[at + HEAD.size : at + HEAD.size + size].rstrip(b"\0").decode(errors="replace")
            at += HEAD.size + size
            self.count += 1
            if what & FOLDER and what & (CREATED | MOVED_TO) and watch in self._places:
                self._add(self._places[watch] / self.last)

    def _add(self, folder: Path) -> None:
        watch = self._libc.inotify_add_watch(self._descriptor, os.fsencode(folder), WANTED)
        if watch < 0:
            return  # The folder was removed in the meantime.
        self._places[watch] = folder
        for below in [each for each in folder.iterdir() if each.is_dir()] if folder.is_dir() else []:
            self._add(below)
