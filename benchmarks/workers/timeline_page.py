"""Draws the timeline of a journal of many members in a fresh process: `python -m benchmarks.workers.timeline_page MEMBERS SECONDS PAGE`.

It prints one line of JSON: the MB of the page (`page_mb`) and of its journal, and the CPU seconds to write the page (`draw`) and to read
only the rows (`read`).
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from pathlib import Path

from groupmock.journal.read import JournalReader
from groupmock.timeline.drawing import of_journal, save
from groupmock_clients.scenarios.play import TOPIC, Protocol, Sizes, Speaks
from groupmock_clients.scenarios.virtual import open_stage


def crowd_journal(folder: Path, members: int, seconds: int) -> Path:
    """Write the journal of members that heartbeat every 3 s and commit every 5 s. One is killed after a third of the time, one leaves
    after two thirds."""
    sizes = Sizes(
        members=members, partitions=2 * members, rate=0.0, session_ms=45_000, heartbeat_ms=3000, commit_ms=5000, initial_delay_ms=3000
    )
    journal = folder / f"crowd-{members}.jsonl"
    with open_stage(sizes, Protocol("range", "scripted"), journal) as stage:
        stage.create(TOPIC, sizes.partitions)
        names = [f"m{number:04}" for number in range(members)]
        for name in names:
            stage.start(name, Speaks.TARGET, [TOPIC])
        stage.wait(seconds * 1000 / 3)
        stage.kill(names[members // 2])
        stage.wait(seconds * 1000 / 3)
        stage.stop(names[members // 3])
        stage.wait(seconds * 1000 / 3)
    return journal


def main(members: int, seconds: int, page: Path) -> None:
    with tempfile.TemporaryDirectory(prefix="groupmock-bench-timeline-") as folder:
        journal = crowd_journal(Path(folder), members, seconds)
        begin = time.process_time()
        with journal.open("rb") as source:
            rows = sum(1 for _ in JournalReader(source))
        read = time.process_time()
        save(of_journal(str(journal)), str(page), "html")
        drawn = time.process_time()
        sizes = {"page_mb": page.stat().st_size / 1e6, "journal_mb": journal.stat().st_size / 1e6}
        print(json.dumps({"rows": rows, "read": read - begin, "draw": drawn - read, **sizes}))


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), Path(sys.argv[3]))
