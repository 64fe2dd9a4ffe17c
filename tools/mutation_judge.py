"""One judge in a process of its own, over whatever groupmock is on the path: prints what it found as JSON.

tools/mutations.py starts it with a broken copy of the broker in front of the path. What a judge sees is what a client could see: the
invariants that the core checks of itself are switched off.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

Finding = dict[str, Any]
"""`broken`: how many dialogues or scripts; `rows`: the rows of the broken exchanges; `first`: the first difference in one line."""
RELEASE = "4.3"


def by_exchanges(folder: Path) -> Finding:
    """Play every exchange for the newest release on the pure core."""
    from groupmock_clients.probe.parser import load_folder

    broken: list[str] = []
    rows: dict[str, int] = {}
    first = ""
    played = [each for each in load_folder(folder) if not each.needs and "core" in each.stages and RELEASE in each.releases]
    for exchange in played:
        wrong = [found for variant in exchange.variants() if (found := _broken(variant)) is not None]
        if wrong:
            broken.append(exchange.name)
            first = first or wrong[0]
            rows.update((row, rows.get(row, 0) + 1) for row in exchange.rows)
    return {"judged": len(played), "broken": len(broken), "rows": rows, "first": first}


def _broken(variant: Any) -> str | None:
    """What is wrong with one dialogue, None if all is well. An exception inside the core is a broken server too."""
    from groupmock_clients.probe.core_stage import CoreStage
    from groupmock_clients.probe.runner import play

    try:
        outcome = play(variant, CoreStage(RELEASE, variant.exchange.wanted_settings))
    except Exception as problem:
        return f"{variant.name}: {type(problem).__name__}: {problem}"
    if outcome.verdict != "broken":
        return None
    return f"{variant.name}: {outcome.detail}"


def by_golden_corpus(folder: Path) -> Finding:
    """Replay Kafka's recorded answers, as far as they can be replayed on the core."""
    from groupmock_clients.differential.corpus import PLAYED_ON_CORE, load

    judged, found = 0, []
    for family in PLAYED_ON_CORE:
        for golden in load(folder, RELEASE, family):
            judged += 1
            if (problem := _differs(golden)) is not None:
                found.append(f"{family} {golden.script.seed}: {problem}")
    return {"judged": judged, "broken": len(found), "rows": {}, "first": found[0] if found else ""}


def _differs(golden: Any) -> str | None:
    """The first difference between one recorded play and the core; an exception inside the core is one too."""
    from groupmock_clients.differential.corpus import differences

    try:
        return next(map(str, differences(golden)), None)
    except Exception as problem:
        return f"{type(problem).__name__}: {problem}"


JUDGES: dict[str, Callable[[Path], Finding]] = {"exchanges": by_exchanges, "golden": by_golden_corpus}


def main(name: str, folder: str, sources: str) -> int:
    """Judge; refuses to judge another groupmock than the one below `sources`."""
    import groupmock
    from groupmock.core.group.group import Group

    found = Path(groupmock.__file__).resolve()
    if not found.is_relative_to(Path(sources).resolve()):
        print(f"{found} is on the path, not {sources}", file=sys.stderr)
        return 2
    Group.invariants = lambda self: None  # type: ignore[method-assign]  # not visible on the wire
    print(json.dumps(JUDGES[name](Path(folder))))
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
