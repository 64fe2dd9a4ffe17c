"""Creates virtual environments with the oldest and the newest PySpark that the extra allows, with Spark Connect and S3.

They lie under GROUPMOCK_INTEROP_CACHE (default ~/.cache/groupmock-interop). pip checks them once a day, because the newest version may
change.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from datetime import UTC, datetime
from pathlib import Path
from typing import Final, NamedTuple

from packaging.requirements import Requirement

from tools.runs import ROOT

CACHE: Final = Path(os.environ.get("GROUPMOCK_INTEROP_CACHE", "~/.cache/groupmock-interop")).expanduser()
NEWEST: Final = ("pyspark", "moto[s3]", "flask", "flask-cors")
"""Requirements for the newest PySpark and for moto, an S3 server."""
PROJECT: Final = ROOT / "pyproject.toml"
PATIENCE_S: Final = 900


class Environment(NamedTuple):
    """A virtual environment with its interpreter, PySpark's folder and its version."""

    python: Path
    spark: Path
    version: str


def oldest() -> tuple[str, ...]:
    """Return the oldest PySpark that the extra `pipeline` allows, as a requirement."""
    extras = tomllib.loads(PROJECT.read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    (pyspark,) = [each for each in map(Requirement, extras["pipeline"]) if each.name == "pyspark"]
    (floor,) = [each.version for each in pyspark.specifier if each.operator == ">="]
    return (f"pyspark=={floor}",)


def environment(name: str, *requirements: str) -> Environment:
    """Create a virtual environment with an editable groupmock, its pipeline extras and these requirements."""
    home = CACHE / f"pipeline-{name}-{sys.version_info.major}.{sys.version_info.minor}"
    python, made = home / "bin" / "python", home / "made-of"
    wanted = "\n".join((str(ROOT), str(datetime.now(UTC).date()), *requirements, PROJECT.read_text(encoding="utf-8")))
    if not python.exists():
        _run(sys.executable, "-m", "venv", str(home))
    if not made.exists() or made.read_text(encoding="utf-8") != wanted:
        _run(str(python), "-m", "pip", "install", "--quiet", "--upgrade", "--editable", f"{ROOT}[pipeline,pipeline-connect]", *requirements)
        made.write_text(wanted, encoding="utf-8")
    told = _run(str(python), "-c", "import pyspark; print(pyspark.__path__[0]); print(pyspark.__version__)")
    spark, version = told.splitlines()
    return Environment(python, Path(spark), version)


def _run(*words: str) -> str:
    done = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=PATIENCE_S, check=False)
    assert done.returncode == 0, f"{' '.join(words)}: {done.stdout}{done.stderr}"
    return done.stdout
