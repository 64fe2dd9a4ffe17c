"""Builds the images with any container engine and runs each verb as a user would: `ENGINE run IMAGE VERB ...`.

Where no registry of images answers, docker/stand-in makes the base from Debian's packages (root and debootstrap).
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

TREE = Path(__file__).resolve().parents[3]
BUILD_S = 1800
PATIENCE_S = 900
BASE = "docker.io/library/python:3.13-slim-bookworm"
ENGINES = ("docker", "podman", "buildah")


@dataclass(frozen=True)
class Done:
    """The result of a command in a container."""

    code: int
    out: str
    err: str


@dataclass
class Engine:
    """An engine that builds an image and runs a command in it. `base` is an image that exists or can be pulled."""

    name: str
    base: str

    def build(self, target: str) -> str:
        """Build the image as the Dockerfile's head says and return its tag."""
        tag = f"localhost/groupmock-live:{target}"
        words = ["build", "-f", "docker/Dockerfile", "--target", target, "-t", tag, "--build-arg", f"BASE={self.base}", "."]
        if self.name != "docker":
            words[1:1] = ["--format", "docker"]  # Only the docker format supports HEALTHCHECK.
        if self.name == "buildah":
            # With these options the build needs no namespaces, which a sandbox may forbid.
            words[1:1] = ["--isolation", "chroot", "--network", "host"]
        done = subprocess.run([self.name, *words], cwd=TREE, capture_output=True, text=True, timeout=BUILD_S, check=False)
        assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
        return tag

    def run(self, image: str, words: Sequence[str], entry: str = "groupmock") -> Done:
        """Run `entry` with these words as the image's default user."""
        if self.name != "buildah":
            return _done([self.name, "run", "--rm", "--entrypoint", entry, image, *words])
        container = _done(["buildah", "from", image]).out.strip()
        try:
            return _done(["buildah", "run", "--isolation", "chroot", container, "--", entry, *words])
        finally:
            _done(["buildah", "rm", container])

    def megabytes(self, image: str) -> int:
        """Return the size of the whole image with its base."""
        words = (
            ["images", "--format", "{{.Size}}", image] if self.name == "buildah" else ["image", "inspect", "--format", "{{.Size}}", image]
        )
        size = _done([self.name, *words]).out.strip()
        units = {"kB": 1e3, "MB": 1e6, "GB": 1e9}
        number, _, unit = size.partition(" ")
        return round(float(number) * units.get(unit, 1) / 1e6)


def _done(words: Sequence[str]) -> Done:
    done = subprocess.run(words, cwd=TREE, capture_output=True, text=True, timeout=PATIENCE_S, check=False)
    return Done(done.returncode, done.stdout, done.stderr)


def _answers(engine: str) -> bool:
    return shutil.which(engine) is not None and _done([engine, "info"]).code == 0


@pytest.fixture(scope="session")
def engine() -> Engine:
    name = next((each for each in ENGINES if _answers(each)), None)
    if name is None:
        pytest.skip(f"no engine answers: {', '.join(ENGINES)} (Debian: apt-get install --no-install-recommends buildah debootstrap)")
    if _done([name, "pull", BASE]).code == 0:
        return Engine(name, BASE)
    if os.geteuid() != 0 or shutil.which("debootstrap") is None:
        pytest.skip("no registry of images answers, and docker/stand-in needs root and debootstrap")
    made = subprocess.run(["docker/stand-in", name], cwd=TREE, capture_output=True, text=True, timeout=BUILD_S, check=False)
    assert made.returncode == 0, made.stderr[-4000:]
    return Engine(name, made.stdout.strip())


@pytest.fixture(scope="session")
def server(engine: Engine) -> str:
    return engine.build("server")


@pytest.fixture(scope="session")
def pipeline(engine: Engine) -> str:
    return engine.build("pipeline")


VERBS = """
import subprocess
from groupmock.cli import verbs
for verb in verbs():
    done = subprocess.run(["groupmock", verb, "--help"], capture_output=True, text=True)
    print(verb, done.returncode, done.stderr[-300:].replace(chr(10), " | "))
"""


