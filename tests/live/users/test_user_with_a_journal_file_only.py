"""A user finds the cause of a failed run with nothing but its journal file.

The file comes from a real aiokafka service under `groupmock run`, in which a slow consumer's order is served twice. The test reads the
file, packed and in another folder, with the verbs alone, as a reader of docs/how-to/journal-files.md would.
"""

from __future__ import annotations

import gzip
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

GROUPMOCK = [sys.executable, "-m", "groupmock"]
PATIENCE = 120
SERVICE = """
import asyncio, os
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer

BOOTSTRAP = os.environ["GROUPMOCK_BOOTSTRAP"]
SLOW = asyncio.Event()

async def consume(name, work):
    consumer = AIOKafkaConsumer(
        "orders", bootstrap_servers=BOOTSTRAP, group_id="billing", client_id=name, auto_offset_reset="earliest", enable_auto_commit=False,
        heartbeat_interval_ms=100, max_poll_interval_ms=1000, request_timeout_ms=2000,
    )
    async with consumer:
        async for record in consumer:
            await work(record)
            await consumer.commit()

async def until_another_has_done_it(record):
    await SLOW.wait()

async def at_once(record):
    print("billed", record.partition, flush=True)
    DONE.add(record.partition)
    if len(DONE) == 2:
        SLOW.set()

DONE = set()

async def main():
    async with AIOKafkaProducer(bootstrap_servers=BOOTSTRAP) as producer:
        for partition in (0, 1):
            await producer.send_and_wait("orders", b"42", partition=partition)
    await asyncio.gather(consume("anna", until_another_has_done_it), consume("ben", at_once))

asyncio.run(main())
"""


def groupmock(*words: object) -> tuple[int, str, str]:
    """Run groupmock and return (exit code, stdout, stderr)."""
    done = subprocess.run([*GROUPMOCK, *map(str, words)], capture_output=True, text=True, timeout=PATIENCE, check=False)
    return done.returncode, done.stdout, done.stderr


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the compressed journal of the failed run."""
    there, here = tmp_path_factory.mktemp("ci"), tmp_path_factory.mktemp("desk")
    (there / "service.py").write_text(SERVICE)
    code, _, err = groupmock(
        "run",
        "--topic",
        "orders:2",
        "--journal",
        f"{there}/runs/",
        "--run",
        "nightly",
        "--log",
        "off",
        "--",
        sys.executable,
        there / "service.py",
    )
    assert code == 1 and "CommitFailedError" in err
    packed = here / "artifact.jsonl.gz"
    packed.write_bytes(gzip.compress((there / "runs" / "nightly.jsonl").read_bytes()))
    return packed


def test_the_file_is_whole_and_is_what_groupmock_did(file: Path) -> None:
    code, out, err = groupmock("replay", file)
    assert (code, err) == (0, "") and re.fullmatch(rf"equal: \d+ rows of {file} came again as they were\n", out)


def test_counting_errors_leads_to_the_refused_commit(file: Path) -> None:
    code, out, _ = groupmock("journal", "count", file, "--group", "billing", "--error", "UNKNOWN_MEMBER_ID")
    assert (code, out) == (0, "1\n")
    code, out, _ = groupmock("journal", "find", file, "--group", "billing", "--error", "UNKNOWN_MEMBER_ID", "--json")
    (row,) = json.loads(out)["rows"]
    assert (code, row["api_name"]) == (0, "OffsetCommit")
    code, out, _ = groupmock(
        "journal", "find", file, "--connection", row["connection"], "--api", "OffsetCommit", "--kind", "request", "--json"
    )
    assert json.loads(out)["rows"][-1]["client_id"] == "anna"


def test_the_story_tells_the_cause_in_order(file: Path) -> None:
    """The story tells that anna left, ben got her partition and committed, and anna's late commit was refused."""
    code, out, err = groupmock("story", file, "--group", "billing")
    assert (code, err) == (0, "")
    places = [
        re.search(pattern, out)
        for pattern in (
            r"anna#\w{4} gets orders/(\d)[^-\d]",
            r"anna#\w{4} is gone: it left",
            r"anna#\w{4} loses orders/\d",
            r"ben#\w{4} commits orders/0-1 = 1",
            r"anna\b.*commit of orders/\d = 1 REFUSED: UNKNOWN_MEMBER_ID",
        )
    ]
    assert all(places), out
    starts = [out.rindex("\n", 0, place.start()) for place in places if place]
    assert starts == sorted(starts), out


def test_the_last_seconds_of_one_member_are_a_few_lines(file: Path) -> None:
    _, whole, _ = groupmock("story", file, "--group", "billing")
    code, out, err = groupmock("story", file, "--group", "billing", "--member", "anna", "--since", "-30")
    assert (code, err) == (0, "") and "REFUSED: UNKNOWN_MEMBER_ID" in out
    assert len(out.splitlines()) < len(whole.splitlines())


def test_a_file_whose_writer_was_killed_says_so_and_tells_the_rest(file: Path, tmp_path: Path) -> None:
    rows = gzip.decompress(file.read_bytes())
    refused = rows.index(b'"error":"UNKNOWN_MEMBER_ID"')
    cut = tmp_path / "killed.jsonl"
    cut.write_bytes(rows[: rows.index(b"\n", refused) + 20])
    code, out, err = groupmock("story", cut, "--group", "billing")
    assert code == 0 and "REFUSED: UNKNOWN_MEMBER_ID" in out
    assert re.fullmatch(rf"groupmock story: {cut}: it ends in the middle of the row after \d+\n", err)
    assert groupmock("replay", cut)[0] == 4


def test_the_audit_reads_the_same_file(file: Path) -> None:
    code, out, _ = groupmock("audit", file)
    assert code == 0 and str(file) in out
