"""Send groupmock's packages to Spark's Python workers as one zip, for clusters without groupmock.

Only pure Python can be sent like this. Third-party packages (pyarrow, pandas, msgspec and, for `campaign`, all that groupmock itself needs)
must be installed there, or come as `--set spark.archives=...`.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Final
from zipfile import ZIP_DEFLATED, ZipFile

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PACKAGES: Final = ("groupmock", "groupmock_clients", "groupmock_codec", "groupmock_pipeline")
NAME: Final = "groupmock-packages.zip"


@contextmanager
def packages_shipped(spark: SparkSession) -> Iterator[None]:
    """Give the packages to workers that start within the block. Spark fetches the file from this process."""
    with tempfile.TemporaryDirectory(prefix="groupmock-packages-") as folder:
        spark.addArtifacts(str(zipped(Path(folder))), pyfile=True)
        yield


def zipped(folder: Path) -> Path:
    """Write the zip into that folder and return its path."""
    with ZipFile(folder / NAME, "w", ZIP_DEFLATED) as archive:
        for package in PACKAGES:
            spec = find_spec(package)
            assert spec is not None and spec.origin is not None
            home = Path(spec.origin).parent
            for file in sorted(home.rglob("*")):
                if file.is_file() and "__pycache__" not in file.parts:
                    archive.write(file, file.relative_to(home.parent))
    return folder / NAME
