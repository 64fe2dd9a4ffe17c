"""Write the page that shows whether the checks notice planted mistakes, from the last complete run of tools/mutations."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, Final

from tools.mutations.judging import FEW
from tools.mutations.planted import FOLDERS, Mutation, load, named_by
from tools.records import RECORDS

from .markdown import notice

INTRODUCTION: Final = """\
{count} small mistakes were planted one at a time in a copy of the sources (`make mutations`; this run took {seconds} s); the list is
`tests/mutations/mutations.toml`. Three kinds of tests, all of them part of `make test`, look for each mistake. The golden corpus and the
exchanges see only the traffic on the wire, and test the core alone:

- The **golden corpus** (`tests/golden`: the recorded answers of Kafka {release}, replayed) notices {caught} of {core} mistakes in the core.
- The **exchanges** (the dialogues of `groupmock probe`) also say *which rule* is broken: for {named} of the {ruled} mistakes that break a
  rule of the exchanges, they name a row that the mistake was expected to break.

The third kind, the **unit tests** of the part that is broken (`tests/unit/<part>`), notices {noticed} of {count} mistakes: {noticed_core}
of the {core} in the core, and {noticed_rest} of the {rest} elsewhere, where there are no other tests. The first difference that each kind
of test saw of each mistake is in `tools/records/mutations.json`."""

MUST_STAY: Final = f"At most {FEW} unit tests notice each of these mistakes, so that these tests must stay."

NAMES: Final = {"golden": "golden corpus", "unit": "unit tests"}
"""Maps a folder of tests to its name in a sentence, where the name differs from the folder's."""


def text() -> str:
    return page(json.loads((RECORDS / "mutations.json").read_text(encoding="utf-8")), load())


def page(data: dict[str, Any], mutations: Sequence[Mutation]) -> str:
    found = data["mutations"]
    core = [each for each in mutations if each.in_core]
    survivors = [each for each in core if not found[each.name]["golden"]["caught"]]
    noticed = [each for each in mutations if found[each.name]["unit"]["caught"]]
    counts = {
        "count": len(mutations),
        "core": len(core),
        "caught": len(core) - len(survivors),
        "ruled": sum(bool(each.rows) for each in mutations),
        "named": sum(bool(named_by(each, found[each.name]["exchanges"]["rows"])) for each in mutations if each.rows),
        "noticed": len(noticed),
        "noticed_core": sum(each.in_core for each in noticed),
        "noticed_rest": sum(not each.in_core for each in noticed),
        "rest": len(mutations) - len(core),
    }
    lines = [notice("mutations", "mutations.json"), "# The checks can fail", "", *INTRODUCTION.format(**counts, **data).splitlines()]
    lines += ["", "## The core", ""]
    lines += ["| mutation | what it breaks | golden corpus: scripts that differ | exchanges: rows that name it | unit tests that fail |"]
    lines += ["|---|---|---|---|---|"]
    lines += [f"| {' | '.join(_cells(each, found[each.name]))} |" for each in core]
    lines += ["", "## Everything else", "", "| mutation | what it breaks | unit tests that fail |", "|---|---|---|"]
    lines += [f"| `{each.name}` | {each.breaks} | {_tests(found[each.name])} |" for each in mutations if not each.in_core]
    lines += ["", "## Caught by one judge alone", ""]
    alone = [f"- `{each.name}` is noticed only by the {NAMES.get(only, only)}." for each in core if (only := _alone(found[each.name]))]
    lines += alone or ["Nothing."]
    lines += [
        "",
        "## Noticed by few unit tests",
        "",
        MUST_STAY,
        "",
    ]
    few = {each.name: [f"`{test}`" for test in found[each.name]["unit"]["rows"]] for each in noticed}
    lines += [f"- The mistake `{name}` is noticed by {', '.join(tests)}." for name, tests in few.items() if tests]
    lines += ["", "## What the golden corpus lets pass", ""]
    lines += [f"- The corpus lets `{each.name}` pass for this reason: {each.survives}" for each in survivors] or ["Nothing."]
    return "\n".join(lines) + "\n"


def _cells(mutation: Mutation, found: dict[str, Any]) -> list[str]:
    golden, broken = found["golden"], found["exchanges"]["rows"] if mutation.rows else []
    rows = named_by(mutation, broken)
    more = len(broken) - len(rows)
    told = " ".join(f"`{row}`" for row in rows) + (f" and {more} more" if more else "")
    survived = str(golden["broken"]) if golden["caught"] else "**survives**"
    return [f"`{mutation.name}`", mutation.breaks, survived, told or ("**none**" if mutation.rows else "no rule"), _tests(found)]


def _tests(found: dict[str, Any]) -> str:
    return str(found["unit"]["broken"]) if found["unit"]["caught"] else "**none**"


def _alone(found: dict[str, Any]) -> str:
    """Return the only judge (set of tests) that notices the mistake, or "" if several or none do."""
    judges = [judge for judge in FOLDERS if judge in found and found[judge]["caught"]]
    return judges[0] if len(judges) == 1 else ""
