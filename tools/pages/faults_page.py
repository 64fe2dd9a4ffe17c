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
A fault *rule* says **when** it acts (on which calls), at which **stage**, and what to **do**; a *plan* is a file of rules. Each action of a
fault rule is a `fault` [row](../reference/glossary.md#row) of the journal with the rule's name, and `replay` repeats the action. Without
fault rules this feature costs no time.

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

The same plan file, or the name of a ready plan, works everywhere: `groupmock serve --plan lost-sync.toml`, `groupmock run --plan lost-sync
-- COMMAND`, `Broker(plan=...)`, `@pytest.mark.groupmock(plan=..., seed=...)`, and over HTTP ([control API](../reference/control.md)). A
plan in JSON has the same keys. The following file has a test with a rule and a test with a plan:

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

A rule that never fired fails the test at the end of its block, or at the end of the marked test. The message of this failure names the call
that came nearest to the rule and the condition that the call did not meet; `must_fire=False` allows a rule that never fires.
`fault.wait(hits=1)` blocks until the rule has fired, and `fault.release()` releases the calls that the rule holds. In asyncio tests
`groupmock_async.fault(...)` is used with `async with`, and `await fault.fired` returns the number of hits. Rules that outlive a block need
`add_fault`, `load_plan`, `remove_fault`, `release_fault` and `clear_faults`; `faults` lists all current rules, and `never_fired()` lists
the rules that did nothing.

An impossible rule is refused with the reason when it is registered, and no rule of its plan is applied. Impossible are an unknown key, a
condition that no request of that API can meet, and an error or a throttle time for which the answer of that version has no field.

Rules are tried in the order of their registration, and the first rule that matches a call ends the search. After some kinds the next
matching rule is tried as well: a changed answer (`error` and `leave_out` at stage reply, `throttle_time`), changed records ([poison
records](poison-records.md)), kinds that only change the cluster (marked *steers* below), and `observe`. A rule that affects a part of a
request leaves the rest of the request to the next rule.
Random choices (`probability`, the bytes of `garble`) depend on the seed of the plan, or else on the seed of the run: the same seed and the
same calls give the same faults."""
PARTS = """\
A request often names several entities: a commit of twelve partitions, a fetch of three topics, or DeleteGroups of two groups. The kinds
`error` and `leave_out` affect only the entities that `when` names, by `group`, `topic`, `topic_id`, `partition`, `resource` or (LeaveGroup)
`member_id`; other entities get their real answer. Faults for single entities work in every version of each API whose answer has an error
per entity.

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

- One entity must meet all conditions of `when`: `topic = "orders", partition = 1` means partition 1 of `orders`.
- At stage request an affected entity is removed from the request: it is not committed, not written and not created, and its error is added
  to the answer. At stage reply the request was executed, and the answer says that it failed.
- The first rule that names an entity decides about this entity, and later rules apply to the rest of the request. Therefore two rules can
  give two partitions of one request different errors.
- The key `level` moves the error to another level of the answer than the innermost entity that `when` names: `level = "group"` refuses the
  group of that partition (OffsetFetch 8+), `level = "partition"` without a condition refuses each partition, and `level = "request"`
  refuses the whole request.
- In an incremental fetch session a rule affects the partitions of the session, even if the fetch names none. At stage request a fetch with
  an affected partition is answered at once, as Kafka answers a fetch with an error in it.
- The condition `topic_id = "stale"` matches an id that no topic has, as when the client still uses the id of a topic that was deleted and
  created again.
- The journal row of the fault lists the affected entities in `struck`. `groupmock record` applies faults for single entities in front of a
  real cluster too, and forwards only the other entities to the node.

The kinds that change records (`corrupt_batch`, `corrupt_value`, `duplicate_records`, `invalid_schema_id`) affect the partitions that `when`
names, or all, and only answers that have such records. Several of these rules may change the same answer.

With every other kind, `partition`, `topic_id` and `resource` are ordinary conditions: they match a call that names the entity.

The kind `observe` changes nothing and only reports a call: `groupmock.add_fault(when={"api": "OffsetCommit"},
do="observe", name="commits")`, then `groupmock.wait_for_fault("commits", hits=3)` ([waiting](wait.md))."""


def text() -> str:
    return page(load())


def page(data: list[dict[str, Any]]) -> str:
    """Return the text of the page. `data` has one dict per run, with the fields of tests/support/plan_runs.Outcome."""
    lines = [NOTICE, "# Breaking it on purpose: fault rules", "", USE, "", "## Faults for one entity of a request", "", PARTS, ""]
    lines += ["## Rule", "", *table(["key", "meaning"], iter(RULE.items())), ""]
    lines += ["## `when`", "", WHEN, ""]
    lines += [*table(["condition", "meaning"], ((f"`{name}`", text) for name, text in ABOUT.items())), ""]
    lines += ["## `do`", "", "The first stage in the list of a kind is the kind's default.", ""]
    lines += [*table(["kind", "stages", "takes", "what it does"], map(_kind, all_kinds())), ""]
    lines += ["## Ready plans", ""]
    for name in ready_plans():
        lines += [f"### `{name}`", "", read_plan(name).about.strip(), "", "```toml", *_rules(name), "```", ""]
    lines += ["## Results of stock clients", "", *_clients(data)]
    return "\n".join(lines) + "\n"


WHEN = "A condition that `when` leaves out counts as met. A text condition may contain `*`, or be a list of texts, one of which must match."
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
    """Return the text of a ready fault plan from its first rule on."""
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
Each run has two members of one library, session timeout 6 s, request timeout 7 s, heartbeats every 100 ms, auto-commit every 200 ms (under
`commit-outcome-unknown` manual commits), two nodes (under `loading-coordinator` one), four partitions, and 40 records before and 40 after
the fault; `network-stall` lasts 8 s. In the table *settled* gives the seconds from the fault until every partition is owned again and every
record was delivered. In the table *rounds* gives the number of the group's rebalances since the fault (new epochs of a consumer group). In
the table *again* gives the number of records delivered more than once, and *told* lists errors that the library raised or reported to its
user. Under the plans for consumer groups (`fenced-member`, `lost-heartbeat-answer`, `slow-revoker`, `stale-epoch`) members use
group.protocol=consumer, which only confluent-kafka supports among these libraries. `python -m tools.run_plans` wrote the table of results,
and a test repeats the runs. The page [Exactly once, through faults](../proof/transactions.md#ready-plans-for-producers) has the results of
transactional producers under their plans."""
FINDINGS = """\
- confluent-kafka 2.16.1 (librdkafka) handles the plans for consumer groups correctly. Under `fenced-member` confluent-kafka gives up all
  partitions as lost after FENCED_MEMBER_EPOCH (110), joins again within a heartbeat and continues from the committed offsets. Under
  `stale-epoch` confluent-kafka repeats the commit 40 ms later. Under `lost-heartbeat-answer` confluent-kafka connects again, reports all
  its partitions, and gives up the revoked ones within 120 ms. Under `slow-revoker` the waiting member of confluent-kafka stays at its new
  epoch without partitions until the revocation. confluent-kafka sends a heartbeat that is not answered within a second (heartbeat interval
  100 ms) again on another connection.
- Under `offsets-elsewhere`, confluent-kafka 2.16.1 (librdkafka) does not repeat an OffsetFetch that returns NOT_COORDINATOR (16) for the
  whole request: the member's partitions are never fetched, and only an error event reveals it (librdkafka issue 5586, open).
- Under `offsets-elsewhere`, in about one run of five an aiokafka 0.14.0 member stays without a coordinator for good after NOT_COORDINATOR
  (16): it is expelled, still assumes that it owns its partitions, and its `stop()` does not return. The table shows a run of aiokafka under
  `offsets-elsewhere` in which the member found its new coordinator.
- Under `loading-coordinator`, an aiokafka 0.14.0 member whose SyncGroup is answered with COORDINATOR_LOAD_IN_PROGRESS (14) ends with a
  KafkaError instead of repeating the request; this was seen when the machine was busy. The table shows a run of aiokafka under
  `loading-coordinator` in which both members had their assignments.
- Under `fenced-twin`, aiokafka 0.14.0 sends heartbeats in v1, which do not name the instance id. aiokafka therefore gets UNKNOWN_MEMBER_ID
  (25) instead of FENCED_INSTANCE_ID (82) and joins again with the same instance id, so that two such processes replace each other for ever.
  Under `fenced-twin` kafka-python and confluent-kafka stop with an error.
- After a node is gone, `stop()` of aiokafka 0.14.0 raises CancelledError and leaves connections open while a failed fetch waits for its
  backoff; with auto-commit and no known coordinator it retries its last commit for ever.
  `groupmock_clients.cooperative.aiokafka.stop_wholly(consumer)` properly ends an aiokafka consumer whose node is gone
  (tests/live/cooperative/test_aio_stop.py).
- After `zombie-member`, `half-open` and `network-stall` each library delivers again the records whose offsets it could not commit
  meanwhile."""


def load() -> list[dict[str, Any]]:
    runs: list[dict[str, Any]] = json.loads((RECORDS / "plans.json").read_text())
    return runs
