"""Run one judge in its own process on the groupmock on the path, and print its result as JSON.

tools/mutations starts it with a broken copy of the sources first on the path. The golden corpus and the exchanges judge only what a client
can see, so the core's own invariants are switched off for them. The unit tests run unchanged.
"""

from __future__ import annotations

import contextlib
import json
import sys
import tempfile
from collections import Counter
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

Finding = dict[str, Any]
"""The result of one judge (a set of tests) on one copy of the sources. `broken` counts dialogues, scripts or tests. `rows` counts the
rows of broken exchanges, or the failed cases by test. `first` is the first difference in one line."""
RELEASE = "4.3"


def by_exchanges(folder: Path) -> Finding:
    """Play every exchange for the newest release on the pure core."""
    from groupmock_clients.probe.language.parser import load_folder

    broken: list[str] = []
    rows: dict[str, int] = {}
    first = ""
    played = [each for each in load_folder(folder) if not each.lacking and "core" in each.stages and RELEASE in each.releases]
    for exchange in played:
        wrong = [found for variant in exchange.variants() if (found := _broken(variant)) is not None]
        if wrong:
            broken.append(exchange.name)
            first = first or wrong[0]
            rows.update((row, rows.get(row, 0) + 1) for row in exchange.rows)
    return {"judged": len(played), "broken": len(broken), "rows": rows, "first": first}


def _broken(variant: Any) -> str | None:
    """Return the failure of one dialogue of an exchange, or None if it has none. An exception in the core counts as broken."""
    from groupmock_clients.probe.stages.core_stage import CoreStage
    from groupmock_clients.probe.verdicts.runner import play

    try:
        outcome = play(variant, CoreStage(RELEASE, variant.exchange.wanted_settings))
    except Exception as problem:
        return f"{variant.name}: {type(problem).__name__}: {problem}"
    if outcome.verdict != "broken":
        return None
    return f"{variant.name}: {outcome.detail}"


def by_golden_corpus(folder: Path) -> Finding:
    """Replay Kafka's recorded answers, as far as the core can replay them."""
    from tools.fidelity.compare.golden import PLAYED_ON_CORE, load

    judged, found = 0, []
    for family in PLAYED_ON_CORE:
        for golden in load(folder, RELEASE, family):
            judged += 1
            if (problem := _differs(golden)) is not None:
                found.append(f"{family} {golden.script.seed}: {problem}")
    return {"judged": judged, "broken": len(found), "rows": {}, "first": found[0] if found else ""}


def _differs(golden: Any) -> str | None:
    """Return the first difference between one recorded play and the core's answers. An exception in the core counts as one."""
    from tools.fidelity.compare.golden import differences

    try:
        return next(map(str, differences(golden)), None)
    except Exception as problem:
        return f"{type(problem).__name__}: {problem}"


class NoShrinking:
    """A pytest plug-in that stops hypothesis from shrinking, which takes minutes, because only the failure matters here."""

    def pytest_configure(self) -> None:
        """Load the hypothesis profile without shrinking, after tests/conftest.py has chosen its own."""
        from hypothesis import Phase, settings

        settings.register_profile("judged", settings(), phases=(Phase.explicit, Phase.generate))
        settings.load_profile("judged")


def by_unit_tests(*folders: Path) -> Finding:
    """Run the tests of these folders as `make test` does, without stopping at a failure."""
    import pytest

    with tempfile.TemporaryDirectory() as scratch, contextlib.redirect_stdout(sys.stderr):
        file = Path(scratch) / "outcomes.jsonl"
        options = ["-q", "-p", "no:cacheprovider", "--continue-on-collection-errors", "-m", "not judge and not fidelity"]
        code = pytest.main([*options, "--outcomes", str(file), *map(str, folders)], plugins=[NoShrinking()])
        outcomes = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    failed = [each for each in outcomes if each["verdict"] == "failed"]
    tests = Counter(each["test"].partition("[")[0] for each in failed)
    if code == pytest.ExitCode.INTERRUPTED and not tests:
        tests["cannot be collected"] = 1
    elif code not in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED):
        raise RuntimeError(f"pytest ended with {code!r}")
    first = f"{failed[0]['test'].rpartition('::')[2]}: {_said(failed[0]['text'])}" if failed else " ".join(tests)
    return {"judged": len(outcomes), "broken": len(tests), "rows": tests, "first": first}


def _said(text: str) -> str:
    """Return the sentence that says what failed, from a failure in pytest's long form."""
    lines = text.strip().splitlines()
    return next((line.removeprefix("E").strip() for line in lines if line.startswith("E ")), lines[-1] if lines else "")


JUDGES: dict[str, Callable[..., Finding]] = {"exchanges": by_exchanges, "golden": by_golden_corpus, "unit": by_unit_tests}


def main(name: str, sources: str, *folders: str) -> int:
    """Run the judge (set of tests) of that name and print its result. Refuses a groupmock that is not below `sources`."""
    for package in ("groupmock", "groupmock_codec", "groupmock_clients"):
        found = find_spec(package)
        if found is None or not Path(str(found.origin)).resolve().is_relative_to(Path(sources).resolve()):
            print(f"{found and found.origin} is on the path, not {sources}", file=sys.stderr)
            return 2
    if name != "unit":
        from groupmock.core.groups.classic.group import Group

        Group.invariants = lambda self: None  # type: ignore[method-assign]  # not visible on the wire
    print(json.dumps(JUDGES[name](*map(Path, folders))))
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
