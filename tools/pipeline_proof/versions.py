"""A version of the pipeline out of the repository's history, beside this one."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from tools.runs import ROOT, ended

PARTS: Final = ("codec", "broker", "clients", "pipeline")
LIMIT_S: Final = 3600
SMALL: Final = {
    "spark.ui.enabled": "false",
    "spark.sql.shuffle.partitions": "2",
    "spark.default.parallelism": "2",
    "spark.driver.memory": "2g",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.adaptive.enabled": "false",
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=240m",
}
"""For small journals the older version needs to be told what the newer finds out."""


def exported(commit: str, folder: Path) -> Path:
    """The packages as they were at that commit."""
    folder.mkdir(parents=True)
    archive = subprocess.run(["git", "archive", commit, *PARTS], cwd=ROOT, capture_output=True, check=True)
    subprocess.run(["tar", "-x", "-C", str(folder)], input=archive.stdout, check=True)
    return folder


def run(root: Path, journals: Path, lake: Path, names: Sequence[str], settings: dict[str, str]) -> str:
    """Jobs of the version that is below `root`; what they said. Raises SystemExit where one fails."""
    flags = [word for key, value in settings.items() for word in ("--set", f"{key}={value}")]
    script = Path(__file__).with_name("jobs_of.py")
    command = [sys.executable, str(script), str(journals), str(lake), *names, "--", "--master", "local[2]", *flags]
    path = ":".join(str(root / part) for part in PARTS)
    done = ended(command, LIMIT_S, variables={"PYTHONPATH": path})
    if done.code:
        raise SystemExit(f"{root}: exit {done.code}\n{done.output}")
    return done.output
