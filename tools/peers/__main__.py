"""Judges other Kafka-like servers with the probe, for docs/proof/peers.md.

    python -m tools.peers judge NAME [--output FILE]     one of PEERS; writes the report as JSON (default tools/records/peers/NAME.json)
    python -m tools.peers keep NAME REPORT               a report of `groupmock probe --report json` as tools/records/peers/NAME.json

With --missing only the rows that the recorded report lacks are judged, or kept, and added to it.

`python -m tools.pages peers` writes the page.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from groupmock_clients.probe.report.json import from_json
from groupmock_clients.probe.verdicts.report_model import Report
from tools.records import RECORDS, save

from .peer_servers import PEERS
from .probing import added, judge, plain, plain_suite


def main(words: Sequence[str]) -> int:
    """Return 0 always, because a broken rule of another server is a result and not a failure."""
    parser = argparse.ArgumentParser(
        prog="python -m tools.peers", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    verbs = parser.add_subparsers(dest="verb", required=True)
    judging = verbs.add_parser("judge")
    judging.add_argument("name", choices=PEERS)
    judging.add_argument("--output", type=Path)
    judging.add_argument("--missing", action="store_true")
    keeping = verbs.add_parser("keep")
    keeping.add_argument("name")
    keeping.add_argument("report", type=Path)
    keeping.add_argument("--missing", action="store_true")
    asked = parser.parse_args(words)
    file = RECORDS / "peers" / f"{asked.name}.json"
    before = from_json(file.read_bytes()) if asked.missing else None
    if asked.verb == "judge":
        file = asked.output or file
        report = judge(PEERS[asked.name], plain_suite({row.row for row in before.rows} if before is not None else ()))
    else:
        report = plain(from_json(asked.report.read_bytes()))
    save(file, _as_data(report if before is None else added(before, report)))
    return 0


def _as_data(report: Report) -> Any:
    return msgspec.json.decode(msgspec.json.encode(report))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
