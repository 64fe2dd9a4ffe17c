"""Java's classes as it has them in memory, kept in a file: Spark starts with 15,000 of them, and loading and checking them is most of what
its start costs.

The first session has Java write the archive when it ends; the next ones have it mapped (JDK: "Application Class Data Sharing", JEP 350).
That first one starts more slowly: where `CI` says that nothing stays, none is made. What `all` left has the classes of every job; what
another job left has its own, and serves until there is that. An archive that Java does not like, it leaves alone by
itself. Nothing here may fail: there is then no archive.
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
"""What cannot be archived, Java would tell on stdout, class by class."""
FORGOTTEN_S: Final = 30 * 86400
MAKING: Final = ".making"
MADE: Final = ".jsa"
WHOLE, PART = "all", "some"
"""Of what jobs its classes are."""


def options(java: str | None, whole: bool, environment: Mapping[str, str] = os.environ) -> list[str]:
    """Of a Java that starts Spark: to use the archive, or to make it; none where there can be no archive. `whole`: this session's classes
    are those of all jobs."""
    jars = _jars(environment)
    if java is None or jars is None:
        return []
    home = Path(java).resolve().parents[1]
    try:
        if not (home / "lib" / "server" / "classes.jsa").exists():  # an archive stands on that of Java's own classes
            return []
        name = hashlib.sha256(repr((home, _changed(home / "release"), jars, _changed(jars))).encode()).hexdigest()[:16]
        folder = _folder(environment)
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        return _of(folder, name, whole, environment) if os.access(folder, os.W_OK) else []
    except OSError:
        return []


def _folder(environment: Mapping[str, str]) -> Path:
    """By the rule of freedesktop.org for what can be made again."""
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
    """Each session makes a file of its own: two do not write into one. It gets its name, with its size, from whoever starts next."""
    for made in folder.glob(f"{name}.*{MAKING}"):
        if _written(made):
            os.replace(made, folder / f"{name}.{made.name.split('.')[1]}.{made.stat().st_size}{MADE}")
    for breadth in (WHOLE,) if whole else (WHOLE, PART):
        for archive in folder.glob(f"{name}.{breadth}.*{MADE}"):
            if archive.name == f"{name}.{breadth}.{archive.stat().st_size}{MADE}":  # one that was cut, Java 17 maps, and dies of it
                os.utime(archive)
                return [f"-XX:SharedArchiveFile={archive}", *SILENT]
    _clear(folder)
    making = folder / f"{name}.{WHOLE if whole else PART}.{os.getpid()}{MAKING}"
    return [] if "CI" in environment else [f"-XX:ArchiveClassesAtExit={making}", *SILENT]


def _written(archive: Path) -> bool:
    """Java writes the head last."""
    with archive.open("rb") as file:
        return any(file.read(4))


def _clear(folder: Path) -> None:
    """Archives of a Java or a Spark that is no longer used, and what was never brought to its end."""
    for each in folder.iterdir():
        if time.time() - each.stat().st_mtime > FORGOTTEN_S:
            each.unlink(missing_ok=True)
