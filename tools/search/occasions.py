"""Draw occasions for audit rules. Count the wrong clients that each rule finds and the decent clients that it blames (docs/proof/judge.md).

    python -m tools.search.occasions --first 0 --seeds 100 --record        every rule; --first from where the record ends goes on
    python -m tools.search.occasions --first 7 --seeds 1 --rule CLIENT-22
    python -m tools.search.occasions --until 10000 --record                right ones, until each rule has kept 10,000; goes on
"""

from __future__ import annotations

import argparse
import json
import resource
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from typing import TYPE_CHECKING, Any, Final

from groupmock.audit.rule import registered
from tools.records import RECORDS, save
from tools.runs import ROOT, ended

from .report import SearchPart
from .suite import SearchRequest

if TYPE_CHECKING:
    from audit_occasions import Scores

NAME: Final = "occasions"
SUPPORT: Final = ROOT / "tests/support"
RECORD: Final = RECORDS / "judge.json"
ROUNDS: Final = 20
"""The number of right occasions of every rule for each seed, which has one wrong occasion of every rule."""
POOL: Final = 24
"""The number of right variations of each example that are played, and then merged with others again and again."""
SAID: Final = 200
"""At most this many sentences about misses and false alarms are printed."""
GRACE_S: Final = 300


def search(wanted: SearchRequest) -> SearchPart:
    """Draw occasions from fresh seeds in each worker."""
    part = SearchPart(NAME)
    words = ["--seeds", "1000000", "--seconds", f"{wanted.seconds:.0f}"]
    firsts = [wanted.seed * 1_000_003 % 2**40 + place * 1_000_000 for place in range(wanted.workers)]
    commands = [[sys.executable, "-m", "tools.search.occasions", "--first", str(first), *words] for first in firsts]
    with ThreadPoolExecutor(wanted.workers) as pool:
        for done in pool.map(lambda command: ended(command, wanted.seconds + GRACE_S), commands):
            told = [line for line in done.output.splitlines() if line.startswith("{")]
            if done.code != 0 or not told:
                return part.failed(done.output)
            summary = json.loads(told[-1])
            part.did.append(summary["did"])
            part.reds += summary["said"]
    return part


def draw(first: int, seeds: int, rules: Sequence[str], rounds: int, end: float) -> tuple[int, Scores, list[str]]:
    """Draw occasions of this many seeds, or fewer if the time `end` comes before. Returns the seeds drawn, the scores, and sentences about
    misses and false alarms."""
    from audit_occasions import Score, score_right, score_wrong

    scores: Scores = {code: Score() for code in registered()}
    said: list[str] = []
    for seed in range(first, first + seeds):
        for code in rules:
            said += score_wrong(scores, code, seed, POOL)
        for place in range(rounds):
            said += score_right(scores, seed * rounds + place, POOL)
        if time.monotonic() >= end:
            return seed + 1 - first, scores, said
    return seeds, scores, said


def draw_by_need(scores: Scores, first: int, until: int, end: float) -> tuple[int, list[str]]:
    """Draw right journals, each of the rules that have the fewest kept occasions, until every rule has so many or the time `end` comes.
    Returns the number of journals, and sentences about false alarms."""
    from audit_occasions import CROWD, score_crowd

    said: list[str] = []
    for drawn in count():
        lacking = sorted((score.kept, code) for code, score in scores.items() if score.kept < until)[:CROWD]
        if not lacking or time.monotonic() >= end:
            return drawn, said
        said += score_crowd(scores, [code for _, code in lacking], first + drawn, POOL)
    raise AssertionError


def _go_on(until: int, end: float) -> dict[str, Any]:
    """Draw right journals by need in addition to those of the record, and write it. Returns the summary."""
    import msgspec
    from audit_occasions import Score

    kept = json.loads(RECORD.read_text(encoding="utf-8"))
    scores = {code: msgspec.convert(kept["rules"].get(code, {}), Score) for code in registered()}
    before = kept.get("by_need", {"journals": 0, "core_seconds": 0.0})
    journals, said = draw_by_need(scores, before["journals"], until, end)
    found = {"journals": before["journals"] + journals, "core_seconds": round(before["core_seconds"] + _used(), 1)}
    save(RECORD, {**kept, "by_need": found, "rules": {code: msgspec.to_builtins(score) for code, score in scores.items()}})
    few = [code for code, score in scores.items() if score.kept < until]
    return {"did": f"{journals} right journals by need: {len(scores) - len(few)} rules have kept {until} or more", "said": said[:SAID]}


def _used() -> float:
    """Return the CPU seconds of this process."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def _record(drawn: dict[str, Any], scores: Scores) -> None:
    """Write the scores to the record, in addition to those before if the seeds begin where its seeds end."""
    import msgspec
    from audit_occasions import Score

    kept = json.loads(RECORD.read_text(encoding="utf-8")) if RECORD.exists() else {}
    before = kept.get("drawn", {})
    if before and before["first"] + before["seeds"] == drawn["first"]:
        for code, score in kept["rules"].items():
            if code in scores:
                scores[code].add(msgspec.convert(score, Score))
        drawn = {name: before[name] if name == "first" else before[name] + drawn[name] for name in drawn}
    save(RECORD, {**kept, "drawn": drawn, "rules": {code: msgspec.to_builtins(score) for code, score in scores.items()}})


def main(words: Sequence[str] | None = None) -> int:
    """Draw occasions and report them. The last line of output is a JSON object: `did`, and the first sentences about misses and false
    alarms."""
    parser = argparse.ArgumentParser(prog="python -m tools.search.occasions", description=__doc__.split("\n")[0] if __doc__ else None)
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--seeds", type=int, default=1, help="how many at most")
    parser.add_argument("--until", type=int, help="with --record: draw right journals until each rule has kept so many occasions")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="begin no seed after this time")
    parser.add_argument("--rule", choices=list(registered()), action="append", help="wrong occasions of this rule (default: of all)")
    parser.add_argument("--rounds", type=int, default=ROUNDS, help=f"right occasions of every rule for each seed (default {ROUNDS})")
    parser.add_argument("--record", action="store_true", help="write the scores to tools/records/judge.json")
    asked = parser.parse_args(words)
    if asked.record and asked.rule:
        parser.error("--record is for all rules, because the record has every rule over the same seeds")
    sys.path.insert(0, str(SUPPORT))
    if asked.until is not None:
        if not asked.record:
            parser.error("--until goes on from the record, so it needs --record")
        print(json.dumps(_go_on(asked.until, time.monotonic() + asked.seconds)))
        return 0
    seeds, scores, said = draw(asked.first, asked.seeds, asked.rule or list(registered()), asked.rounds, time.monotonic() + asked.seconds)
    cost = round(_used(), 1)
    if asked.record:
        _record({"first": asked.first, "seeds": seeds, "core_seconds": cost}, scores)
    wrong, found = sum(score.wrong for score in scores.values()), sum(score.found for score in scores.values())
    right, alarms = sum(score.right for score in scores.values()), sum(score.alarms for score in scores.values())
    did = f"{seeds} seeds from {asked.first} on, {cost} s of CPU: {found} of {wrong} wrong occasions found, {right} right, {alarms} alarms"
    print(json.dumps({"did": did, "said": said[:SAID]}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
