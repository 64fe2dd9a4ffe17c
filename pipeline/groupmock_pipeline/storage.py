"""Folders of a lake through Hadoop's file systems, as Spark itself reaches them: local, HDFS, S3."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from .errors import BadInput

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class Storage:
    """Paths are relative to the lake."""

    def __init__(self, spark: SparkSession, lake: str) -> None:
        self.lake = lake.rstrip("/")
        self._jvm: Any = spark._jvm
        self._system = self._path("").getFileSystem(spark._jsc.hadoopConfiguration())

    def _path(self, path: str) -> Any:
        return self._jvm.org.apache.hadoop.fs.Path(self.place(path))

    def place(self, path: str) -> str:
        """The whole path."""
        return f"{self.lake}/{path}" if path else self.lake

    def exists(self, path: str) -> bool:
        """Is it there?"""
        return bool(self._system.exists(self._path(path)))

    def is_folder(self, path: str) -> bool:
        """Is it there, and a folder?"""
        return self.exists(path) and bool(self._system.getFileStatus(self._path(path)).isDirectory())

    def names(self, path: str) -> list[tuple[str, bool]]:
        """What is in a folder: name and whether it is a folder; nothing where there is none."""
        if not self.exists(path):
            return []
        return [(each.getPath().getName(), bool(each.isDirectory())) for each in self._system.listStatus(self._path(path))]

    def make(self, path: str) -> None:
        """A folder, if it is not there."""
        self._system.mkdirs(self._path(path))

    def remove(self, path: str) -> None:
        """With all that is in it; nothing if it is not there."""
        self._system.delete(self._path(path), True)

    def move(self, source: str, target: str) -> None:
        """A folder, in one step, to a place where nothing is. Raises OSError."""
        self._system.mkdirs(self._path(target).getParent())
        if not self._system.rename(self._path(source), self._path(target)):
            raise OSError(f"cannot move {self.place(source)} to {self.place(target)}")

    def write(self, path: str, text: str) -> None:
        """A small file, whole or not at all."""
        stream = self._system.create(self._path(f"{path}.part"), True)
        stream.write(bytearray(text.encode()))
        stream.close()
        self.move(f"{path}.part", path)

    def read(self, path: str) -> str:
        """A small file."""
        stream = self._system.open(self._path(path))
        try:
            return str(self._jvm.org.apache.commons.io.IOUtils.toString(stream, "UTF-8"))
        finally:
            stream.close()

    @contextmanager
    def locked(self, path: str) -> Iterator[None]:
        """Nobody else's while this lasts, and free again if we are killed. On local file systems only. Raises BadInput."""
        uri = self._system.getUri()
        if str(uri.getScheme()) != "file":
            yield
            return
        self.make(path.rpartition("/")[0])
        handle = os.open(self._path(path).toUri().getPath(), os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o644)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise BadInput(f"another ingest is at work on {self.lake}: wait until it is done, or name another lake") from None
        else:
            yield
        finally:
            os.close(handle)
