"""Keep Java's loaded classes in an archive file, because loading and verifying Spark's 15,000 classes is most of its start-up time.

The first session has Java write the archive when it ends, and later sessions map it (JDK: "Application Class Data Sharing", JEP 350).
Writing makes the first session slower, so no archive is made if `CI` says that files do not persist. An archive made by job `all` has the
classes of every job. An archive made by another job is used until there is one of `all`. Java ignores an archive that does not fit. A
failure here only means that there is no archive.
"""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Final

SILENT: Final = ("-Xshare:auto", "-Xlog:disable", "-Xlog:all=error:stderr")
"""The options that silence Java, which would report on stdout each class that cannot be archived."""
FORGOTTEN_S: Final = 30 * 86400
MAKING: Final = ".making"
MADE: Final = ".jsa"
WHOLE, PART = "all", "some"
"""The parts of an archive's name that say whether it has the classes of all jobs or of some."""


def options(java: str | None, whole: bool, environment: Mapping[str, str] = os.environ) -> list[str]:
    """Return the options for Java to use an archive or to make one, or none if that is impossible. `whole` says that the session runs
    all jobs."""
    jars = _jars(environment)
    if java is None or jars is None:
        return []
    home = Path(java).resolve().parents[1]
    try:
        if not (home / "lib" / "server" / "classes.jsa").exists():  # Without Java's own archive no other archive can be made.
            return []
        name = hashlib.sha256(repr((home, _changed(home / "release"), jars, _changed(jars))).encode()).hexdigest()[:16]
        folder = _folder(environment)
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        return _of(folder, name, whole, environment) if os.access(folder, os.W_OK) else []
    except OSError:
        return []


def _folder(environment: Mapping[str, str]) -> Path:
    """Return the cache folder of the XDG Base Directory specification."""
    home = environment.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return Path(home) / "groupmock" / "java"


def _jars(environment: Mapping[str, str]) -> Path | None:
    home = environment.get("SPARK_HOME")
    if home:
        return Path(home) / "jars"
    spec = find_spec("pyspark")
    return None if spec is None or spec.origin is None else Path(spec.origin).parent / "jars"


def _changed(path: Path) -> int:
    return path.stat().st_mtime_ns


def _of(folder: Path, name: str, whole: bool, environment: Mapping[str, str]) -> list[str]:
    """Use the best class archive in the folder, or make one. Each session writes a file of its own, so that no two sessions write the
    same file. The next session that starts renames the finished file and puts its size into the name."""
    for made in folder.glob(f"{name}.*{MAKING}"):
        if _written(made):
            os.replace(made, folder / f"{name}.{made.name.split('.')[1]}.{made.stat().st_size}{MADE}")
    for breadth in (WHOLE,) if whole else (WHOLE, PART):
        for archive in folder.glob(f"{name}.{breadth}.*{MADE}"):
            # The size is checked, because Java 17 maps a truncated archive and crashes.
            if archive.name == f"{name}.{breadth}.{archive.stat().st_size}{MADE}":
                os.utime(archive)
                return [f"-XX:SharedArchiveFile={archive}", *SILENT]
    _clear(folder)
    making = folder / f"{name}.{WHOLE if whole else PART}.{os.getpid()}{MAKING}"
    return [] if "CI" in environment else [f"-XX:ArchiveClassesAtExit={making}", *SILENT]


def _written(archive: Path) -> bool:
    """Check that Java has finished writing the class archive. Java writes the head last."""
    with archive.open("rb") as file:
        return any(file.read(4))


def _clear(folder: Path) -> None:
    """Delete unfinished archives, and archives of versions of Java or Spark that are no longer used."""
    for each in folder.iterdir():
        if time.time() - each.stat().st_mtime > FORGOTTEN_S:
            each.unlink(missing_ok=True)
