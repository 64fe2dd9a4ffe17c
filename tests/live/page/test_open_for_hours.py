"""Neither the browser nor the server uses more memory after eight hours of a busy run than after a while."""

from __future__ import annotations

import json
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from crowd import Crowd
from page_visit import Visit, until

HOURS = 8
MEMBERS = 12
STEP_S = 20
"""Seconds of each clock step, taken as soon as the members have continued; eight hours take some minutes."""
MOST_HEAP = 2_000_000
MOST_RESIDENT = 10_000_000
"""Number of bytes by which memory may grow from the second hour to the end."""


@pytest.fixture
def server() -> Iterator[dict[str, Any]]:
    words = ["serve", "--port", "0", "--control", "0", "--topic", "orders:12", "--log", "off", "--seed", "1", "--audit"]
    with subprocess.Popen([sys.executable, "-m", "groupmock", *words], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        yield json.loads(process.stdout.readline())
        process.terminate()


def post(url: str, **body: Any) -> Any:
    asked = urllib.request.Request(url, json.dumps(body).encode(), method="POST")
    with urllib.request.urlopen(asked, timeout=60) as answer:
        return json.load(answer)


def step(control: str) -> None:
    """Advance the clock and wait until the members have continued."""
    seq = post(f"{control}/v1/clock/step", ms=STEP_S * 1000)["seq"]
    wanted = f"{control}/v1/journal/wait?kind=request&api=OffsetCommit&since={seq}&count={4 * MEMBERS}&timeout=60"
    with urllib.request.urlopen(wanted, timeout=90):
        pass


def resident(pid: int) -> int:
    fields = dict(line.split(":", 1) for line in Path(f"/proc/{pid}/status").read_text().splitlines())
    return int(fields["VmRSS"].split()[0]) * 1024


def kept(visit: Visit, pid: int) -> dict[str, int]:
    """Return memory in bytes and number of elements after a garbage collection."""
    session = visit.context.new_cdp_session(visit.page)
    session.send("HeapProfiler.enable")
    session.send("HeapProfiler.collectGarbage")
    session.send("Performance.enable")
    told = {each["name"]: int(each["value"]) for each in session.send("Performance.getMetrics")["metrics"]}
    session.detach()
    return {"heap": told["JSHeapUsedSize"], "nodes": told["Nodes"], "listeners": told["JSEventListeners"], "resident": resident(pid)}


def test_memory_stays_flat(browser, server: dict[str, Any]) -> None:
    port, control = server["nodes"][0]["port"], server["control"]
    crowd = Crowd(port, [f"m{number:02}" for number in range(MEMBERS)], commit_s=0.02, beat_s=0.02, session_ms=240_000)
    visit = Visit(browser, f"{control}/")
    page = visit.steady(MEMBERS)
    page.select_option("#window", "3600")
    page.select_option("#tail-form", "lines")
    found: list[dict[str, int]] = []
    for hour in range(1, HOURS + 1):
        for minute in range(60):
            for _ in range(60 // STEP_S):
                step(control)
            if minute == 30:
                post(f"{control}/v1/groups/kitchen/rebalance")
        crowd.crash(f"m{hour:02}")
        post(f"{control}/v1/groups/kitchen/expire", member=f"m{hour:02}")
        crowd.come(f"m{hour:02}")
        page.wait_for_timeout(500)
        found.append(kept(visit, server["pid"]))
        print(hour, found[-1], flush=True)
    crowd.end()
    until(page, "() => document.getElementById('tail').children.length <= 500")
    early, late = found[1], found[-1]
    assert visit.said == []
    assert late["heap"] - early["heap"] < MOST_HEAP, found
    assert late["resident"] - early["resident"] < MOST_RESIDENT, found
    assert late["nodes"] < 1.5 * early["nodes"] + 2000, found
    assert late["listeners"] < 1.5 * early["listeners"] + 200, found
    visit.context.close()
