"""Write the page of fault rules: grammar, kinds and ready plans from the program, behaviour of stock clients from the records."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterator
from typing import Any, get_type_hints

import msgspec

from groupmock.faults.kind import Fault, all_kinds
from groupmock.faults.plan import ABOUT, PLANS, read_plan, ready_plans
from tools.records import RECORDS

from .markdown import notice, table

NOTICE = notice("faults", "plans.json")
LIBRARIES = ("aiokafka", "kafka-python", "confluent-kafka")
USE = """\
A *rule* says **when** it acts (on which calls), at which **stage**, and what to **do**; a *plan* is a file of rules.
Each action of a rule is a `fault` [row](../reference/glossary.md#row) of the journal with the rule's name, and `replay`
plays it again. Without rules the feature costs no time.

```toml
# lost-sync.toml
seed = 7
[[rule]]
name = "lost-sync"
when = { api = "SyncGroup", group = "orders", role = "follower", nth = 3 }
stage = "reply"
do = { kind = "drop" }
times = 1
```

The same file, or the name of a ready plan, works everywhere: `groupmock serve --plan lost-sync.toml`, `groupmock run --plan lost-sync --
COMMAND`, `Broker(plan=...)`, `@pytest.mark.groupmock(plan=..., seed=...)`, and over HTTP ([control API](../reference/control.md)). JSON
has the same keys. This is a test with a rule and one with a plan:

```python
# test_lost_sync.py
import pytest
from kafka import KafkaConsumer


def test_a_cook_survives_a_broken_round(groupmock):
    groupmock.create_topic("orders")
    groupmock.produce("orders", b"one coffee")
    with groupmock.fault(when={"api": "SyncGroup", "group": "kitchen"}, do={"kind": "close"}, times=1) as fault:
        cook = KafkaConsumer("orders", bootstrap_servers=groupmock.bootstrap, group_id="kitchen", auto_offset_reset="earliest")
        assert next(cook).value == b"one coffee"
        assert fault.fired == 1
    cook.close()


@pytest.mark.groupmock(plan="member-id-abandoned", seed=7)
def test_under_a_ready_plan(groupmock):
    groupmock.create_topic("orders")
    groupmock.produce("orders", b"one coffee")
    cook = KafkaConsumer("orders", bootstrap_servers=groupmock.bootstrap, group_id="kitchen", auto_offset_reset="earliest")
    assert next(cook).value == b"one coffee"
    cook.close()
```

A rule that never fired fails the test at the end of its block, or at the end of the marked test. The message names the
call that came nearest and the condition that it did not meet; `must_fire=False` allows such a rule. `fault.wait(hits=1)`
blocks until it fired, `fault.release()` releases the calls that it holds. `groupmock_async.fault(...)` does the same as
`async with`, with `await fault.fired`. Rules that outlive a block need `add_fault`, `load_plan`, `remove_fault`,
`release_fault` and `clear_faults`; `faults` lists all current rules, `never_fired()` those that did nothing.

An impossible rule is refused when it is registered, with the reason, and nothing of its plan is applied: an unknown key, a condition
that no request of that API can meet, an error or a throttle time that the answer of that version has no field for.

Rules are tried in the order of their registration, and the first rule that matches a call ends the search. Some kinds leave the call
to the next rule as well: a changed answer (`error` and `leave_out` at stage reply, `throttle_time`), kinds that only change the
cluster (marked *steers* below), and `observe`. A rule that strikes a part of a request leaves the rest of it to the next rule.
Random choices (`probability`, the bytes of `garble`) depend on the plan's seed, else the run's: the same seed and the same calls
give the same faults."""
PARTS = """\
A request often names several things: a commit of twelve partitions, a fetch of three topics, DeleteGroups of two groups. `error`
and `leave_out` strike only those that `when` names, by `group`, `topic`, `topic_id`, `partition`, `resource` or
(LeaveGroup) `member_id`; the others get their real answer. This works in every version of each API whose answer has an
error per entity.

```python
# test_one_of_several.py
import pytest
from kafka import KafkaConsumer, TopicPartition
from kafka.errors import OffsetMetadataTooLargeError
from kafka.structs import OffsetAndMetadata


def test_a_commit_of_which_one_partition_is_refused(groupmock):
    groupmock.create_topic("orders", 3)
    cook = KafkaConsumer("orders", bootstrap_servers=groupmock.bootstrap, group_id="kitchen", enable_auto_commit=False)
    while not cook.assignment():
        cook.poll(100)
    offsets = {TopicPartition("orders", partition): OffsetAndMetadata(7, "", -1) for partition in range(3)}
    only = {"api": "OffsetCommit", "topic": "orders", "partition": 1}
    with groupmock.fault(when=only, do={"kind": "error", "code": "OFFSET_METADATA_TOO_LARGE"}):
        with pytest.raises(OffsetMetadataTooLargeError):
            cook.commit(offsets)
    assert groupmock.wait_for("kitchen", offsets={"orders/0": 7, "orders/2": 7}).offsets == {"orders": {0: 7, 2: 7}}
    cook.close()
```

- One entity must meet all conditions: `topic = "orders", partition = 1` is partition 1 of `orders`.
- At stage request the struck entity is removed from the request: it is not committed, not written, not created, and its
  error is added to the answer. At stage reply the request was executed, and the answer is false.
- The first rule that names an entity decides about it; later rules apply to the rest of the request. Thus two rules can
  give two partitions of one request different errors.
- `level` moves the error to another place than the innermost entity that `when` names: `level = "group"` refuses the group of that
  partition (OffsetFetch 8+), `level = "partition"` without a condition refuses each of them, `level = "request"` the request as a whole.
- A fetch in an incremental session is struck for the partitions of its session, even if it names none. At stage request it is answered
  at once, as Kafka answers a fetch with an error in it.
- `topic_id = "stale"` matches an id that no topic has: the client still uses the id of a topic that was deleted and created anew.
- The row of the fault lists the struck entities in `struck`. `groupmock record` strikes them in front of a real cluster too, and asks
  the node only for the others.

With every other kind, `partition`, `topic_id` and `resource` are conditions like the others: they match a call that names the entity.

The kind `observe` changes nothing and only reports a call: `groupmock.add_fault(when={"api": "OffsetCommit"},
do="observe", name="commits")`, then `groupmock.wait_for_fault("commits", hits=3)` ([waiting](wait.md))."""


def text() -> str:
    return page(load())


def page(data: list[dict[str, Any]]) -> str:
    """Return the text of the page. `data` has one dict per run, with the fields of tests/support/plan_runs.Outcome."""
    lines = [NOTICE, "# Breaking it on purpose: fault rules", "", USE, "", "## Faults for one entity of a request", "", PARTS, ""]
    lines += ["## Rule", "", *table(["key", "meaning"], iter(RULE.items())), ""]
    lines += ["## `when`", "", "An omitted condition is met. A text may contain `*`, or be a list of texts, one of which must match.", ""]
    lines += [*table(["condition", "meaning"], ((f"`{name}`", text) for name, text in ABOUT.items())), ""]
    lines += ["## `do`", "", "The first stage of a kind is its default.", ""]
    lines += [*table(["kind", "stages", "takes", "what it does"], map(_kind, all_kinds())), ""]
    lines += ["## Ready plans", ""]
    for name in ready_plans():
        lines += [f"### `{name}`", "", read_plan(name).about.strip(), "", "```toml", *_rules(name), "```", ""]
    lines += ["## Results of stock clients", "", *_clients(data)]
    return "\n".join(lines) + "\n"


RULE = {
    "`name`": "names the rule in rows and reports; generated if left out",
    "`when`": "see below; if left out, every call of the stage matches",
    "`stage`": "`connect`: a client connected; `request`: before it is applied; `reply`: after it was, before its answer goes out",
    "`do`": "the kind and its parameters, see below",
    "`times`": "how often it fires; if left out, until it is removed",
}


def _kind(name: str) -> list[str]:
    kind = all_kinds()[name]
    about = " ".join((kind.__doc__ or "").split())
    return [f"`{name}`" + (" *steers*" if kind.CAUSES else ""), ", ".join(kind.STAGES), "<br>".join(_fields(kind)), about]


def _fields(kind: type[Fault]) -> Iterator[str]:
    hints = get_type_hints(kind, include_extras=True)
    for field in msgspec.structs.fields(kind):
        about = next(mark.description for mark in hints[field.name].__metadata__ if isinstance(mark, msgspec.Meta) and mark.description)
        default = "" if field.required or field.default is None else f" ({json.dumps(field.default)})"
        yield f"`{field.name}`{default}: {about}"


def _rules(name: str) -> list[str]:
    """Return the plan's own text from its first rule on."""
    text = (PLANS / f"{name}.toml").read_text()
    assert tomllib.loads(text)
    return text[text.index("[[rule]]") :].strip().splitlines()


def _clients(data: list[dict[str, Any]]) -> Iterator[str]:
    versions = {run["library"]: run["version"] for run in data}
    yield from CLIENTS.splitlines()
    yield ""
    head = ["plan", *(f"{library} {versions[library]}" for library in LIBRARIES if library in versions)]
    by_place = {(run["plan"], run["library"]): run for run in data}
    plans = [name for name in ready_plans() if any(run["plan"] == name for run in data)]
    yield from table(head, ([f"`{name}`", *(_cell(by_place.get((name, library))) for library in LIBRARIES)] for name in plans))
    yield from ("", "### Findings", "", *FINDINGS.splitlines())


def _cell(run: dict[str, Any] | None) -> str:
    if run is None:
        return "not run"
    parts = [f"settled after {run['seconds']:g} s" if run["settled"] else "**did not settle**"]
    parts += [f"{run['generations']} round{'s' if run['generations'] > 1 else ''}"] if run["generations"] else []
    parts += [f"{run['again']} again"] if run["again"] else []
    parts += [f"**{run['lost']} not delivered**"] if run["lost"] and not run["ended"] else []
    parts += [f"{run['ended']} of 2 ended"] if run["ended"] else []
    parts += [f"told: {each}" for each in run["raised"]]
    return "; ".join(parts).replace("|", "\\|")


CLIENTS = """\
Two members of one library, session 6 s, request timeout 7 s, heartbeats every 100 ms, auto-commit every 200 ms (under
`commit-outcome-unknown` by hand), two nodes (under `loading-coordinator` one), four partitions, 40 records before and 40 after the fault;
`network-stall` lasts 8 s. *Settled*: seconds from the fault until every partition is held again and every record was delivered; *rounds*:
the group's rounds since then (new epochs of a consumer group); *again*: records delivered more than once; *told*: errors that the library
raised or reported to its user. Under the plans for consumer groups (`fenced-member`, `lost-heartbeat-answer`, `slow-revoker`,
`stale-epoch`) members have group.protocol=consumer, which only confluent-kafka supports among these libraries. `python -m
tools.run_plans` made the table, and a test repeats the runs. [Exactly once, through
faults](../proof/transactions.md#ready-plans-for-producers) has the results of transactional producers under their plans."""
FINDINGS = """\
- confluent-kafka 2.16.1 (librdkafka), `fenced-member`: after error 110 it gives up all partitions as lost, joins again
  within a heartbeat and reads on from the committed offsets; `stale-epoch`: it commits the same again 40 ms later; `lost-heartbeat-answer`:
  it connects again, reports all its partitions, and gives up the revoked ones within 120 ms; `slow-revoker`: the member that waits
  stays at its new epoch with nothing until then.
  A heartbeat that is not answered within a second (heartbeat interval 100 ms) is sent again on another connection.
- confluent-kafka 2.16.1 (librdkafka), `offsets-elsewhere`: an OffsetFetch that returns 16 for the whole request is not repeated, the
  member's partitions are never fetched, and
  only an error event reveals it; known as librdkafka issue 5586, open.
- aiokafka 0.14.0, `offsets-elsewhere`: in about one run of five a member stays without a coordinator for good after error 16: it is
  expelled, still believes to hold its
  partitions, and its `stop()` does not return. The table shows a run that went well.
- aiokafka 0.14.0, `loading-coordinator`: a member whose SyncGroup meets the loading coordinator (14) ends with a KafkaError instead of
  asking again; seen when the machine is busy. The table shows a run in which both had their assignments.
- aiokafka 0.14.0, `fenced-twin`: its heartbeats are v1 and do not name the instance. It therefore gets error 25 instead of 82 and
  joins again with the same instance id: two such processes replace each other for ever. kafka-python and confluent-kafka stop with an
  error.
- aiokafka 0.14.0, after a node is gone: `stop()` raises CancelledError, and leaves connections open, while a failed fetch waits for its
  backoff; with auto-commit and no coordinator known it tries its last commit for ever.
  `groupmock_clients.cooperative.aiokafka.stop_wholly(consumer)` ends it properly (tests/live/cooperative/test_aio_stop.py).
- After `zombie-member`, `half-open` and `network-stall` each library delivers again the records that it could not commit meanwhile."""


def load() -> list[dict[str, Any]]:
    runs: list[dict[str, Any]] = json.loads((RECORDS / "plans.json").read_text())
    return runs
