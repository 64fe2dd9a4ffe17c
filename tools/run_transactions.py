"""python -m tools.run_transactions [CLIENT ...]: stock clients that consume, transform and produce exactly once, through random histories
of faults (tests/support/transaction_histories.py) or through each ready plan for producers; for docs/proof/transactions.md.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from .pages.all_pages import written
from .pages.transactions_page import CLIENTS, DATA, load
from .records import RECORDS, save
from .runs import SUPPORT


def main(words: list[str] | None = None) -> int:
    """Play the histories of faults, and return 1 if one was not processed exactly once."""
    parser = argparse.ArgumentParser(prog="python -m tools.run_transactions", description=__doc__)
    parser.add_argument("clients", nargs="*", metavar="CLIENT", help=f"of {', '.join(CLIENTS)}; all unless said")
    parser.add_argument("--first", type=int, default=1, metavar="SEED", help="(default: %(default)s)")
    parser.add_argument("--count", type=int, default=50, metavar="N", help="histories per client (default: %(default)s)")
    parser.add_argument("--at-once", type=int, default=3, metavar="N", help="(default: %(default)s)")
    parser.add_argument("--plans", action="store_true", help="each ready plan once, in the place of histories")
    parser.add_argument("--zombies", action="store_true", help="histories of members that are paused in turn, without faults")
    parser.add_argument("--folder", type=Path, default=Path("build/transactions"), help="logs, and journals of what is not exact")
    parser.add_argument("--against", metavar="HOST:PORT", help="play on that broker, without what only groupmock can")
    parser.add_argument("--broker", default="groupmock", help="what the record calls it (default: %(default)s)")
    parser.add_argument("--told", action="store_true", help="print what members said")
    parser.add_argument("--save", action="store_true", help="into tools/records, and write the page")
    asked = parser.parse_args(words)
    sys.path.insert(0, str(SUPPORT))
    from transaction_histories import drawn, of_zombies
    from transaction_play import Played, play_all

    wrong = 0
    for client in asked.clients or CLIENTS:
        played: list[Played] = []
        seeds = range(asked.first, asked.first + asked.count)
        histories = _of_plans(client) if asked.plans else [(of_zombies if asked.zombies else drawn)(client, seed) for seed in seeds]
        for done in play_all(histories, asked.folder, asked.at_once, asked.against):
            print(done, flush=True)
            broke = [f"{code}: {sentence}" for code, sentence in done.broke.items()]
            for line in dict.fromkeys((*done.raised, *done.refused, *broke) if asked.told or done.wrong else ()):
                print(f"    {line}", flush=True)
            played.append(done)
        wrong += sum(bool(each.wrong) for each in played)
        if asked.plans:
            found = {"plans": {f"{each.history.plan} {client}": _plan_row(each) for each in played}}
        else:
            found = {"zombies" if asked.zombies else "histories": {f"{client} {asked.broker}": _row(asked.broker, asked.first, played)}}
        print(json.dumps(found), flush=True)
        if asked.save:
            save(RECORDS / DATA, {part: rows | found.get(part, {}) for part, rows in load().items()})
            written("transactions")
    return int(wrong > 0)


def _of_plans(client: str) -> list[Any]:
    from transaction_histories import PLANS, of_plan

    return [of_plan(client, plan) for plan in PLANS]


def _row(broker: str, first: int, played: list[Any]) -> dict[str, Any]:
    """Return the page's row about the histories of faults that one client went through."""
    return {
        "client": played[0].history.client, "broker": broker, "said": next((each.said for each in played if each.said), ""),
        "first": first, "histories": len(played), "exact": sum(not each.wrong for each in played),
        "faults": sum(sum(each.fired.values()) for each in played), "ends": sum(each.ends for each in played),
        "steps": sum(verb != "produce" for each in played for _, verb, _ in each.history.steps),
        "stalls": sum(each.stalls for each in played), "broke": sorted({code for each in played for code in each.broke}),
        "slowest": round(max(each.seconds for each in played), 1),
        "wrong": [f"seed {each.history.seed}: {'; '.join(each.wrong[:3])}" for each in played if each.wrong],
    }  # fmt: skip


def _plan_row(played: Any) -> dict[str, Any]:
    """Return the page's row about one client under one fault plan."""
    return {
        "said": played.said, "exact": not played.wrong, "fired": sum(played.fired.values()), "seconds": round(played.seconds, 1),
        "ends": played.ends, "told": list(dict.fromkeys(each.removeprefix("trouble: ") for each in played.raised)),
    }  # fmt: skip


if __name__ == "__main__":
    sys.exit(main())
