"""Write the page of the simulation: what it draws, its judges, its costs, and the planted mistakes that it found in the recorded run."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, Final

from tools.records import RECORDS

from .markdown import notice

DATA: Final = "simulation.json"
FOUND: Final = (
    (
        "A journal in which a peer stopped reading between two answers of one entry could not be replayed "
        "(`tests/found/simulation-212056bf31.json`, and otherwise `simulation-ecd9e46b7d.json`, `simulation-f250fc5965.json`)."
    ),
    (
        "A consumer group whose only regular expression was replaced by one that matches nothing kept its epoch and its target, whereas "
        "Kafka 4.3.0 computes another target (`test_the_only_one_replaced_by_one_that_matches_nothing_calls_for_another_target`)."
    ),
    (
        "One turn of the event loop could take two slices, because the share of the last connection began before the slice was over "
        "and was a whole slice."
    ),
    "The server kept the ticket of each ShareFetch that waited when its connection ended, for ever.",
)
"""The defects of groupmock that the simulation found, without defects of the simulation itself."""
STORY: Final = 6
"""The number of rows of a story that the page shows."""
WIDTH: Final = 150
SHOWN: Final = ("heartbeat-forgets-generations", "offsets-are-lost-in-a-move", "names-compared-with-all-others", "a-part-without-an-end")
"""The planted mistakes whose simulated runs (plans) are on the page."""
NIGHT_S: Final = 8 * 3600
JUDGES: Final = {
    "invariants": "the invariants of a group after every call of the core that touched it, and of all groups after every step",
    "groups": (
        "states follow each other as they may, a generation grows by one when a join phase ends; one protocol in it, that all "
        "list; the list goes to the leader; everybody in it joined it; an assignment is what the leader gave, no partition has "
        "two owners; heartbeats and commits are answered what state, ids and generation say, also where a lease answers"
    ),
    "history": (
        "as [Elle](https://arxiv.org/abs/2003.10554) reads a database's: a committed offset reads as what was written last, and "
        "no commit that began later brings it back; what a producer was promised stands at its offset, is delivered there, in "
        "order, to the owner of its generation; in the end nothing is missing, in a log or in a group"
    ),
    "consumer groups": (
        "by rows, requests and answers alone, not by the core's own picture: no partition is given to a member while another one has it "
        "(as it was told, less what it said to have given up); epochs of members and groups only grow, no member is ahead of its group; "
        "who has another epoch is fenced (110), who is not in the group is told so (25), also by OffsetCommit and OffsetFetch (113, 25); "
        "an instance id is one process's (82, 111); nobody is given what it does not subscribe to, nobody is served who gave nothing up "
        "within its rebalance timeout, and no lease outlives an epoch"
    ),
    "streams groups": (
        "as of consumer groups, with tasks for partitions: no active task is given to a member while another one has it, no task is "
        "given in both roles, only subtopologies with a changelog have standby tasks, and a change of role inside a member need not be "
        "confirmed; the invariants of the core's group after each request"
    ),
    "share groups": (
        "by rows, requests and answers alone: a record has one member from its delivery until it is acknowledged, its lock ends or a "
        "row says why it is free; no lock ends early; delivery counts grow by one up to the limit; what was accepted, rejected or "
        "archived never comes again; an acknowledgement is taken if and only if the member has the records; a member is told exactly "
        "what it acquired"
    ),
    "transactions": (
        "by rows, answers and one reader of what is committed: a transaction is read whole, once and in order, or not at all, and its "
        "offset with it; nothing that was not asked to commit is read; the last stable offset does not go back and does not pass the first "
        "record of an open transaction; states of an id follow each other as they may, its epochs grow, and who has another epoch than its "
        "last row tells is not served and hears 47 or 90, as its version has it; nothing is open after its timeout"
    ),
    "timers": "the timer of every wait of a group is armed, and no session of a former member",
    "answers": (
        "every answer is read in its version and belongs to the oldest open request; no answer stops in the middle; no request "
        "lies unlooked at; no error without a reason"
    ),
    "defect": "no `internal error` row",
    "budgets": (
        "rows, answer bytes, objects and calls of each request against its size and the people there are; calls and objects for "
        "all requests of strangers, and of every 32nd seed"
    ),
    "turns": "requests in one turn of the loop: no more than a slice, and of one connection no more than its part",
    "liveness": (
        "faults taken away, nodes up, everybody started: every group is Stable with all its members, and everything is "
        "delivered, within twice (session + three rebalance timeouts + 5 s), and 10 s; a consumer or streams group has its target, "
        "by what its description answers and by what its members own; one producer of each transactional id commits to every partition, "
        "ListTransactions shows nothing open, and every log is stable up to its end; a share group has no lag and nothing in flight"
    ),
    "leaks": "everybody gone: no connection, request, held byte, parked fetch, share session, record in flight, timer or member is left",
    "replay": "the journal through a fresh core gives the same rows; every fourth seed",
    "hung, died": "a seed in its child process took more than 20 s of processor time, or more than 512 MB, or ended it",
}
"""Maps a judge of the simulation to what it requires, and when it checks that."""
ABOUT: Final = """
# The simulation that tries to break it

