"""Keeps the compiled code of generated codecs in files, so that a later process need not generate and compile it again.

A file belongs to one message module and lies beside its byte code (`__pycache__/k11_join_group.cpython-311.codecs`). It begins with a hash
over the sources of that module and of the code generator: if either has changed, the file is ignored and later replaced. Where Python may
write no byte code (PYTHONDONTWRITEBYTECODE, an installation that may only be read, a zip file), nothing is kept.
"""

from __future__ import annotations

import marshal
import os
import sys
from contextlib import suppress
from functools import cache
from importlib.util import MAGIC_NUMBER, cache_from_source, source_hash
from types import CodeType
from typing import Final, NamedTuple

GENERATOR: Final = ("emit.py", "emit_decode.py", "emit_encode.py", "declare.py", "runtime.py", "response_errors.py")
"""The files that decide which code is generated for a declaration."""
SUFFIX: Final = ".codecs"


class Generated(NamedTuple):
    """The code of one function, and the names of the message classes that it uses."""

    code: CodeType
    classes: tuple[str, ...]


class KeptCode:
    """The code of one message module by its title ("JoinGroupRequest v5 decode"). Each entry is unmarshalled when it is asked for."""

    def __init__(self, module: str) -> None:
        self._file: str | None = None
        self._head = b""
        self._entries: dict[str, bytes] = {}
        self._new = False
        source = getattr(sys.modules[module], "__file__", None)
        if source is not None and module.startswith(f"{__package__}."):
            try:
                self._head = MAGIC_NUMBER + source_hash(_generator() + _bytes_of(source))
                self._file = os.path.splitext(cache_from_source(source))[0] + SUFFIX
                self._entries = self._read()
            # `cache_from_source` raises NotImplementedError in a Python that has no byte code files.
            except (OSError, NotImplementedError):
                self._file = None

    def __contains__(self, title: str) -> bool:
        return title in self._entries

    def find(self, title: str) -> Generated | None:
        """Return the code of a function, or None if it has to be generated."""
        entry = self._entries.get(title)
        return None if entry is None else Generated(*marshal.loads(entry))

    def add(self, title: str, generated: Generated) -> None:
        """Remember the code of a function until `write`."""
        if self._file is not None:
            self._entries[title] = marshal.dumps(tuple(generated))
            self._new = True

    def write(self) -> None:
        """Write the file if there is new code. Code that another process has kept meanwhile stays."""
        if self._file is None or not self._new or sys.dont_write_bytecode:
            return
        self._new = False
        fresh = f"{self._file}.{os.getpid()}"
        try:
            os.makedirs(os.path.dirname(self._file), exist_ok=True)
            with open(fresh, "wb") as file:
                file.write(self._head + marshal.dumps(self._read() | self._entries))
            os.replace(fresh, self._file)
        except OSError:  # The installation may only be read, or the disk is full.
            with suppress(OSError):
                os.unlink(fresh)

    def _read(self) -> dict[str, bytes]:
        assert self._file is not None
        try:
            data = _bytes_of(self._file)
            entries: dict[str, bytes] = marshal.loads(data[len(self._head) :]) if data.startswith(self._head) else {}
        except (OSError, EOFError, ValueError, TypeError):
            return {}
        return entries


@cache
def kept_code(module: str) -> KeptCode:
    """Return the kept code of a message module."""
    return KeptCode(module)


@cache
def _generator() -> bytes:
    folder = os.path.dirname(__file__)
    return b"".join(_bytes_of(os.path.join(folder, name)) for name in GENERATOR)


def _bytes_of(file: str) -> bytes:
    # Not by pathlib, whose import takes two milliseconds of a server's start.
    with open(file, "rb") as opened:
        return opened.read()
