"""The target of a report: a folder of this machine, an object store or HDFS, with each file under its own name.

Spark's writers would make a folder of parts such as `report.html/part-00000-...txt`, as plain text. Renaming takes Hadoop's classes, which
a session of Spark Connect lacks. A browser needs one file with a name and a content type. Hence Arrow's file systems, which the extra
installs anyway, with Spark's settings of S3.
"""

from __future__ import annotations

from mimetypes import guess_type
from pathlib import Path
from typing import TYPE_CHECKING, Protocol
from urllib.parse import urlsplit

from ..errors import BadInput
from ..preflight import FILES, SCHEME

if TYPE_CHECKING:
    from pyarrow.fs import FileSystem, S3FileSystem
    from pyspark.sql import SparkSession


class OutFolder(Protocol):
    """A folder into which files can be written."""

    def write(self, name: str, content: bytes) -> None:
        """Write a file, replacing one of that name. Raises BadInput."""


def out_folder(spark: SparkSession, place: str) -> OutFolder:
    """Return the output folder at a path or URI, and create the folder if needed. Raises BadInput."""
    return RemoteFolder(spark, place) if SCHEME.match(place) else LocalFolder(Path(FILES.sub("", place)))


class LocalFolder:
    """A folder of the machine on which the command runs, wherever Spark runs."""

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            path.mkdir(parents=True, exist_ok=True)
        except OSError as problem:
            raise BadInput(f"{path}: {problem.strerror}; name a folder that can be written") from None

    def write(self, name: str, content: bytes) -> None:
        (self.path / name).write_bytes(content)


class RemoteFolder:
    """A folder of a file system that Arrow knows: s3, s3a, gs, abfs, hdfs (which needs Hadoop's libhdfs on this machine)."""

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
        """Write an object with its content type, so that a browser shows it."""
        kind, _ = guess_type(name)
        try:
            with self.system.open_output_stream(f"{self.path}/{name}", metadata={"Content-Type": str(kind)}) as stream:
                stream.write(content)
        except OSError as problem:
            raise self._refused(problem) from None

    def _refused(self, problem: Exception) -> BadInput:
        return BadInput(f"{self.uri}: {str(problem).splitlines()[0]}; name a folder that can be written")


def _s3(spark: SparkSession, bucket: str) -> S3FileSystem:
    """Open S3 with the session's settings of Hadoop's S3A
    (https://hadoop.apache.org/docs/stable/hadoop-aws/tools/hadoop-aws/index.html), first those of the bucket. Without keys the
    environment's keys are used, as S3A does."""
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
