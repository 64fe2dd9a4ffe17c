"""Virtual environments with a PySpark of their own: the oldest and the newest that the extra allows, and what Spark Connect and S3 need.

They lie under GROUPMOCK_INTEROP_CACHE (default ~/.cache/groupmock-interop). pip looks each time whether they are what they should be: the
newest of today is another one tomorrow.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Final, NamedTuple

from packaging.requirements import Requirement

from tools.runs import ROOT

CACHE: Final = Path(os.environ.get("GROUPMOCK_INTEROP_CACHE", "~/.cache/groupmock-interop")).expanduser()
NEWEST: Final = ("pyspark[connect]", "moto[s3]", "flask", "flask-cors")
"""With the client of Spark Connect, and with moto, an S3 server."""
PATIENCE_S: Final = 900


class Environment(NamedTuple):
    """Its interpreter, its PySpark's folder and version."""

    python: Path
    spark: Path
    version: str


def oldest() -> tuple[str, ...]:
    """The floor of the extra `pipeline`, as a requirement."""
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    (pyspark,) = [each for each in map(Requirement, extras["pipeline"]) if each.name == "pyspark"]
    (floor,) = [each.version for each in pyspark.specifier if each.operator == ">="]
    return (f"pyspark=={floor}",)


def environment(name: str, *requirements: str) -> Environment:
    """groupmock, editable, with its extra `pipeline` and these."""
    home = CACHE / f"pipeline-{name}-{sys.version_info.major}.{sys.version_info.minor}"
    python = home / "bin" / "python"
    if not python.exists():
        _run(sys.executable, "-m", "venv", str(home))
    _run(str(python), "-m", "pip", "install", "--quiet", "--upgrade", "--editable", f"{ROOT}[pipeline]", *requirements)
    told = _run(str(python), "-c", "import pyspark; print(pyspark.__path__[0]); print(pyspark.__version__)")
    spark, version = told.splitlines()
    return Environment(python, Path(spark), version)


def _run(*words: str) -> str:
    done = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=PATIENCE_S, check=False)
    assert done.returncode == 0, f"{' '.join(words)}: {done.stdout}{done.stderr}"
    return done.stdout
