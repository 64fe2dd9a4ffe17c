"""Records tests/data/streams_topologies.jsonl.gz: random topologies of streams groups with what Kafka 4.4.0's own code decides.

    python -m tests.live.judge.record_topologies       (in the checkout; needs java and the shared folder)

The file has at most SAME topologies of each kind of answer, so that rare errors are in it. A second run changes nothing.
"""

from __future__ import annotations

import gzip
import json
import random
from collections import Counter
from typing import Final

from tools.runs import ROOT

from .oracle import ask
from .test_judge_topologies import PROGRAM, DrawnTopology, kind

FILE: Final = ROOT / "tests" / "data" / "streams_topologies.jsonl.gz"
DRAWN: Final = 4000
SAME: Final = 40


def main() -> None:
    dice = random.Random(2)
    questions = [DrawnTopology(dice).question() for _ in range(DRAWN)]
    kinds, lines = Counter[str](), []
    for question, answer in zip(questions, ask("4.4.0", questions, PROGRAM), strict=True):
        kinds[kind(answer)] += 1
        if kinds[kind(answer)] <= SAME:
            lines.append(json.dumps(question | {"answer": answer}, separators=(",", ":")) + "\n")
    FILE.write_bytes(gzip.compress("".join(lines).encode(), compresslevel=9, mtime=0))
    print(f"{len(lines)} topologies, {FILE.stat().st_size} bytes in {FILE}")


if __name__ == "__main__":
    main()
