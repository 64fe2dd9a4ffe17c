"""python -m tools.pipeline_proof equal [JOURNALS ...]: an older pipeline and this one over the same journals, compared line by line.
python -m tools.pipeline_proof lines JOURNALS LAKE: every line as a plain reader has it, against the lake's row of it.
python -m tools.pipeline_proof kill: SIGKILL at random moments of an ingest and of a job; two at once.

Exit code 0: nothing differs, everything was right; 1: something was not, and is told.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from tools.runs import ROOT

from . import corpus, versions
from .kill_trials import Amount, tried

OLDER: Final = "30e7755b"
"""The last commit whose lake was moved into place folder by folder."""
JOBS: Final = ("ingest:--line-limit=1", "rebalances", "heartbeats", "faults")


def main(arguments: list[str] | None = None) -> int:
    """One of the two."""
    form = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(prog="python -m tools.pipeline_proof", description=__doc__, formatter_class=form)
    which = parser.add_subparsers(required=True)
    equal = which.add_parser("equal")
    equal.add_argument("stages", nargs="*", type=Path, metavar="FOLDER", help="journals instead of the corpus, laid one over the other")
    equal.add_argument("--older", default=OLDER, metavar="COMMIT", help="whom to compare with (default %(default)s)")
    equal.add_argument("--seed", type=int, default=1, help="of the corpus (default %(default)s)")
    equal.set_defaults(work=_equal)
    kill = which.add_parser("kill")
    kill.add_argument("--ingests", type=int, default=50, metavar="N", help="kills of an ingest (default %(default)s)")
    kill.add_argument("--jobs", type=int, default=20, metavar="N", help="kills of the job `rebalances` (default %(default)s)")
    about = "file events of each command after which the lake is looked at and completed (default %(default)s; each takes seconds)"
    kill.add_argument("--states", type=int, default=40, metavar="N", help=about)
    kill.add_argument("--seed", type=int, default=1, help="of the moments (default %(default)s)")
    kill.set_defaults(work=_kill)
    lines = which.add_parser("lines")
    lines.add_argument("journals", type=Path, metavar="JOURNALS")
    lines.add_argument("lake", metavar="LAKE")
    lines.set_defaults(work=_lines)
    for each in (equal, kill, lines):
        each.add_argument("--work", dest="folder", type=Path, metavar="FOLDER", help="keep journals and lakes there")
    asked = parser.parse_args(arguments)
    if asked.folder is not None:
        asked.folder.mkdir(parents=True, exist_ok=True)
        return int(asked.work(asked, asked.folder))
    with tempfile.TemporaryDirectory(prefix="groupmock-proof-") as folder:
        return int(asked.work(asked, Path(folder)))


def _equal(asked: argparse.Namespace, work: Path) -> int:
    from groupmock_pipeline.session import session

    from .lakes import differences

    print(f"seed {asked.seed}, against {asked.older}", flush=True)
    stages = asked.stages or corpus.stages(work / "stages", asked.seed)
    journals, new = work / "journals", work / "new"
    _older(asked.older, stages, work)
    shutil.rmtree(new, ignore_errors=True)
    wrong = 0
    for number in corpus.laid(stages, journals):
        print(versions.run(ROOT, journals, new, JOBS, {}), flush=True)
        spark = session("proof", "local[2]", versions.SMALL)
        for found in differences(spark, work / f"old-{number}", new):
            wrong += 1
            print(f"stage {number}: {found}", flush=True)
        spark.stop()
    print(f"{wrong} kinds of differences")
    return 1 if wrong else 0


def _kill(asked: argparse.Namespace, work: Path) -> int:
    print(f"seed {asked.seed}", flush=True)
    amount = Amount(asked.ingests, asked.jobs, asked.states)
    outcomes = list(tried(work, asked.seed, amount, lambda text: print(text, flush=True)))
    print(f"{outcomes.count(True)} of {len(outcomes)} right")
    return 0 if all(outcomes) else 1


def _lines(asked: argparse.Namespace, _: Path) -> int:
    from groupmock_pipeline.session import session

    from .plain_lines import compared

    wrong = 0
    for told in compared(session("proof", "local[2]", versions.SMALL), asked.journals, asked.lake):
        wrong += not told.startswith(("note: ", "compared "))
        print(told)
    return 1 if wrong else 0


def _older(commit: str, stages: Sequence[Path], work: Path) -> None:
    """The older version's lake after each stage; with `--work` it is made once."""
    if (work / f"old-{len(stages)}").exists():
        return
    older = versions.exported(commit, work / "older")
    for number in corpus.laid(stages, work / "journals"):
        print(versions.run(older, work / "journals", work / "old", JOBS, versions.SMALL), flush=True)
        shutil.copytree(work / "old", work / f"old-{number}")


if __name__ == "__main__":
    sys.exit(main())
