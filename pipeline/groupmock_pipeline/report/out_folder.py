"""Where a report is written: a folder of this machine, an object store or HDFS, each file under its own name.

A writer of Spark's makes a folder of parts with names of its own, `report.html/part-00000-...txt`, as plain text; renaming takes Hadoop's
classes, which a session of Spark Connect does not have. What a browser opens is one file with a name and a type. Hence Arrow's file
systems, which the extra has already, with what Spark was told of S3.
"""

from __future__ import annotations

from mimetypes import guess_type
from pathlib import Path
from typing import TYPE_CHECKING, Protocol
from urllib.parse import urlsplit

from ..beforehand import FILES, SCHEME
from ..errors import BadInput

if TYPE_CHECKING:
    from pyarrow.fs import FileSystem, S3FileSystem
    from pyspark.sql import SparkSession


class OutFolder(Protocol):
    """What files can be put into."""

    def write(self, name: str, content: bytes) -> None:
        """Under that name, in place of what had it. Raises BadInput."""


def out_folder(spark: SparkSession, place: str) -> OutFolder:
    """The folder of that path or URI, made if it is not there. Raises BadInput."""
    return RemoteFolder(spark, place) if SCHEME.match(place) else LocalFolder(Path(FILES.sub("", place)))


class LocalFolder:
    """Of the machine where the command runs, wherever Spark does."""

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            path.mkdir(parents=True, exist_ok=True)
        except OSError as problem:
            raise BadInput(f"{path}: {problem.strerror}; name a folder that can be written") from None

    def write(self, name: str, content: bytes) -> None:
        """A file."""
        (self.path / name).write_bytes(content)


class RemoteFolder:
    """Of a file system that Arrow knows: s3, s3a, gs, abfs, hdfs (which takes Hadoop's libhdfs on this machine)."""

    def __init__(self, spark: SparkSession, uri: str) -> None:
        from pyarrow.fs import FileSystem

        self.uri = uri.rstrip("/")
        self.system: FileSystem
        address = urlsplit(self.uri)
        try:
            if address.scheme in ("s3", "s3a"):
                self.system, self.path = _s3(spark, address.netloc), f"{address.netloc}{address.path}"
            else:
                self.system, self.path = FileSystem.from_uri(self.uri)
        except (OSError, ValueError) as problem:
            raise self._refused(problem) from None

    def write(self, name: str, content: bytes) -> None:
        """An object, with the type by which a browser shows it."""
        kind, _ = guess_type(name)
        try:
            with self.system.open_output_stream(f"{self.path}/{name}", metadata={"Content-Type": str(kind)}) as stream:
                stream.write(content)
        except OSError as problem:
            raise self._refused(problem) from None

    def _refused(self, problem: Exception) -> BadInput:
        return BadInput(f"{self.uri}: {str(problem).splitlines()[0]}; name a folder that can be written")


def _s3(spark: SparkSession, bucket: str) -> S3FileSystem:
    """With the settings of Hadoop's S3A that the session has (https://hadoop.apache.org/docs/stable/hadoop-aws/tools/hadoop-aws/index.html),
    a bucket's own first. Without keys: those that the environment has, as S3A does.
    """
    from pyarrow.fs import S3FileSystem

    def setting(name: str) -> str | None:
        own, of_all = (spark.conf.get(f"spark.hadoop.fs.s3a.{place}{name}", None) for place in (f"bucket.{bucket}.", ""))
        return own or of_all

    scheme, _, host = (setting("endpoint") or "").rpartition("://")
    return S3FileSystem(
        access_key=setting("access.key"),
        secret_key=setting("secret.key"),
        session_token=setting("session.token"),
        region=setting("endpoint.region"),
        scheme=scheme or ("http" if setting("connection.ssl.enabled") == "false" else "https"),
        endpoint_override=host or None,
    )
