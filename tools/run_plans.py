"""python -m tools.run_plans [PLAN ...]: run the ready plans of faults, all or these, with each stock client, for docs/how-to/faults.md."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import asdict

from groupmock.faults.plan import ready_plans

from .pages.all_pages import written
from .pages.faults_page import load
from .records import RECORDS, save
from .runs import SUPPORT


def main(names: Sequence[str]) -> int:
    """Run the named plans, and keep the existing records of other plans."""
    sys.path.insert(0, str(SUPPORT))
    from plan_runs import libraries_of, run

    known = {(each["plan"], each["library"]): each for each in load()}
    for name in names or ready_plans():
        for library in libraries_of(name):
            outcome = known[name, library] = asdict(run(name, library))
            print(json.dumps(outcome), flush=True)
            ordered = [known[key] for key in sorted(known) if key[0] in ready_plans()]
            save(RECORDS / "plans.json", ordered)
    written("faults")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
