"""Questions over the journals of many runs, answered by Spark (needs groupmock[pipeline]).

    groupmock pipeline ingest JOURNALS LAKE     journals (.jsonl, .gz, .zst) into Parquet tables
    groupmock pipeline rebalances LAKE LAKE     one line per rebalance: what started it, what it moved, what it cost
    groupmock pipeline report LAKE OUT          one HTML page of everything that the lake has

`groupmock pipeline JOB --help` says more of one.
Exit codes: 0 done, 2 bad use or input, 3 Spark or Java does not start or the extra is not there.
"""

from __future__ import annotations

import argparse


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Pass all words on to the job's own parser."""
    from .command import overview

    parser.epilog = f"jobs:\n{overview()}"
    parser.add_argument("words", nargs=argparse.REMAINDER, metavar="JOB IN OUT [OPTION ...]", help="the job, and what is its own")


def run(arguments: argparse.Namespace) -> int:
    from .command import main

    return main(arguments.words, "groupmock pipeline")
