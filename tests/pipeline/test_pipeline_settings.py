"""Spark settings depend on the master and the input size; also tests the size estimate and the Java class archive. No test starts Java."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest
from cases import for_each

from groupmock_pipeline import class_archive
from groupmock_pipeline.input_size import PACKED_TIMES, size
from groupmock_pipeline.settings import COLLECTOR, GIB, MUCH, STARTED, Machine, suiting

HERE = Machine(2, 24 * GIB)
COMPILES = "spark.sql.codegen.wholeStage"


@for_each(
    ("master", "bytes_", "machine", "partitions", "heap", "quick"),
    [
        ("local[*]", 0, HERE, "2", "4096m", True),
        ("local[4]", MUCH - 1, HERE, "4", "4096m", True),
        ("local", MUCH - 1, HERE, "1", "4096m", True),
        ("local[*]", MUCH, HERE, "8", "4096m", False),
        ("local[2,3]", None, HERE, "8", "4096m", False),
        ("local[*]", None, Machine(16, 64 * GIB), "64", "16384m", False),
        ("local[*]", None, Machine(16, 16 * GIB), "64", "8192m", False),
        ("local[*]", 0, Machine(2, 2 * GIB), "2", "1024m", True),
    ],
)
def test_a_spark_on_this_machine_suits_what_it_reads(
    master: str, bytes_: int | None, machine: Machine, partitions: str, heap: str, quick: bool
) -> None:
    found = suiting(master, bytes_, machine, ["-XX:an-archive"])
    assert (found["spark.sql.shuffle.partitions"], found["spark.driver.memory"]) == (partitions, heap)
    assert (COMPILES in found, "spark.ui.enabled" in found, "TieredStopAtLevel" in found["spark.driver.extraJavaOptions"]) == (quick,) * 3
    assert ("spark.sql.codegen.hugeMethodLimit" in found, "Tier4" in found["spark.driver.extraJavaOptions"]) == (not quick,) * 2
    assert found["spark.driver.extraJavaOptions"].endswith("-XX:an-archive")


@for_each(
    ("told", "collectors"),
    [
        ("", ["-XX:+UseParallelGC", "-XX:+UseParallelGC"]),
        ("-Duser.language=de -XX:+UseG1GC -XX:MaxGCPauseMillis=50", []),
        ("-XX:+UseZGC", []),
        ("-XX:-UseG1GC -XX:+UseStringDeduplication", ["-XX:+UseParallelGC", "-XX:+UseParallelGC"]),
    ],
)
def test_a_collector_that_java_is_told_besides_stays(told: str, collectors: list[str]) -> None:
    ours = [each for bytes_ in (0, MUCH) for each in suiting("local", bytes_, HERE)["spark.driver.extraJavaOptions"].split()]
    options = [each for bytes_ in (0, MUCH) for each in suiting("local", bytes_, HERE, told=told)["spark.driver.extraJavaOptions"].split()]
    assert [each for each in options if COLLECTOR.match(each)] == collectors
    assert [each for each in options if not COLLECTOR.match(each)] == [each for each in ours if not COLLECTOR.match(each)]


@for_each("master", [None, "yarn", "spark://127.0.0.1:7077", "k8s://https://a:1", "local-cluster[2,1,1024]"])
def test_a_cluster_keeps_its_own_settings(master: str | None) -> None:
    assert suiting(master, 0, HERE, ["-XX:an-archive"]) == STARTED


def test_files_are_counted_with_what_is_below_and_what_is_packed_tenfold(tmp_path: Path) -> None:
    below = tmp_path / "a" / "b"
    below.mkdir(parents=True)
    for name in ("one.jsonl", "two.jsonl.gz", "three.jsonl.zst", "four.parquet"):
        (below / name).write_bytes(b"x" * 100)
    whole = 100 + 3 * 100 * PACKED_TIMES
    assert size(str(tmp_path), MUCH) == whole
    assert size(str(below / "one.jsonl"), MUCH) == 100
    assert size(f"{tmp_path}/a/*/t*", MUCH) == 2 * 100 * PACKED_TIMES
    assert size(str(tmp_path / "none"), MUCH) == 0


def test_counting_ends_where_it_is_enough(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(20):
        (tmp_path / f"{number}.jsonl").write_bytes(b"x" * 10)
    (tmp_path / "folder").mkdir()
    looked = []

    def plain(name: str, packed: int) -> int:
        looked.append(name)
        return packed

    monkeypatch.setattr("groupmock_pipeline.input_size._plain", plain)
    assert size(str(tmp_path), 50) == 50
    assert len(looked) == 5


# -- Java's classes ----------------------------------------------------------------------------------------------------------------------


@pytest.fixture
def java(tmp_path: Path) -> str:
    """Return a path of a fake Java with the files that a class archive depends on."""
    for file in ("jdk/bin/java", "jdk/lib/server/classes.jsa", "jdk/release", "spark/jars/one.jar"):
        (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / file).touch()
    return str(tmp_path / "jdk" / "bin" / "java")


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    return {"XDG_CACHE_HOME": str(tmp_path / "cache"), "SPARK_HOME": str(tmp_path / "spark")}


def file_of(options: list[str]) -> tuple[str, Path]:
    name, _, path = options[0].partition("=")
    return name, Path(path)


def test_the_first_session_makes_the_archive_and_the_next_has_it(java: str, environment: dict[str, str]) -> None:
    made, making = file_of(class_archive.options(java, True, environment))
    assert made == "-XX:ArchiveClassesAtExit" and making.parent == Path(environment["XDG_CACHE_HOME"], "groupmock", "java")
    making.write_bytes(bytes(4096))  # Java writes the file's head last, so a head of zeros means that Java is still writing or was killed.
    assert file_of(class_archive.options(java, True, environment))[0] == made
    making.write_bytes(b"\xa8" * 4096)
    used, archive = file_of(class_archive.options(java, True, environment))
    assert (used, archive.read_bytes()) == ("-XX:SharedArchiveFile", b"\xa8" * 4096)
    assert file_of(class_archive.options(java, True, environment)) == (used, archive)
    assert not making.exists()
    os.truncate(archive, 4095)
    assert file_of(class_archive.options(java, True, environment)) == (made, making)


def test_what_one_job_left_serves_until_there_is_what_all_left(java: str, environment: dict[str, str]) -> None:
    def told(whole: bool) -> tuple[str, Path]:
        return file_of(class_archive.options(java, whole, environment))

    told(False)[1].write_bytes(b"\x01" * 4096)
    some = told(False)
    assert some[0] == "-XX:SharedArchiveFile"
    making = told(True)
    assert making[0] == "-XX:ArchiveClassesAtExit"
    making[1].write_bytes(b"\x02" * 4096)
    assert told(True) == told(False) != some


def test_another_spark_has_an_archive_of_its_own(java: str, environment: dict[str, str], tmp_path: Path) -> None:
    first = file_of(class_archive.options(java, True, environment))[1]
    os.utime(tmp_path / "spark" / "jars", (1, 1))
    assert file_of(class_archive.options(java, True, environment))[1] != first


def test_an_archive_that_nobody_used_for_long_is_removed(java: str, environment: dict[str, str]) -> None:
    folder = file_of(class_archive.options(java, True, environment))[1].parent
    for name, age in (("old.jsa", 2), ("new.jsa", 0.5)):
        (folder / name).touch()
        used = time.time() - age * class_archive.FORGOTTEN_S
        os.utime(folder / name, (used, used))
    class_archive.options(java, True, environment)
    assert [each.name for each in folder.iterdir()] == ["new.jsa"]


def test_where_no_archive_can_be_none_is_asked_for(java: str, environment: dict[str, str], tmp_path: Path) -> None:
    assert class_archive.options(None, True, environment) == []
    assert class_archive.options(java, True, environment | {"CI": "true"}) == []
    (tmp_path / "file").touch()
    assert class_archive.options(java, True, environment | {"XDG_CACHE_HOME": str(tmp_path / "file")}) == []
    (tmp_path / "jdk" / "lib" / "server" / "classes.jsa").unlink()
    assert class_archive.options(java, True, environment) == []
