"""Write the page that says, for each audit rule, how many drawn wrong clients it finds and how many decent clients it blames."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
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
* With `--until 10000 --record` further right journals are drawn, each from examples of the twelve rules that have judged the fewest
  occasions as kept so far, until every rule has so many. Each journal is judged by all rules, and each occasion that a rule finds kept
  in it counts for that rule.
* The same dialogues are recorded as `groupmock record` would. A recording has no rows of the coordinator, so that some rules say *not
  judged* about it; the column counts what was found.
* A variation that the broker does not answer as its text says is dropped.

`tests/audit/test_occasions.py` decides in `make test`: a fast wrong occasion of every wrong example, and no false alarm. `make live` plays
all examples over TCP (`tests/live/audit/test_rule_examples_tcp.py`), and the first right and wrong one of each rule through
`groupmock record`. With `RULE_EXAMPLES_RECORD=1` what it has seen goes into the table.
""".strip()


def text() -> str:
    data = json.loads((RECORDS / DATA).read_text(encoding="utf-8"))
    lines = [notice("judge", DATA), *ABOUT.splitlines(), "", "## The recorded run", "", *_run(data), ""]
    return "\n".join([*lines, *_table(data["rules"], data.get("seen", {}))]) + "\n"


def _run(data: Mapping[str, Any]) -> Iterator[str]:
    drawn, rules, more = data["drawn"], data["rules"], data.get("by_need")
    took = f"{drawn['core_seconds']:,.0f} seconds of one core"
    wrong, found = (sum(score[name] for score in rules.values()) for name in ("wrong", "found"))
    yield f"{drawn['seeds']} seeds from {drawn['first']} on took {took}: {found:,} of {wrong:,} wrong occasions were found."
    if more:
        yield f"Then {more['journals']:,} right journals were drawn by need, which took {more['core_seconds']:,.0f} seconds."
    right, alarms = (sum(score[name] for score in rules.values()) for name in ("kept", "alarms"))
    enough = sum(score["kept"] >= WANTED for score in rules.values())
    fewest = min(score["kept"] for score in rules.values())
    yield f"The rules judged {right:,} right occasions as kept, with {alarms:,} false alarms. {enough} of {len(rules)} rules have judged"
    yield f"{WANTED:,} right occasions or more, and every rule at least {fewest:,}; `--until {WANTED} --record` goes on."


def _table(rules: Mapping[str, Mapping[str, int]], seen: Mapping[str, list[str]]) -> Iterator[str]:
    yield "In the table, *kept* counts the occasions that the rule judged as kept in right journals, also on examples of other rules, and"
    yield "*not judged* those at which it could not look. *Live* and *recorded* say whether the rule kept its first right example over TCP"
    yield "(+) and found its first wrong one (−), in the server's journal and in a recording. An empty cell was not run yet."
    yield ""
    yield "| rule | wrong found | of these fast | found in recordings | kept | not judged | blamed | live | recorded | dropped |"
    yield "|---|---:|---:|---:|---:|---:|---:|---|---|---:|"
    for code, score in rules.items():
        found = f"{score['found']} of {score['wrong']} | {score['fast_found']} of {score['fast']} | {score['recorded']} of {score['wrong']}"
        right = f"{score['kept']:,} | {score['judged'] - score['kept']:,} | {score['alarms']}"
        live, recorded = (_seen(seen.get(code, ()), kind) for kind in ("live", "recorded"))
        yield f"| [{code}](../reference/audit-rules.md#{code.lower()}) | {found} | {right} | {live} | {recorded} | {score['dropped']} |"


def _seen(names: Iterable[str], kind: str) -> str:
    known = set(names)
    return " ".join(sign for which, sign in (("kept", "+"), ("broken", "−")) if f"{kind} {which}" in known)