A seed draws a cluster (1 to 4 nodes, a release's profile, topics, settings) and its events. Members of several classic groups, eager and
cooperative, dynamic and static, join, fetch, commit, die and come back. Records are produced, the ready fault plans are applied, and
commands hold groups, freeze and expel members, move coordinators and leaders, stop and stall nodes, and step clocks. Bytes are cut anywhere
or arrive together, connections break in the middle of a request, and some readers do not read. Strangers, which are clients outside of the
groups, send altered or stale requests, pipeline them, and make them as large as the protocol allows. The simulation uses the real driver,
connections and core, with virtual transports on a virtual clock, in one thread: the same seed gives the same journal, byte for byte, in
every process.

```text
from groupmock_clients.simulation.simulate import simulate
simulate(7).finding                                                   # None, or what broke, with a sentence

make search SEARCH=simulation SECONDS=3600                            # fresh seeds; a find is made small and written under tests/found
groupmock pipeline campaign - lake --seeds 1..10000 --simulation drawn    # the same on Spark, a line per seed
python -m tools.search planted --seconds 1000                         # which seed finds each planted mistake, and how soon
```

`make test` runs the simulation with 240 fixed seeds, and with every file of `tests/found`.

## Kinds

The kinds of simulation are `groups` (members, time, records: these are in every kind), `steering`, `faults`, `wire`, `hostile` and `mixed`.
Without a given kind the seed draws one. Four kinds of simulation have plans of their own, and run only when they are requested; `make
search` runs them beside the kinds named above:

- The kind `consumers` has members of consumer groups (KIP-848), static ones too. Members of the kind `consumers` join, send all fields or
  only those that have changed, subscribe by names and by regular expressions and change their subscription, give partitions up at once,
  late or too late, leave for good or for a while, die and come back. In the kind `consumers` topics are created, grown and deleted; members
  are fenced, frozen and held, and their coordinators move and stop; fault plans and broken connections occur as well.
- The kind `transactions` has producers, old clients and new ones (KIP-890), several with one transactional id. Producers of the kind
  `transactions` write to several partitions, commit offsets for a group's members of either protocol, commit and abort at once or after
  their timeout, die in the middle, are fenced and continue (KIP-360). In the kind `transactions` coordinators move, markers are held, and
  commands abort, fence and expire transactional ids.
- The kind `shares` has members of share groups (KIP-932). Members of the kind `shares` fetch in share sessions of both acquire modes, and
  acknowledge with every type, at once or after their locks have ended, within a fetch or by itself, or never; they renew locks, leave with
  what they owe, and die. In the kind `shares` commands end locks, release and archive records and hold deliveries; coordinators and leaders
  move, nodes stop, and acknowledgements are lost or come 40 s late.

- The kind `streams` has threads of Kafka Streams applications (KIP-1071), several of one process too, static ones too. Topologies of the
  kind `streams` have one or two subtopologies, state or none, and source topics that exist only later. Threads stand by, give tasks up at
  once, late or too late, lose answers and join again, leave for good or for a while, die and come back. In the kind `streams` commands
  change the number of standby tasks, hold groups and freeze and expel members; coordinators and leaders move, nodes stop.

The kinds `consumers`, `transactions`, `shares` and `streams` contain no strangers and no groups that change their protocol.

## Judges

| judge | what has to hold, and when it looks |
|---|---|
{judges}

No check of the simulation reads a wall clock, so that a verdict depends only on the seed. Damage that a stranger may cause (a commit in a
member's name, a topic) is no finding. Four results look like defects but are Kafka's behaviour. A static member that comes back with
another subscription changes nothing in its group. A group that was loaded knows one protocol of each member, so that a member that lists
another protocol is refused until it rebalances. The partitions that a cooperative static member had given up before it left have no owner
when it comes back, until its group rebalances (KIP-345, KIP-429). If one of several members replaces its regular expression by one that
matches nothing, its share has no owner until another event causes a new target (tested on 4.3.0).
""".strip()


def text() -> str:
    data = json.loads((RECORDS / DATA).read_text(encoding="utf-8"))
    judges = "\n".join(f"| {name} | {holds} |" for name, holds in JUDGES.items())
    lines = [notice("simulation", DATA), *ABOUT.replace("{judges}", judges).splitlines()]
    lines += ["", "## What it found in the product", "", *(f"- {each}" for each in FOUND)]
    lines += ["", "## What it costs", "", *_cost(data["measured"]), "", *_kinds(data.get("measured_kinds", {}))]
    lines += ["", "## Planted mistakes", "", *_planted(data["planted"]), "", "## Four of them, made small", "", *_small(data["planted"])]
    return "\n".join(lines) + "\n"


def _cost(measured: Mapping[str, Any]) -> Iterator[str]:
    rate = measured["seeds"] / measured["core_seconds"]
    took = f"{measured['core_seconds']:,.0f} seconds of one core"
    yield f"{measured['seeds']:,} seeds of all kinds took {took}, on a machine that other processes used as well:"
    each = measured["requests"] / measured["seeds"]
    yield f"{rate:.1f} seeds per core-second, or {1000 / rate:.0f} ms for a seed of {each:.0f} requests on average."
    night = 1_000_000 / rate / NIGHT_S
    yield f"10^5 seeds take {100_000 / rate / 3600:.1f} core-hours. 10^6 seeds in a night of eight hours need {night:.1f} cores."


def _kinds(kinds: Mapping[str, Mapping[str, Any]]) -> Iterator[str]:
    for kind, measured in kinds.items():
        found = f"{measured['found']} findings" if measured["found"] else "no finding"
        took = f"{measured['core_seconds']:,.0f} seconds of one core and {measured['requests']:,} requests"
        yield f"The last long run of `{kind}` had {measured['seeds']:,} seeds from {measured['first']} on and {found}, and took {took}."


def _planted(rows: Mapping[str, Mapping[str, Any]]) -> Iterator[str]:
    found = sum(row.get("judge") is not None for row in rows.values())
    yield f"{found} of {len(rows)} mistakes, each planted alone in a copy of the sources (`tests/mutations/simulation.toml`), were found."
    yield ""
    yield "| mistake | about | what it breaks | who found it | seed | seeds tried | time to find | steps, made small |"
    yield "|---|---|---|---|---:|---:|---:|---:|"
    for name, row in rows.items():
        if row.get("judge") is None:
            yield f"| `{name}` | {row['about']} | {row['breaks']} | not found | | {row.get('seeds', 0)} | | |"
        else:
            told = f"{row['judge']} | {row['seed']} | {row['seeds']} | {row['seconds']:.1f} s | {len(row['steps'])}"
            yield f"| `{name}` | {row['about']} | {row['breaks']} | {told} |"
    yield ""
    yield "In the table of planted mistakes, 0 steps mean that the mistake is found as soon as the members start."


def _small(rows: Mapping[str, Mapping[str, Any]]) -> Iterator[str]:
    for name in SHOWN:
        row = rows.get(name, {})
        if row.get("judge") is None:
            continue
        yield f"The planted mistake `{name}` was found with this message: {row['small']}"
        yield ""
        yield "```text"
        yield from (json.dumps(step) for step in row["steps"])
        yield "..."
        yield from (line.strip()[:WIDTH] for line in row["story"][-STORY:])
        yield "```"
        yield ""
