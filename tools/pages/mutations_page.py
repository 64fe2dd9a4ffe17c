"""Write the page about whether the checks notice mistakes, from the last complete run of tools/mutations."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, Final

from tools.mutations.judging import FEW
from tools.mutations.planted import FOLDERS, Mutation, load, named_by
from tools.records import RECORDS

from .markdown import notice

INTRODUCTION: Final = """\
{count} small mistakes, planted one at a time in a copy of the sources (`make mutations`; this run took {seconds} s); the list is
`tests/mutations/mutations.toml`. Three judges, all of them part of `make test`, look for each mistake. Two see only what goes over the
wire, and judge the core alone:

- the **golden corpus** (`tests/golden`: the recorded answers of Kafka {release}, replayed) catches {caught} of {core};
- the **exchanges** (what `groupmock probe` asks of any broker) also say *which rule* is broken: {named} of the {ruled} that break a rule
  of theirs are named by a row that they were expected to break.

The third, the **unit tests** of the part that is broken (`tests/unit/<part>`), notices {noticed} of {count}: {noticed_core} of the {core}
of the core, and {noticed_rest} of the {rest} elsewhere, where it is the only judge. The first difference that
a judge saw of each is in `tools/records/mutations.json`."""


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
    lines += [f"- `{each.name}`: {only}" for each in core if (only := _alone(found[each.name]))] or ["Nothing."]
    lines += ["", "## Noticed by few unit tests", "", f"At most {FEW} unit tests notice each of these, so that they must stay.", ""]
    few = {each.name: [f"`{test}`" for test in found[each.name]["unit"]["rows"]] for each in noticed}
    lines += [f"- `{name}`: {', '.join(tests)}" for name, tests in few.items() if tests]
    lines += ["", "## What the golden corpus lets pass", ""]
    lines += [f"- `{each.name}`: {each.survives}" for each in survivors] or ["Nothing."]
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
    """Return the only judge that catches the mistake, or "" if several or none do."""
    judges = [judge for judge in FOLDERS if judge in found and found[judge]["caught"]]
    return judges[0] if len(judges) == 1 else ""
