"""python -m tools.pipeline_proof: send SIGKILL at random moments of an ingest and of a job, look at states between file events, run two
commands at once.

Exit code 0 means that everything was right, and 1 that something was not, which is printed. `make live` plays a short one
(tests/live/pipeline_kill).
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from .kill_trials import Amount, tried


def main(arguments: list[str] | None = None) -> int:
    """Run kill trials as often as requested. Returns the exit code."""
    form = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(prog="python -m tools.pipeline_proof", description=__doc__, formatter_class=form)
    parser.add_argument("--ingests", type=int, default=50, metavar="N", help="kills of an ingest (default %(default)s)")
    parser.add_argument("--jobs", type=int, default=20, metavar="N", help="kills of the job `rebalances` (default %(default)s)")
    about = "file events of each command after which the lake is looked at and completed (default %(default)s; each takes seconds)"
    parser.add_argument("--states", type=int, default=40, metavar="N", help=about)
    parser.add_argument("--seed", type=int, default=1, help="of the moments (default %(default)s)")
    asked = parser.parse_args(arguments)
    print(f"seed {asked.seed}", flush=True)
    with tempfile.TemporaryDirectory(prefix="groupmock-proof-") as folder:
        amount = Amount(asked.ingests, asked.jobs, asked.states)
        outcomes = list(tried(Path(folder), asked.seed, amount, lambda text: print(text, flush=True)))
    print(f"{outcomes.count(True)} of {len(outcomes)} right")
    return 0 if all(outcomes) else 1


if __name__ == "__main__":
    sys.exit(main())
