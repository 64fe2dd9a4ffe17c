"""Audits a journal of many groups in one pass, in a fresh process: `python -m benchmarks.workers.audit_rows ROWS [PASSES]`.

Prints one line of JSON. `audit` and `read` are rows per second of CPU from the file through the auditor and through JournalReader alone,
the medians of PASSES alternating passes. The line also has the resident memory at a tenth of the rows and at the end of one pass, which
runs before all others.
"""

from __future__ import annotations

import gc
import json
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

from benchmarks.audit_journal import write
from groupmock.audit.auditor import Auditor
from groupmock.audit.offline import audit_journal
from groupmock.audit.verdicts import Audit
from groupmock.journal.read import JournalReader

PASSES: Final = 3
PARTS: Final = 10


def rss_kb() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") // 1024


def audit(file: Path) -> None:
    """Audit a whole journal file in one pass, as `groupmock audit` does."""
    with file.open("rb") as source:
        _check(audit_journal(file.name, source).audit)


def _check(found: Audit) -> None:
    """Raise AssertionError if a benchmark client broke a rule, because the run would then measure something else."""
    assert not found.holes and not any(tally.crashed or tally.broken for tally in found.rules.values()), found


def read(file: Path) -> None:
    """Read every row of the journal and do nothing with it, to compare the audit with reading alone."""
    with file.open("rb") as source:
        for _ in JournalReader(source):
            pass


def memory(file: Path, rows: int) -> dict[str, int]:
    """Return the resident memory at a tenth of the rows and at the end."""
    found: dict[str, int] = {}
    places = {rows // PARTS: "rss_kb_tenth", rows - 1: "rss_kb_end"}
    auditor = Auditor()
    with file.open("rb") as source:
        for row in JournalReader(source):
            auditor.feed(row)
            if auditor.rows in places:
                gc.collect()
                found[places[auditor.rows]] = rss_kb()
    _check(auditor.close())
    return found


def rate(work: Callable[[Path], None], file: Path, rows: int) -> float:
    begun = time.process_time()
    work(file)
    return rows / (time.process_time() - begun)


def main() -> None:
    rows, passes = int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else PASSES
    with tempfile.TemporaryDirectory(prefix="groupmock-bench-audit-") as folder:
        file = Path(folder) / "journal.jsonl"
        size = write(file, rows)
        readings: dict[str, float] = {"rows": rows, "bytes": size, **memory(file, rows)}
        kinds = {"audit": audit, "read": read}
        rates: dict[str, list[float]] = {name: [] for name in kinds}
        for _ in range(passes):
            for name, work in kinds.items():
                rates[name].append(rate(work, file, rows))
        print(json.dumps(readings | {name: round(statistics.median(each)) for name, each in rates.items()}))


if __name__ == "__main__":
    main()
