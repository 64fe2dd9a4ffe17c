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
A *rule* says **when** (which calls), at which **stage**, and what to **do**; a *plan* is a file of rules. Whatever a rule does is a
`fault` [row](../reference/glossary.md#row) of the journal with its name, and `replay` plays it again. Without rules nothing of this
costs time.

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
COMMAND`, `Broker(plan=...)`, `@pytest.mark.groupmock(plan=..., seed=...)`, and over HTTP ([control API](../reference/control.md)). In JSON
it is the same keys. In a test:

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

A rule that has never fired when the block, or the marked test, ends fails the test. The message names the call that came nearest and the
condition that it did not meet; `must_fire=False` allows it. `fault.wait(hits=1)` blocks until it fired, `fault.release()` releases
the calls that it holds. `groupmock_async.fault(...)` is the same as `async with`, with `await fault.fired`. Standing rules: `add_fault`,
`load_plan`, `remove_fault`,
`release_fault`, `clear_faults`; `faults` are all rules as they stand, `never_fired()` those that did nothing.

An impossible rule is refused when it is registered, with the reason, and nothing of its plan is applied: an unknown key, a condition
that no request of that API can meet, an error or a throttle time that the answer of that version has no field for.

Rules are looked at in the order of their registration. The first that takes the call is the last that is looked at. Exceptions: a
changed answer (`error` and `leave_out` at stage reply, `throttle_time`), kinds that only change the cluster (marked *steers* below) and
`observe` leave the call to the next rule; so does what strikes a part of a request, while some of it is left. Chances (`probability`,
the bytes of `garble`) come from the plan's seed, else the run's: the same seed and the same calls give the same faults."""
PARTS = """\
A request often names several things: a commit of twelve partitions, a fetch of three topics, DeleteGroups of two groups. `error` and
`leave_out` strike those that `when` names, by `group`, `topic`, `topic_id`, `partition`, `resource` or (LeaveGroup) `member_id`, and the
others are answered for real. It works in every API whose answer judges one by one, in every version.

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

- One entity has to meet all that is said: `topic = "orders", partition = 1` is partition 1 of `orders`.
- At stage request what is struck never reaches who serves the request: it is not committed, not written, not created, and the error is put
  into the answer to the rest. At stage reply it was done, and the answer lies.
- The first rule that names an entity has the word for it; rules behind it have the rest of the request. So two rules give two
  partitions of one request two errors.
- `level` says where the error stands if it is not at the innermost thing that `when` names: `level = "group"` refuses the group of that
  partition (OffsetFetch 8+), `level = "partition"` without a condition refuses each of them, `level = "request"` the request as a whole.
- A fetch in an incremental session is struck for what its session has, though it names nothing. Struck at stage request it is answered at
  once, as Kafka answers a fetch with an error in it.
- `topic_id = "stale"` is an id that no topic has: a client that goes on with the id of a topic which was deleted and made anew.
- The row of the fault says in `struck` which they were. `groupmock record` strikes them in front of a real cluster too: the node is asked
  for the others.

Whatever the kind, `partition`, `topic_id` and `resource` are conditions like the others: the call names such a thing.

To be told that something happened, and to do nothing about it, is the kind `observe`: `groupmock.add_fault(when={"api": "OffsetCommit"},
do="observe", name="commits")`, then `groupmock.wait_for_fault("commits", hits=3)` ([waiting](wait.md))."""


def text() -> str:
    return page(load())


def page(data: list[dict[str, Any]]) -> str:
    """Return the text of the page. `data` has one dict per run, with the fields of tests/support/plan_runs.Outcome."""
    lines = [NOTICE, "# Breaking it on purpose: fault rules", "", USE, "", "## One of several", "", PARTS, ""]
    lines += ["## Rule", "", *table(["key", "meaning"], iter(RULE.items())), ""]
    lines += ["## `when`", "", "A condition that is left out is met. A text may contain `*`, or be a list of which one has to match.", ""]
    lines += [*table(["condition", "meaning"], ((f"`{name}`", text) for name, text in ABOUT.items())), ""]
    lines += ["## `do`", "", "The first stage is the one meant when `stage` is left out.", ""]
    lines += [*table(["kind", "stages", "takes", "what it does"], map(_kind, all_kinds())), ""]
    lines += ["## Ready plans", ""]
    for name in ready_plans():
        lines += [f"### `{name}`", "", read_plan(name).about.strip(), "", "```toml", *_rules(name), "```", ""]
    lines += ["## What stock clients did", "", *_clients(data)]
    return "\n".join(lines) + "\n"


RULE = {
    "`name`": "finds it in rows and reports; given if left out",
    "`when`": "see below; left out: every call of the stage",
    "`stage`": "`connect`: a client connected; `request`: before it is applied; `reply`: after it was, before its answer goes out",
    "`do`": "the kind and what it takes, see below",
    "`times`": "how often it fires; left out: until it is removed",
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
`network-stall` lasts 8 s. *Settled*: seconds from the fault until every partition is held again and every record was delivered; *rounds* of
the group since (of a consumer group: other epochs); *again*: records delivered more than once; *told*: what the library raised or
reported to its user. Under the plans that are for consumer groups (`fenced-member`, `lost-heartbeat-answer`, `slow-revoker`,
`stale-epoch`) members have group.protocol=consumer, which of these libraries confluent-kafka alone speaks. Made by
`python -m tools.run_plans`; a test runs it again. What became of transactional producers under the plans that are for them:
[exactly once, through faults](../proof/transactions.md#ready-plans-for-producers)."""
FINDINGS = """\
- confluent-kafka 2.16.1 (librdkafka), `fenced-member`: told 110 it gives all up as lost, joins again within a heartbeat and reads on from
  what was committed; `stale-epoch`: it commits the same again 40 ms later; `lost-heartbeat-answer`: it connects again, says all it owns,
  and has given up what it was told to within 120 ms; `slow-revoker`: the member that waits stays at its new epoch with nothing until then.
  A heartbeat that is not answered within a second (heartbeat interval 100 ms) is sent again on another connection.
- confluent-kafka 2.16.1 (librdkafka), `offsets-elsewhere`: an OffsetFetch answered 16 for the whole request is not asked again, that
  member's partitions are never fetched, and only an error event says so; known as librdkafka issue 5586, open.
- aiokafka 0.14.0, `offsets-elsewhere`: in about one run of five a member that was told 16 stays without a coordinator for good: it is
  expelled, still believes to hold its partitions, and its `stop()` does not return. The table shows a run that went well.
- aiokafka 0.14.0, `loading-coordinator`: a member whose SyncGroup meets the loading coordinator (14) ends with a KafkaError instead of
  asking again; seen when the machine is busy. The table shows a run in which both had their assignments.
- aiokafka 0.14.0, `fenced-twin`: its heartbeats are v1 and do not name the instance, so that it is told 25 instead of 82, and it joins
  again with the same instance id: two such processes take each other's place for ever. kafka-python and confluent-kafka stop with an error.
- aiokafka 0.14.0, where a node is gone: `stop()` raises CancelledError, and leaves connections open, while a failed fetch waits for its
  backoff; with auto-commit and no coordinator known it tries its last commit for ever.
  `groupmock_clients.cooperative.aiokafka.stop_wholly(consumer)` ends it properly (tests/live/cooperative/test_aio_stop.py).
- What any of them delivers again after `zombie-member`, `half-open` and `network-stall` is what it could not commit meanwhile."""


def load() -> list[dict[str, Any]]:
    runs: list[dict[str, Any]] = json.loads((RECORDS / "plans.json").read_text())
    return runs
