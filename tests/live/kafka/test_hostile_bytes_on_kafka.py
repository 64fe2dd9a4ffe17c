"""Real Apache Kafka and groupmock react alike to malformed bytes from a fixed range of seeds. `make search` uses fresh seeds of every
family.

It needs java and the shared folder, and takes GROUPMOCK_FIDELITY_SECONDS (default 20) for each release.
"""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from tools.fidelity.generated.settings_classes import BASE, BROKERS
from tools.oracle import kafka
from tools.runs import ROOT

SETTINGS = {**BASE, "auto.create.topics.enable": "false", "max.incremental.fetch.session.cache.slots": "100000"}
INPUTS_A_SECOND = 50
HOSTILE_SEED = 40_000
"""First seed of a range that was fully tested on both releases. With other seeds, one broken request in some thousand still shows
something new about an old release; `make search` looks for those."""


@pytest.mark.parametrize("release", BROKERS)
def test_hostile_bytes_do_what_they_do_to_kafka(release: str) -> None:
    first = int(os.environ.get("GROUPMOCK_HOSTILE_SEED", HOSTILE_SEED))
    count = INPUTS_A_SECOND * int(os.environ.get("GROUPMOCK_FIDELITY_SECONDS", "20"))
    words = ["tools.fidelity", "bytes", "--release", release, "--seeds", str(first), str(first + count)]
    with kafka(BROKERS[release], SETTINGS) as bootstrap:
        there = {**os.environ, "KAFKA_BOOTSTRAP": bootstrap}
        done = subprocess.run([sys.executable, "-m", *words], capture_output=True, text=True, check=False, cwd=ROOT, env=there)
    assert done.returncode == 0 and " 0 differ" in done.stdout, done.stdout[-6000:] + done.stderr[-2000:]