def test_every_verb_of_the_image_has_its_help(engine: Engine, server: str) -> None:
    done = engine.run(server, ["-c", VERBS], entry="python")
    assert done.code == 0, done.err
    ends = [line.split(maxsplit=2)[1:] for line in done.out.splitlines()]
    assert len(ends) > 15
    assert [line for line, end in zip(done.out.splitlines(), ends, strict=True) if end != ["0"]] == []


SESSION = """
set -eu
groupmock serve --host 127.0.0.1 --port 0 --control 0 --topic orders:2 --journal run.jsonl >ready 2>log &
until [ -s ready ]; do sleep 0.1; done
field() { python -c 'import json, sys; print(json.load(open("ready"))[sys.argv[1]])' "$1"; }
export GROUPMOCK_CONTROL_URL=$(field control)
python -IS /usr/local/lib/groupmock/health.py "$(field bootstrap)"
groupmock topic create payments --partitions 3 >&2
groupmock group list >&2
groupmock faults plans >&2
groupmock cluster health
groupmock probe "$(field bootstrap)" --only SERVER-04 --report text >&2
groupmock journal count >&2
groupmock apis >&2
groupmock config >&2
groupmock explain CLIENT-01 >&2
groupmock scenario list >&2
kill "$(field pid)"
wait
groupmock journal count run.jsonl >&2
groupmock audit run.jsonl >&2 || [ $? = 1 ]  # the probe breaks rules on purpose
groupmock replay run.jsonl >&2
groupmock run --topic orders -- python -IS /usr/local/lib/groupmock/health.py 127.0.0.1:1 || [ $? = 1 ]
"""


def test_the_image_serves_is_steered_judged_and_replayed_by_an_ordinary_user(engine: Engine, server: str) -> None:
    done = engine.run(server, ["-c", SESSION], entry="sh")
    assert done.code == 0, done.out + done.err
    assert json.JSONDecoder().raw_decode(done.out)[0]["topics"] == {"orders": 2, "payments": 3}


def test_the_demo_runs_in_the_image(engine: Engine, server: str) -> None:
    done = engine.run(server, ["demo"])
    assert done.code == 0, done.out[-2000:] + done.err
    assert "The demo took" in done.out


def test_the_image_without_spark_says_in_one_sentence_where_it_is(engine: Engine, server: str) -> None:
    done = engine.run(server, ["pipeline", "ingest", "journals", "lake"])
    assert "the pipeline needs Spark: pip install 'groupmock[pipeline]' (in a container: the image's target `pipeline`)" in done.err
    assert "Traceback" not in done.err and done.code != 0


LAKE = """
set -eu
mkdir journals
groupmock run --topic orders:2 --journal journals/run.jsonl -- python -c '
import os
from kafka import KafkaConsumer
cook = KafkaConsumer("orders", bootstrap_servers=os.environ["KAFKA_BOOTSTRAP_SERVERS"], group_id="kitchen")
while not cook.assignment():
    cook.poll(100)
cook.close()
'
groupmock pipeline ingest journals lake
groupmock pipeline rebalances lake lake
ls lake
"""


def test_the_pipelines_image_runs_a_job_on_its_own_java(engine: Engine, pipeline: str) -> None:
    done = engine.run(pipeline, ["-c", LAKE], entry="sh")
    assert done.code == 0, done.out[-2000:] + done.err[-4000:]
    assert "rebalances" in done.out.split()


def test_the_servers_image_is_small_beside_the_pipelines(engine: Engine, server: str, pipeline: str) -> None:
    """The size difference is the reason for two images. The base is Python's slim image, or the stand-in, of about 150 MB."""
    sizes = {each: engine.megabytes(each) for each in (engine.base, server, pipeline)}
    print(sizes)
    assert sizes[server] - sizes[engine.base] < 150
    assert sizes[pipeline] - sizes[server] > 500
