"""Write the page that says, for each audit rule, how many drawn wrong clients it finds and how many decent clients it blames."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, Final

from tools.records import RECORDS

from .markdown import notice

DATA: Final = "judge.json"
WANTED: Final = 10_000
"""The number of right occasions of each rule that the project wants to have drawn."""
ABOUT: Final = """
# What each audit rule finds

Each [audit rule](../reference/audit-rules.md) has examples of clients that keep and break it. `tests/support/audit_occasions.py` draws
variations of them, and the table counts the wrong clients that the rule found and the decent clients that it blamed.

```text
python -m tools.search.occasions --first 0 --seeds 100 --record       draw, and write tools/records/judge.json
python -m tools.search.occasions --first 7 --seeds 1 --rule CLIENT-22 the wrong occasion of one seed again
make search SEARCH=occasions SECONDS=3600                             fresh seeds
```

* A seed draws how long a client waits where an example only says that it has read an answer (1 to 700 ms), further pauses, longer timeouts,
  older versions of requests, the host, and client ids that several clients may share. In a *fast* occasion every such wait is 1 ms. Where
  the answer came on another connection the wait is 300 ms at least, because a client may read two connections in any order.
* A wrong occasion is played on a virtual clock and merged by time with up to three decent clients of other groups. It is found if the rule
  is broken in the audit of the journal file.
* For right occasions 24 variations of each right example are played. Twelve of them at a time, of different rules, are merged into one
  journal, again and again. So the company differs each time, and the dialogue itself is one of 24.
* The same dialogues are recorded as `groupmock record` would. A recording has no rows of the coordinator, so that some rules say *not
  judged* about it; the column counts what was found.
* A variation that the broker does not answer as its text says is dropped.

`tests/audit/test_occasions.py` decides in `make test`: a fast wrong occasion of every wrong example, and no false alarm. `make live` plays
all examples over TCP (`tests/live/audit/test_rule_examples_tcp.py`).
""".strip()


def text() -> str:
    data = json.loads((RECORDS / DATA).read_text(encoding="utf-8"))
    lines = [notice("judge", DATA), *ABOUT.splitlines(), "", "## The recorded run", "", *_run(data["drawn"], data["rules"]), ""]
    return "\n".join([*lines, *_table(data["rules"])]) + "\n"


def _run(drawn: Mapping[str, Any], rules: Mapping[str, Mapping[str, int]]) -> Iterator[str]:
    right = sum(score["right"] for score in rules.values()) / len(rules)
    hours = drawn["core_seconds"] / right * WANTED / 3600
    took = f"{drawn['core_seconds']:,.0f} seconds of one core"
    yield f"{drawn['seeds']} seeds from {drawn['first']} on took {took}, for {right:,.0f} right occasions of each rule."
    yield f"{WANTED:,} of each take {hours:.1f} core-hours at this rate; `--first {drawn['first'] + drawn['seeds']} --record` goes on."


def _table(rules: Mapping[str, Mapping[str, int]]) -> Iterator[str]:
    yield "In the table, *judged* counts all judgements of the rule in right journals, kept or not judged, also on examples of other rules."
    yield ""
    yield "| rule | wrong found | of these fast | found in recordings | right | judged | false alarms | dropped |"
    yield "|---|---:|---:|---:|---:|---:|---:|---:|"
    for code, score in rules.items():
        found = f"{score['found']} of {score['wrong']} | {score['fast_found']} of {score['fast']} | {score['recorded']} of {score['wrong']}"
        right = f"{score['right']} | {score['judged']:,} | {score['alarms']} | {score['dropped']}"
        yield f"| [{code}](../reference/audit-rules.md#{code.lower()}) | {found} | {right} |"
